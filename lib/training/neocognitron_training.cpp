#include "ocellus/neocognitron_training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "core/failure.h"
#include "neocognitron/half.h"
#include "neocognitron/model_file.h"
#include "neocognitron/normalization.h"
#include "training/feature_learning.h"
#include "training/reference_learning.h"

namespace ocellus {
namespace detail {
namespace {

int threads_of(int threads) {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Expected<void> check_images(const LabeledImages& images) {
  for (const auto& [name, side] : {std::pair{"width", images.width}, {"height", images.height}}) {
    if (side < 8 || side > 1024)
      return invalid_argument("training: %s of the images is %d; it must be 8 to 1024", name, side);
  }
  const std::size_t expected = images.count() * static_cast<std::size_t>(images.width) *
                               static_cast<std::size_t>(images.height);
  if (images.ink.size() != expected) {
    return invalid_argument("training: there are %zu pixels; %zu images of %dx%d have %zu",
                            images.ink.size(), images.count(), images.width, images.height,
                            expected);
  }
  return {};
}

/// The number of classes that names and labels tell of.
int classes_of(const LabeledImages& images) {
  const int labeled = *std::max_element(images.labels.begin(), images.labels.end()) + 1;
  return std::max(labeled, static_cast<int>(images.names.size()));
}

Expected<void> check_training(const LabeledImages& images, const NeocognitronTraining& training) {
  if (Expected<void> checked = check_images(images); !checked) return checked;
  if (Expected<void> checked = check_parameters(training.parameters); !checked) return checked;
  if (images.count() == 0) return invalid_argument("training: there are no images");
  for (std::size_t i = 0; i < images.count(); ++i) {
    if (images.labels[i] >= kMaxCharacterClasses) {
      return invalid_argument("training: the class of image %zu is %d; it must be 0 to %d", i,
                              images.labels[i], kMaxCharacterClasses - 1);
    }
  }
  const int classes = classes_of(images);
  if (!images.names.empty() && images.names.size() < static_cast<std::size_t>(classes)) {
    return invalid_argument("training: there are %zu names for %d classes", images.names.size(),
                            classes);
  }
  for (std::size_t i = 0; i < images.names.size(); ++i) {
    if (!is_class_name(images.names[i])) {
      return invalid_argument(
          "training: the name of class %zu is \"%.*s\"; it must have 1 to %zu printable characters",
          i, shown(images.names[i]), images.names[i].c_str(), kMaxClassName);
    }
  }
  Expected<void> result;
  // Comparisons with NaN are false.
  const auto check = [&result](const char* name, double value, double low, double high) {
    if (!result || (value >= low && value <= high)) return;
    result = invalid_argument("training: %s is %g; it must be %g to %g", name, value, low, high);
  };
  for (const FeatureLearning& stage : training.features) {
    check("threshold", static_cast<double>(stage.threshold), 0.01, 0.99);
    check("radius", static_cast<double>(stage.radius), 0.0, 32.0);
    check("least_input", static_cast<double>(stage.least_input), 0.0, 0.99);
    check("planes", stage.planes, 1, kMaxFeaturePlanes);
    check("images", stage.images, 0, 1e9);
  }
  check("extent", static_cast<double>(training.normalization.extent), 16, 64);
  check("margin", static_cast<double>(training.margin), 0.0, 0.5);
  check("references", training.references, 1, kMaxReferences);
  check("passes", training.passes, 1, 1000);
  check("copies", training.copies, 0, 100);
  check("rotation", static_cast<double>(training.rotation), 0.0, 45.0);
  check("scale", static_cast<double>(training.scale), 0.0, 1.0);
  check("shear", static_cast<double>(training.shear), 0.0, 1.0);
  check("threads", training.threads, 0, 1024);
  return result;
}

InkImage image_at(const LabeledImages& images, std::size_t i) {
  const std::size_t pixels =
      static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  return {images.ink.data() + i * pixels, images.width, images.height, images.width};
}

/// A distortion of U0 around its center.
struct Distortion {
  double xx = 1.0;
  double xy = 0.0;
  double yx = 0.0;
  double yy = 1.0;
};

Distortion random_distortion(const NeocognitronTraining& training, std::mt19937_64& random) {
  // std::uniform_real_distribution differs between C++ libraries.
  const auto uniform = [&random](float bound) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<double>(bound) * (2.0 * unit - 1.0);
  };
  const double angle = uniform(training.rotation) * std::numbers::pi / 180.0;
  const double sx = std::exp(uniform(training.scale));
  const double sy = std::exp(uniform(training.scale));
  const double shear = uniform(training.shear);
  return {std::cos(angle) * sx, -std::sin(angle) * sx + shear, std::sin(angle) * sy,
          std::cos(angle) * sy};
}

/// Stage 1: weights are the contrast cells of an edge of each orientation through the center of an
/// S-cell.
std::vector<float> edge_weights(const NeocognitronParameters& parameters,
                                const CellWindow& contrast) {
  const CellWindow window = simple_window(parameters, 0);
  WeightBank bank(window, kContrastPlanes);
  CellsRoom room(kContrastSides.out, kContrastPlanes);
  std::vector<SimpleInput> inputs(static_cast<std::size_t>(window.taps) * kContrastPlanes);
  std::vector<float> u0(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
  for (int k = 0; k < kEdgePlanes; ++k) {
    const double angle = 2.0 * std::numbers::pi * k / kEdgePlanes;
    // The S-cell (kMiddle, kMiddle) lies half a pixel behind the center of U0 along both axes.
    constexpr int kMiddle = kSimpleSides[0].out / 2;
    constexpr double kCenter = 0.5 * kNeocognitronSide;
    for (int y = 0; y < kNeocognitronSide; ++y) {
      for (int x = 0; x < kNeocognitronSide; ++x) {
        const double distance = (x - kCenter) * std::cos(angle) + (y - kCenter) * std::sin(angle);
        u0[static_cast<std::size_t>(y * kNeocognitronSide + x)] =
            static_cast<float>(std::clamp(distance + 0.5, 0.0, 1.0));
      }
    }
    contrast_cells(contrast, parameters.contrast_threshold, u0.data(), room.cells);
    const int count = simple_inputs(window, room.cells, kMiddle, kMiddle, inputs.data());
    bank.add({inputs.data(), static_cast<std::size_t>(count)});
  }
  std::vector<int> order(kEdgePlanes);
  std::iota(order.begin(), order.end(), 0);
  return bank.normalized(order);
}

/// The stages that have been learned so far.
class Network {
 public:
  explicit Network(const NeocognitronParameters& parameters)
      : parameters_(parameters), contrast_(contrast_window(parameters)) {}

  const CellWindow& contrast() const noexcept { return contrast_; }

  void add(int in_planes, int planes, const std::vector<float>& weights) {
    stages_.push_back(std::make_unique<Stage>(parameters_, static_cast<int>(stages_.size()),
                                              in_planes, planes, weights));
  }

  /// Memory of a thread.
  struct Room {
    explicit Room(const Network& network) : contrast(kContrastSides.out, kContrastPlanes) {
      u0.resize(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
      for (const auto& stage : network.stages_) stages.emplace_back(*stage);
    }
    std::vector<float> u0;
    CellsRoom contrast;
    std::vector<Stage::Room> stages;
  };

  /// The C-cells of the last stage.
  void run(Room& room, StoredCells& out) const {
    contrast_cells(contrast_, parameters_.contrast_threshold, room.u0.data(), room.contrast.cells);
    ActiveCells in = room.contrast.cells;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      stages_[i]->run(in, room.stages[i]);
      in = room.stages[i].out.cells;
    }
    out.store(in);
  }

  std::vector<std::unique_ptr<Room>> rooms(int threads) const {
    std::vector<std::unique_ptr<Room>> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) all.push_back(std::make_unique<Room>(*this));
    return all;
  }

 private:
  NeocognitronParameters parameters_;
  CellWindow contrast_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

/// U0 of an image without ink is empty.
void write_u0(const InkImage& image, const PatchNormalization& normalization,
              const Distortion& distortion, std::vector<float>& u0) {
  PatchTransform transform;
  if (!find_transform(image, normalization, transform)) {
    std::fill(u0.begin(), u0.end(), 0.0f);
    return;
  }
  const PatchTransform t = transform;
  transform.xx = t.xx * distortion.xx + t.xy * distortion.yx;
  transform.xy = t.xx * distortion.xy + t.xy * distortion.yy;
  transform.yx = t.yx * distortion.xx + t.yy * distortion.yx;
  transform.yy = t.yx * distortion.xy + t.yy * distortion.yy;
  resample(image, transform, u0.data());
}

}  // namespace
}  // namespace detail

Expected<TrainedNeocognitron> train_neocognitron(const LabeledImages& images,
                                                 const NeocognitronTraining& training) noexcept {
  using namespace detail;
  if (const Expected<void> checked = check_training(images, training); !checked)
    return tl::unexpected(checked.error());
  const int threads = threads_of(training.threads);
  const auto stopped = [] {
    return tl::unexpected(make_error(Status::kUnsupported, "training: stopped before its end"));
  };
  const auto progress = [&training](const char* what, double share) {
    return !training.progress || training.progress(what, share);
  };

  TrainedNeocognitron out;
  out.parameters = training.parameters;
  out.normalization = training.normalization;
  const int classes = classes_of(images);
  out.names = images.names;
  for (int i = static_cast<int>(out.names.size()); i < classes; ++i)
    out.names.push_back(std::to_string(i));
  Network network(training.parameters);
  out.planes[0] = kEdgePlanes;
  out.weights[0] = edge_weights(training.parameters, network.contrast());
  for (float& weight : out.weights[0]) weight = float_from_half(half_from_float(weight));
  network.add(kContrastPlanes, kEdgePlanes, out.weights[0]);

  std::vector<StoredCells> cells;
  // The C-cells of the stages so far, of the first `count` images and of `copies` of all images.
  const auto run = [&](std::size_t count, int copies, const char* what) {
    std::vector<Distortion> distortions(count * static_cast<std::size_t>(copies + 1));
    std::mt19937_64 random(training.seed);
    for (std::size_t i = count; i < distortions.size(); ++i)
      distortions[i] = random_distortion(training, random);
    cells.resize(distortions.size());
    const auto rooms = network.rooms(threads);
    // In parts, so that `progress` is called by this thread.
    constexpr std::size_t kPart = 512;
    for (std::size_t begin = 0; begin < cells.size(); begin += kPart) {
      if (!progress(what, static_cast<double>(begin) / static_cast<double>(cells.size())))
        return false;
      for_all(std::min(kPart, cells.size() - begin), threads, [&](std::size_t i, int thread) {
        Network::Room& room = *rooms[static_cast<std::size_t>(thread)];
        write_u0(image_at(images, (begin + i) % count), training.normalization,
                 distortions[begin + i], room.u0);
        network.run(room, cells[begin + i]);
      });
    }
    return true;
  };

  for (std::size_t f = 0; f < training.features.size(); ++f) {
    const FeatureLearning& learning = training.features[f];
    const char* const what = f == 0 ? "stage 2" : "stage 3";
    std::size_t count = images.count();
    if (learning.images > 0) count = std::min(count, static_cast<std::size_t>(learning.images));
    if (!run(count, 0, what)) return stopped();
    const CellWindow window = simple_window(training.parameters, static_cast<int>(f) + 1);
    WeightBank bank(window, out.planes[f]);
    if (!learn_features(learning, window, training.parameters.gain, cells, bank,
                        [&](double share) { return progress(what, share); }))
      return stopped();
    if (bank.planes() == 0)
      return invalid_argument("training: %s found no feature: the images have no ink", what);
    std::vector<int> order(static_cast<std::size_t>(bank.planes()));
    std::iota(order.begin(), order.end(), 0);
    out.planes[f + 1] = bank.planes();
    out.weights[f + 1] = bank.normalized(order);
    for (float& weight : out.weights[f + 1]) weight = float_from_half(half_from_float(weight));
    network.add(out.planes[f], bank.planes(), out.weights[f + 1]);
  }

  if (!run(images.count(), training.copies, "stages 1 to 3")) return stopped();
  std::vector<std::uint16_t> labels(cells.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = images.labels[i % images.count()];
  const CellWindow window = simple_window(training.parameters, 3);
  ReferenceTrainer trainer(window, out.planes[2], classes);
  const ReferenceLearning learning{training.margin, training.references, training.passes, threads,
                                   training.seed};
  if (!trainer.learn(learning, cells, labels, [&](int pass, double share) {
        return progress("stage 4", (pass + share) / training.passes);
      }))
    return stopped();
  std::vector<int> order(static_cast<std::size_t>(trainer.bank().planes()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return trainer.label(a) < trainer.label(b); });
  for (const int plane : order) {
    out.labels.push_back(trainer.label(plane));
    out.lengths.push_back(trainer.bank().length(plane));
  }
  out.planes[3] = trainer.bank().planes();
  out.weights[3] = trainer.bank().normalized(order);
  for (float& weight : out.weights[3]) weight = float_from_half(half_from_float(weight));
  return out;
}

Expected<std::vector<CharacterScores>> recognize(const TrainedNeocognitron& trained,
                                                 const LabeledImages& images,
                                                 int threads) noexcept {
  using namespace detail;
  if (const Expected<void> checked = check_images(images); !checked)
    return tl::unexpected(checked.error());
  threads = threads_of(threads);
  Network network(trained.parameters);
  int below = kContrastPlanes;
  for (std::size_t l = 0; l < 3; ++l) {
    network.add(below, trained.planes[l], trained.weights[l]);
    below = trained.planes[l];
  }
  const Stage last(trained.parameters, 3, below, trained.planes[3], trained.weights[3]);
  const ReferenceSet references(last.layer(), trained.weights[3], trained.labels,
                                static_cast<int>(trained.names.size()));
  const auto rooms = network.rooms(threads);
  const int stride = last.layer().stride();
  std::vector<CharacterScores> out(images.count());
  struct LastRoom {
    std::vector<SimpleInput> inputs;
    std::array<float, kReferencePositions> v{};
    AlignedFloats similarities;
    StoredCells cells;
    ClassScores scores;
  };
  std::vector<LastRoom> last_rooms(static_cast<std::size_t>(threads));
  for (LastRoom& room : last_rooms) {
    room.inputs.resize(kReferencePositions * last.layer().rows());
    room.similarities =
        AlignedFloats(kReferencePositions * static_cast<std::size_t>(stride) + kPlaneAlignment);
  }
  for_all(images.count(), threads, [&](std::size_t i, int thread) {
    Network::Room& room = *rooms[static_cast<std::size_t>(thread)];
    LastRoom& end = last_rooms[static_cast<std::size_t>(thread)];
    write_u0(image_at(images, i), trained.normalization, {}, room.u0);
    network.run(room, end.cells);
    reference_similarities(last.layer(), end.cells.view(), {end.inputs.data(), end.v.data()},
                           end.similarities.get());
    references.score(end.similarities.get(), end.scores);
    out[i] = {end.scores.best,
              end.scores.best < 0
                  ? 0.0f
                  : end.scores.similarity[static_cast<std::size_t>(end.scores.best)],
              end.scores.margin};
  });
  return out;
}

}  // namespace ocellus
