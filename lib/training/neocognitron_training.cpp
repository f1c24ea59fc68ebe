#include "ocellus/neocognitron_training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "core/failure.h"
#include "neocognitron/half.h"
#include "neocognitron/model_file.h"
#include "training/network_run.h"
#include "training/reference_learning.h"
#include "training/weight_bank.h"

namespace ocellus {
namespace detail {
namespace {

/// The number of classes that names and labels tell of.
int count_classes(const LabeledImages& images) {
  const int labeled = *std::max_element(images.labels.begin(), images.labels.end()) + 1;
  return std::max(labeled, static_cast<int>(images.names.size()));
}

Expected<void> check_training(const LabeledImages& images, const NeocognitronTraining& training) {
  OCELLUS_TRY(check_images(images));
  OCELLUS_TRY(check_parameters(training.parameters));
  if (images.count() == 0) return invalid_argument("training: there are no images");
  for (std::size_t i = 0; i < images.count(); ++i) {
    if (images.labels[i] >= kMaxCharacterClasses) {
      return invalid_argument("training: the class of image %zu is %d; it must be 0 to %d", i,
                              images.labels[i], kMaxCharacterClasses - 1);
    }
  }
  const int classes = count_classes(images);
  if (!images.names.empty() && images.names.size() < static_cast<std::size_t>(classes)) {
    return invalid_argument("training: there are %zu names for %d classes", images.names.size(),
                            classes);
  }
  if (classes > kMaxCharacterClasses) {
    return invalid_argument("training: there are %d names; there may be %d", classes,
                            kMaxCharacterClasses);
  }
  for (std::size_t i = 0; i < images.names.size(); ++i) {
    if (!is_class_name(images.names[i])) {
      return invalid_argument(
          "training: the name of class %zu is \"%.*s\"; it must have 1 to %zu printable characters",
          i, shown(images.names[i]), images.names[i].c_str(), kMaxClassName);
    }
    const auto end = images.names.begin() + static_cast<std::ptrdiff_t>(i);
    if (const auto same = std::find(images.names.begin(), end, images.names[i]); same != end) {
      return invalid_argument("training: the classes %td and %zu have the same name \"%s\"",
                              same - images.names.begin(), i, images.names[i].c_str());
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
  check("margin", static_cast<double>(training.margin), -0.5, 0.5);
  check("references", training.references, 0, kMaxReferences);
  check("passes", training.passes, 1, 1000);
  check("copies", training.copies, 0, 100);
  check("tuning.passes", training.tuning.passes, ReferenceTuning::kEnoughPasses, 1000);
  check("tuning.rate", static_cast<double>(training.tuning.rate), 0.0, 1.0);
  check("tuning.sharpness", static_cast<double>(training.tuning.sharpness), 1.0, 1000.0);
  check("rotation", static_cast<double>(training.rotation), 0.0, 45.0);
  check("scale", static_cast<double>(training.scale), 0.0, 1.0);
  check("shear", static_cast<double>(training.shear), 0.0, 1.0);
  check("bend", static_cast<double>(training.bend), 0.0, 6.0);
  check("stroke", static_cast<double>(training.stroke), 0.0, 3.0);
  check("calibration_copies", training.calibration_copies, 0, 1e6);
  if (result && training.checkpoint_images == 0)
    result = invalid_argument("training: checkpoint_images is 0; it must be 1 or more");
  return result;
}

std::vector<int> counted_up(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void round_to_half(std::vector<float>& weights) {
  for (float& weight : weights) weight = float_from_half(half_from_float(weight));
}

/// Sets a generator of distortions apart from that of the copies, which has the plain seed.
constexpr std::uint64_t kOtherSeed = 0x9e3779b97f4a7c15;

/// A training while it runs.
class Trainer {
 public:
  /// `from`: the network that learns more, or null.
  Trainer(const LabeledImages& images, const NeocognitronTraining& training,
          const TrainedNeocognitron* from, ThreadTeam& team)
      : images_(images),
        training_(training),
        from_(from),
        team_(team),
        tuning_(training.tuning),
        network_(from == nullptr ? training.parameters : from->parameters) {
    if (tuning_.passes != ReferenceTuning::kEnoughPasses) return;
    constexpr std::size_t kShown = 60'000;
    tuning_.passes =
        static_cast<int>(std::clamp(kShown / images.count(), std::size_t{6}, std::size_t{60}));
  }

  Expected<TrainedNeocognitron> train() {
    OCELLUS_TRY(begin());
    for (std::size_t f = 0; f < training_.features.size(); ++f) OCELLUS_TRY(learn_stage(f));
    OCELLUS_TRY(learn_references());
    OCELLUS_TRY(calibrate());
    return std::move(out_);
  }

 private:
  /// Stage 1, names and labels; everything that was learned before.
  Expected<void> begin() {
    state_.images_hash = images_hash(images_);
    state_.settings_hash = settings_hash(training_, from_);
    if (training_.resume != nullptr) {
      OCELLUS_TRY(check_resume(*training_.resume, state_, training_.parameters,
                               training_.passes + tuning_.passes, from_ != nullptr));
      state_ = *training_.resume;
    }
    if (from_ != nullptr) {
      out_ = *from_;
      out_.labels.clear();
      out_.lengths.clear();
      out_.weights[3] = {};
      state_.stage = 3;
    } else {
      out_.parameters = training_.parameters;
      out_.normalization = training_.normalization;
      out_.planes[0] = kEdgePlanes;
      out_.weights[0] = edge_weights(training_.parameters, network_.contrast());
      round_to_half(out_.weights[0]);
    }
    OCELLUS_TRY(number_labels());
    network_.add(kContrastPlanes, kEdgePlanes, out_.weights[0]);
    return training_.resume != nullptr || save() ? Expected<void>{} : stopped();
  }

  /// The class of each image: a name that the network lacks begins a new class.
  Expected<void> number_labels() {
    std::vector<std::string> names = images_.names;
    for (int i = static_cast<int>(names.size()); i < count_classes(images_); ++i)
      names.push_back(std::to_string(i));
    labels_ = images_.labels;
    if (from_ == nullptr) {
      out_.names = std::move(names);
      return find_other();
    }
    for (std::uint16_t& label : labels_) {
      const std::string& name = names[label];
      const auto found = std::find(out_.names.begin(), out_.names.end(), name);
      if (found == out_.names.end()) {
        if (out_.names.size() == kMaxCharacterClasses) {
          return invalid_argument(
              "training: class \"%s\" is new, but the network has %d classes, which is the limit",
              name.c_str(), kMaxCharacterClasses);
        }
        label = static_cast<std::uint16_t>(out_.names.size());
        out_.names.push_back(name);
      } else {
        label = static_cast<std::uint16_t>(found - out_.names.begin());
      }
    }
    return find_other();
  }

  /// The class of what is no character may have any number while it is learned.
  Expected<void> find_other() {
    if (from_ != nullptr && from_->has_other) {
      other_ = static_cast<int>(from_->names.size()) - 1;
      if (!training_.other.empty() && training_.other != from_->names.back()) {
        return invalid_argument(
            "training: `other` is \"%.*s\", but what is no character is the class \"%s\" of the "
            "network",
            shown(training_.other), training_.other.c_str(), from_->names.back().c_str());
      }
    } else if (!training_.other.empty()) {
      const auto found = std::find(out_.names.begin(), out_.names.end(), training_.other);
      if (found == out_.names.end()) {
        return invalid_argument("training: there is no class \"%.*s\", which `other` names",
                                shown(training_.other), training_.other.c_str());
      }
      other_ = static_cast<int>(found - out_.names.begin());
    }
    if (other_ != kNoClass && out_.names.size() < 2)
      return invalid_argument("training: there is no class of characters");
    return {};
  }

  /// The number of a class in the result, in which that of what is no character is the last one.
  std::uint16_t final_label(std::uint16_t label) const {
    if (other_ == kNoClass || label < other_) return label;
    return static_cast<std::uint16_t>(label == other_ ? out_.names.size() - 1 : label - 1);
  }

  /// The C-cells of the stages so far, of the first `count` images and of `copies` of all images.
  bool run(std::size_t count, int copies, const char* what) {
    std::vector<Distortion> distortions(count * static_cast<std::size_t>(copies + 1));
    std::mt19937_64 random(training_.seed);
    for (std::size_t i = count; i < distortions.size(); ++i)
      distortions[i] = random_distortion(training_, random);
    cells_.resize(distortions.size());
    const auto rooms = network_.rooms(team_.threads());
    // In parts, so that `progress` is called by this thread.
    constexpr std::size_t kPart = 512;
    for (std::size_t begin = 0; begin < cells_.size(); begin += kPart) {
      if (!progress(what, static_cast<double>(begin) / static_cast<double>(cells_.size())))
        return false;
      team_.for_all(std::min(kPart, cells_.size() - begin), [&](std::size_t i, int thread) {
        Network::Room& room = *rooms[static_cast<std::size_t>(thread)];
        write_u0(image_at(images_, (begin + i) % count), out_.normalization, distortions[begin + i],
                 room.u0);
        network_.run(room, cells_[begin + i]);
      });
    }
    return true;
  }

  /// Stage 2 (0) or 3 (1), unless it was learned before.
  Expected<void> learn_stage(std::size_t f) {
    if (from_ == nullptr && state_.stage >= static_cast<int>(f) + 2) {
      out_.planes[f + 1] = state_.planes[f];
      out_.weights[f + 1] = state_.weights[f];
    } else if (from_ == nullptr) {
      const FeatureLearning& learning = training_.features[f];
      const char* const what = f == 0 ? "stage 2" : "stage 3";
      std::size_t count = images_.count();
      if (learning.images > 0) count = std::min(count, static_cast<std::size_t>(learning.images));
      if (!run(count, 0, what)) return stopped();
      const CellWindow window = simple_window(training_.parameters, static_cast<int>(f) + 1);
      WeightBank bank(window, out_.planes[f]);
      if (!learn_features(learning, window, training_.parameters.gain, cells_, bank,
                          [&](double share) { return progress(what, share); }))
        return stopped();
      if (bank.planes() == 0)
        return invalid_argument("training: %s found no feature: the images have no ink", what);
      out_.planes[f + 1] = bank.planes();
      out_.weights[f + 1] = bank.normalized(counted_up(bank.planes()));
      round_to_half(out_.weights[f + 1]);
      state_.stage = static_cast<int>(f) + 2;
      state_.planes[f] = out_.planes[f + 1];
      state_.weights[f] = out_.weights[f + 1];
      if (!save()) return stopped();
    }
    network_.add(out_.planes[f], out_.planes[f + 1], out_.weights[f + 1]);
    return {};
  }

  Expected<void> learn_references() {
    // What a state has learned needs no images.
    const bool learned = !state_.labels.empty() && state_.passes >= training_.passes;
    if (!learned && !run(images_.count(), training_.copies, "stages 1 to 3")) return stopped();
    const CellWindow window = simple_window(out_.parameters, 3);
    ReferenceTrainer trainer(window, out_.planes[2], static_cast<int>(out_.names.size()),
                             out_.parameters.interpolate, team_);
    if (!state_.labels.empty()) {
      OCELLUS_TRY(trainer.restore(state_));
    } else if (from_ != nullptr) {
      if (!trainer.start_from(*from_,
                              [this](double share) { return progress("references", share); }))
        return stopped();
    }
    const ReferenceTrainer::Checkpoints checkpoints{
        training_.checkpoint ? training_.checkpoint_images : 0, [this, &trainer] {
          trainer.save(state_);
          return save();
        }};
    if (!learned && !learn(trainer, checkpoints)) return stopped();
    cells_ = {};
    if (!tune(trainer, checkpoints)) return stopped();
    std::vector<int> order = counted_up(trainer.bank().planes());
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return final_label(trainer.label(a)) < final_label(trainer.label(b));
    });
    for (const int plane : order) {
      out_.labels.push_back(final_label(trainer.label(plane)));
      out_.lengths.push_back(trainer.bank().length(plane));
    }
    out_.planes[3] = trainer.bank().planes();
    out_.weights[3] = trainer.bank().normalized(order);
    round_to_half(out_.weights[3]);
    if (other_ != kNoClass) {
      const auto at = out_.names.begin() + other_;
      std::rotate(at, at + 1, out_.names.end());
      // New classes of characters have no sizes.
      if (!out_.sizes.empty()) out_.sizes.resize(out_.names.size() - 1);
      out_.has_other = true;
    } else if (!out_.sizes.empty()) {
      out_.sizes.resize(out_.names.size());
    }
    return {};
  }

  int most_references() const {
    if (training_.references > 0) return training_.references;
    constexpr int kOfClass = 25;
    std::array<bool, kMaxCharacterClasses> seen{};
    for (const std::uint16_t label : labels_) seen[label] = true;
    const auto classes = static_cast<int>(std::count(seen.begin(), seen.end(), true));
    return std::min(kMaxReferences, (from_ != nullptr ? from_->planes[3] : 0) + kOfClass * classes);
  }

  bool learn(ReferenceTrainer& trainer, const ReferenceTrainer::Checkpoints& checkpoints) {
    std::vector<std::uint16_t> labels(cells_.size());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = labels_[i % images_.count()];
    return trainer.learn(
        {training_.margin, most_references(), training_.passes, training_.seed}, cells_, labels,
        [&](int pass, double share) {
          return progress("stage 4", (pass + share) / training_.passes);
        },
        checkpoints);
  }

  bool tune(ReferenceTrainer& trainer, const ReferenceTrainer::Checkpoints& checkpoints) {
    const auto rooms = network_.rooms(team_.threads());
    TuningRun run{tuning_, training_.passes, 0, training_.seed, {}};
    if (from_ != nullptr) run.first = from_->planes[3];
    run.run = [&](std::size_t image, int pass, int thread, StoredCells& cells) {
      Network::Room& room = *rooms[static_cast<std::size_t>(thread)];
      std::mt19937_64 random(training_.seed + kOtherSeed * (image + 1) +
                             static_cast<std::uint64_t>(pass));
      write_u0(image_at(images_, image), out_.normalization, random_distortion(training_, random),
               room.u0);
      network_.run(room, cells);
    };
    return trainer.tune(
        run, labels_,
        [&](int pass, double share) { return progress("tuning", (pass + share) / tuning_.passes); },
        checkpoints);
  }

  /// Fits the confidence to copies with distortions that stage 4 has not seen.
  Expected<void> calibrate() {
    if (from_ != nullptr || training_.calibration_copies == 0) return {};
    constexpr std::size_t kMostOfImage = 4;
    std::vector<DistortedImage> copies(std::min(
        static_cast<std::size_t>(training_.calibration_copies), kMostOfImage * images_.count()));
    std::mt19937_64 random(training_.seed ^ kOtherSeed);
    std::vector<int> classes;
    for (DistortedImage& copy : copies) {
      copy.image = random() % images_.count();
      copy.distortion = random_distortion(training_, random);
      classes.push_back(final_label(labels_[copy.image]));
    }
    const std::vector<CharacterScores> scores =
        recognize_all(out_, images_, copies, team_, training_.progress);
    if (scores.size() != copies.size()) return stopped();
    OCELLUS_TRY_ASSIGN(fitted, fit_confidence(scores, classes));
    out_.calibration = *fitted;
    return {};
  }

  bool progress(const char* what, double share) const {
    return !training_.progress || training_.progress(what, share);
  }
  bool save() const { return !training_.checkpoint || training_.checkpoint(state_); }
  static tl::unexpected<Error> stopped() { return tl::unexpected(stopped_training()); }

  const LabeledImages& images_;
  const NeocognitronTraining& training_;
  const TrainedNeocognitron* from_;
  ThreadTeam& team_;
  ReferenceTuning tuning_;
  TrainedNeocognitron out_;
  Network network_;
  std::vector<std::uint16_t> labels_;
  int other_ = kNoClass;
  std::vector<StoredCells> cells_;
  TrainingCheckpoint state_;
};

}  // namespace

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
  return bank.normalized(counted_up(kEdgePlanes));
}

}  // namespace detail

Expected<TrainedNeocognitron> train_neocognitron(const LabeledImages& images,
                                                 const NeocognitronTraining& training) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_training(images, training));
  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(training.threads));
  return Trainer(images, training, nullptr, **team).train();
}

Expected<TrainedNeocognitron> extend_neocognitron(const TrainedNeocognitron& network,
                                                  const LabeledImages& images,
                                                  const NeocognitronTraining& training) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_training(images, training));
  OCELLUS_TRY(check_network(network));
  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(training.threads));
  return Trainer(images, training, &network, **team).train();
}

}  // namespace ocellus
