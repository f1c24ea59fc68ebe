// Training of a cortical classifier: features level by level, then the read-out and its confidence.
#include "ocellus/cortex_training.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numbers>
#include <optional>
#include <utility>

#include "core/failure.h"
#include "core/philox.h"
#include "training/cortex_activity.h"
#include "training/network_run.h"

namespace ocellus {
namespace detail {

CortexScratchMemory::CortexScratchMemory(const CortexShape& shape) {
  LayoutBuilder sizes;
  scratch.layout(shape, sizes);
  memory_.resize(sizes.bytes() / 8 + 8);
  void* begin = memory_.data();
  std::size_t room = memory_.size() * 8;
  std::align(64, sizes.bytes(), begin, room);
  LayoutBuilder places(begin);
  scratch.layout(shape, places);
}

CortexActivities::CortexActivities(const CortexShape& shape, const LabeledImages& images,
                                   const CortexTraining& training)
    : shape_(shape), count_(images.count() * (1 + static_cast<std::size_t>(training.copies))) {
  cells_.resize(count_ * static_cast<std::size_t>(shape.pixels()));
  minicolumns_.resize(at(count_, 0));
  shares_.resize(at(count_, 0));
}

/// Counters of random numbers, beside those of features and order.
constexpr std::uint32_t kCopies = 5u << 29;

void draw_copy(const LabeledImages& images, std::size_t image, int copy,
               const CortexTraining& training, std::uint8_t* out) {
  const int width = images.width;
  const int height = images.height;
  const std::uint8_t* const from = images.image(image);
  std::uint32_t number = 0;
  const auto uniform = [&](float bound) {
    const std::uint32_t word =
        philox(training.seed, {static_cast<std::uint32_t>(image), static_cast<std::uint32_t>(copy),
                               number++, kCopies})[0];
    return static_cast<double>(bound) * (word * 0x1p-31 - 1.0);
  };
  const double angle = uniform(training.rotation) * std::numbers::pi / 180.0;
  const double scale_x = std::exp(uniform(training.scale));
  const double scale_y = std::exp(uniform(training.scale));
  const double shear = uniform(training.shear);
  const double xx = std::cos(angle) * scale_x;
  const double xy = (std::cos(angle) * shear - std::sin(angle)) * scale_y;
  const double yx = std::sin(angle) * scale_x;
  const double yy = (std::sin(angle) * shear + std::cos(angle)) * scale_y;
  const double cx = 0.5 * (width - 1);
  const double cy = 0.5 * (height - 1);
  const double dx = cx + uniform(training.shift);
  const double dy = cy + uniform(training.shift);
  const auto pixel = [&](int x, int y) {
    return x < 0 || y < 0 || x >= width || y >= height ? 0.0
                                                       : static_cast<double>(from[y * width + x]);
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = xx * (x - cx) + xy * (y - cy) + dx;
      const double v = yx * (x - cx) + yy * (y - cy) + dy;
      const double left = std::floor(u);
      const double top = std::floor(v);
      const int i = static_cast<int>(left);
      const int j = static_cast<int>(top);
      const double a = u - left;
      const double b = v - top;
      const double value = (pixel(i, j) * (1.0 - a) + pixel(i + 1, j) * a) * (1.0 - b) +
                           (pixel(i, j + 1) * (1.0 - a) + pixel(i + 1, j + 1) * a) * b;
      out[y * width + x] = static_cast<std::uint8_t>(std::lround(value));
    }
  }
}

bool CortexActivities::compute_cells(const LabeledImages& images, const CortexTraining& training,
                                     ThreadTeam& team, const Progress& progress) {
  const auto pixels = static_cast<std::size_t>(shape_.pixels());
  constexpr std::size_t kBlock = 256;
  return for_each_part(
      shape_, static_cast<int>((count_ + kBlock - 1) / kBlock), team,
      [&](int part, const CortexScratch& scratch, const Progress&) {
        const std::size_t begin = static_cast<std::size_t>(part) * kBlock;
        std::vector<std::uint8_t> copy(pixels);
        for (std::size_t i = begin; i < std::min(begin + kBlock, count_); ++i) {
          const std::size_t image = i % images.count();
          const std::uint8_t* patch = images.image(image);
          if (i >= images.count()) {
            draw_copy(images, image, static_cast<int>(i / images.count()), training, copy.data());
            patch = copy.data();
          }
          cortex_cells(shape_, patch, images.width, scratch);
          std::copy_n(scratch.cells, pixels, cells_.data() + i * pixels);
        }
      },
      progress);
}

void CortexActivities::load(std::size_t image, int level,
                            const CortexScratch& scratch) const noexcept {
  const auto pixels = static_cast<std::size_t>(shape_.pixels());
  if (level == 0) {
    std::copy_n(cells_.data() + image * pixels, pixels, scratch.cells);
    return;
  }
  const LevelPlan& below = shape_.hierarchy.level(level - 1);
  for (int h = below.first; h < below.first + below.hypercolumns; ++h)
    scratch.winners[h] = *minicolumns(image, h);
}

void CortexActivities::store(std::size_t image, int hypercolumn,
                             const CortexActivity& activity) noexcept {
  const std::size_t begin = at(image, hypercolumn);
  const auto count = static_cast<std::ptrdiff_t>(shape_.parameters.competitors);
  std::copy_n(activity.minicolumn.begin(), count,
              minicolumns_.begin() + static_cast<std::ptrdiff_t>(begin));
  std::copy_n(activity.share.begin(), count, shares_.begin() + static_cast<std::ptrdiff_t>(begin));
}

/// How often a caller without a part of its own asks whether the others may go on.
constexpr std::chrono::milliseconds kBetweenProgress{50};

bool for_each_part(
    const CortexShape& shape, int count, ThreadTeam& team,
    const std::function<void(int part, const CortexScratch& scratch, const Progress& go_on)>& body,
    const Progress& progress) {
  std::atomic<int> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;
  const auto ask = [&](double parts) {
    if (!stop && progress && !progress(parts / count)) stop = true;
  };
  team.run_on_each([&](int thread) {
    const CortexScratchMemory memory(shape);
    for (int part = next++; part < count && !stop; part = next++) {
      body(part, memory.scratch, [&](double share) {
        if (thread == 0) ask(part + share);
        return !stop;
      });
      if (thread == 0) ask(part + 1);
      const std::lock_guard<std::mutex> lock(mutex);
      if (++ended == count) changed.notify_one();
    }
    if (thread != 0) return;
    // The caller asks also while only other threads compute.
    std::unique_lock<std::mutex> lock(mutex);
    while (!stop && !changed.wait_for(lock, kBetweenProgress, [&] { return ended == count; })) {
      const int parts = ended;
      lock.unlock();
      ask(parts);
      lock.lock();
    }
  });
  return !stop;
}

Expected<std::vector<std::string>> names_of(const LabeledImages& images) {
  const int most = *std::max_element(images.labels.begin(), images.labels.end());
  if (most >= kMaxCortexClasses) {
    return invalid_argument("training: label %d; labels must be 0 to %d", most,
                            kMaxCortexClasses - 1);
  }
  std::vector<std::string> names = images.names;
  if (names.empty())
    for (int c = 0; c <= most; ++c) names.push_back(std::to_string(c));
  if (static_cast<int>(names.size()) <= most) {
    return invalid_argument("training: label %d has no name; there are %zu names", most,
                            names.size());
  }
  return names;
}

namespace {

CortexArrays arrays_of(const TrainedCortex& cortex) {
  return {cortex.weights.data(), cortex.bias.data(), cortex.read_out.data(),
          cortex.class_bias.data(), cortex.fields.data()};
}

Expected<void> check_training(const LabeledImages& images, const CortexTraining& training) {
  if (images.count() == 0) return invalid_argument("training: there are no images");
  const std::size_t pixels = images.count() * images.pixels();
  if (images.ink.size() != pixels) {
    return invalid_argument("training: there are %zu pixels; %zu images of %dx%d have %zu",
                            images.ink.size(), images.count(), images.width, images.height, pixels);
  }
  const struct {
    const char* name;
    double value;
    double low;
    double high;
  } ranges[] = {
      {"feature_images", static_cast<double>(training.feature_images), 1.0, 1e8},
      {"least_rate", static_cast<double>(training.least_rate), 1e-4, 1.0},
      {"batch", static_cast<double>(training.batch), 1.0, 1e6},
      {"trace_rate", static_cast<double>(training.trace_rate), 1e-4, 1.0},
      {"bias_gain", static_cast<double>(training.bias_gain), -100.0, 100.0},
      {"rewirings", static_cast<double>(training.rewirings), 0.0, 1e5},
      {"exchanges", static_cast<double>(training.exchanges), 1.0, 4096.0},
      {"labels_per_class", static_cast<double>(training.labels_per_class), 0.0, 1e9},
      {"prior", static_cast<double>(training.prior), 1e-3, 1e3},
      {"copies", static_cast<double>(training.copies), 0.0, 100.0},
      {"rotation", static_cast<double>(training.rotation), 0.0, 45.0},
      {"scale", static_cast<double>(training.scale), 0.0, 1.0},
      {"shear", static_cast<double>(training.shear), 0.0, 1.0},
      {"shift", static_cast<double>(training.shift), 0.0, 8.0},
      {"passes", static_cast<double>(training.passes), 1.0, 1e3},
      {"rate", static_cast<double>(training.rate), 0.0, 1.0},
  };
  for (const auto& range : ranges) {
    // Comparisons with NaN are false.
    if (!(range.value >= range.low && range.value <= range.high)) {
      return invalid_argument("training: %s is %g; it must be %g to %g", range.name, range.value,
                              range.low, range.high);
    }
  }
  return {};
}

/// The images whose labels are used.
std::vector<std::uint32_t> with_labels(const LabeledImages& images, int per_class) {
  std::vector<std::uint32_t> which;
  std::vector<int> taken(kMaxCortexClasses);
  for (std::size_t i = 0; i < images.count(); ++i) {
    if (per_class == 0 || taken[images.labels[i]]++ < per_class)
      which.push_back(static_cast<std::uint32_t>(i));
  }
  return which;
}

/// The images and their copies.
std::vector<std::uint32_t> with_copies(const std::vector<std::uint32_t>& which, std::size_t images,
                                       int copies) {
  std::vector<std::uint32_t> all;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(copies); ++k)
    for (const std::uint32_t image : which)
      all.push_back(static_cast<std::uint32_t>(k * images + image));
  return all;
}

/// The evidence of an image from its stored activity.
void evidence_of(const CortexShape& shape, const CortexArrays& arrays,
                 const CortexActivities& activities, std::size_t image,
                 const CortexScratch& scratch, std::int64_t* evidence) {
  for (int h = 0; h < shape.hierarchy.hypercolumns; ++h) {
    const auto count = static_cast<std::ptrdiff_t>(shape.parameters.competitors);
    std::copy_n(activities.minicolumns(image, h), count, scratch.activity[h].minicolumn.begin());
    std::copy_n(activities.shares(image, h), count, scratch.activity[h].share.begin());
  }
  read_out(shape, arrays, scratch.activity, evidence);
}

/// None: `progress` stopped it.
std::optional<float> sharpness_of(const CortexShape& shape, const CortexActivities& activities,
                                  const LabeledImages& images,
                                  const std::vector<std::uint32_t>& which,
                                  const CortexTraining& training, const TrainedCortex& cortex,
                                  const Progress& progress) {
  if (which.size() < kLeastToFit) {
    return training.read_out == CortexReadOut::kDelta
               ? 1.0f
               : 5.0f / static_cast<float>(shape.hierarchy.hypercolumns);
  }
  std::vector<std::uint32_t> learned;
  std::vector<std::uint32_t> held;
  for (std::size_t i = 0; i < which.size(); ++i)
    (i % kHoldOut == kHoldOut - 1 ? held : learned).push_back(which[i]);
  const std::optional<LearnedReadOut> first =
      learn_read_out(shape, activities, images.labels,
                     with_copies(learned, images.count(), training.copies), training, progress);
  if (!first) return std::nullopt;
  CortexArrays arrays = arrays_of(cortex);
  arrays.read_out = first->read_out.data();
  arrays.class_bias = first->class_bias.data();
  const auto classes = static_cast<std::size_t>(shape.classes);
  std::vector<std::int64_t> evidence(held.size() * classes);
  std::vector<std::uint16_t> right;
  const CortexScratchMemory memory(shape);
  for (std::size_t i = 0; i < held.size(); ++i) {
    evidence_of(shape, arrays, activities, held[i], memory.scratch, evidence.data() + i * classes);
    right.push_back(images.labels[held[i]]);
  }
  return fit_sharpness(evidence, classes, right);
}

}  // namespace
}  // namespace detail

Expected<TrainedCortex> train_cortex(const LabeledImages& images,
                                     const CortexTraining& training) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_training(images, training));
  OCELLUS_TRY_ASSIGN(names, names_of(images));
  TrainedCortex cortex;
  cortex.names = std::move(*names);
  cortex.parameters = training.parameters;
  cortex.parameters.width = images.width;
  cortex.parameters.height = images.height;
  OCELLUS_TRY_ASSIGN(shape,
                     make_cortex_shape(cortex.parameters, static_cast<int>(cortex.names.size())));

  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(training.threads));
  // What a step of the training reports, as a part of `of` equal ones.
  const auto progress_of = [&training](const char* what, int begin, int of) -> Progress {
    return [&training, what, begin, of](double share) {
      return !training.progress || training.progress(what, (begin + share) / of);
    };
  };
  const Hierarchy& hierarchy = shape->hierarchy;
  cortex.weights.assign(hierarchy.weights, 0);
  cortex.bias.assign(hierarchy.minicolumns, 0);
  cortex.fields.assign(shape->field_elements(), 0);
  cortex.parameters = shape->parameters;
  cortex.rule = training.rule;
  CortexActivities activities(*shape, images, training);
  if (!activities.compute_cells(images, training, **team, progress_of("cells", 0, 1)))
    return tl::unexpected(stopped_training());
  const auto tables = std::make_unique<ProbabilityTables>();
  fill(*tables);
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    const bool done = for_each_part(
        *shape, l.hypercolumns, **team,
        [&](int h, const CortexScratch& scratch, const Progress& go_on) {
          learn_features({*shape, level, h, activities, training, scratch, *tables, go_on},
                         {cortex.weights.data(), cortex.bias.data(), cortex.fields.data()});
          for (std::size_t image = 0; image < activities.count(); ++image) {
            if (image % kImagesBetweenProgress == 0 && !go_on(1.0)) return;
            activities.load(image, level, scratch);
            run_hypercolumn(*shape, arrays_of(cortex), level, h, scratch);
            activities.store(image, l.first + h, scratch.activity[l.first + h]);
          }
        },
        progress_of("features", level, hierarchy.level_count));
    if (!done) return tl::unexpected(stopped_training());
  }
  const std::vector<std::uint32_t> which = with_labels(images, training.labels_per_class);
  const std::optional<float> sharpness = sharpness_of(*shape, activities, images, which, training,
                                                      cortex, progress_of("read-out", 0, 2));
  if (!sharpness) return tl::unexpected(stopped_training());
  cortex.sharpness = *sharpness;
  std::optional<LearnedReadOut> learned = learn_read_out(
      *shape, activities, images.labels, with_copies(which, images.count(), training.copies),
      training, progress_of("read-out", 1, 2));
  if (!learned) return tl::unexpected(stopped_training());
  cortex.read_out = std::move(learned->read_out);
  cortex.class_bias = std::move(learned->class_bias);
  return cortex;
}

Expected<std::vector<CortexAnswer>> classify(
    const TrainedCortex& cortex, const LabeledImages& images, int threads,
    const std::function<bool(const char* what, double share)>& progress) noexcept {
  using namespace detail;
  OCELLUS_TRY_ASSIGN(shape,
                     make_cortex_shape(cortex.parameters, static_cast<int>(cortex.names.size())));
  const auto pixels = static_cast<std::size_t>(shape->pixels());
  if (images.width != cortex.parameters.width || images.height != cortex.parameters.height ||
      images.ink.size() % pixels != 0) {
    return invalid_argument("cortex: the images have %dx%d pixels; the model takes %dx%d",
                            images.width, images.height, cortex.parameters.width,
                            cortex.parameters.height);
  }
  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(threads));
  std::vector<CortexAnswer> answers(images.ink.size() / pixels);
  constexpr std::size_t kBlock = kImagesBetweenProgress;
  const bool done = for_each_part(
      *shape, static_cast<int>((answers.size() + kBlock - 1) / kBlock), **team,
      [&](int part, const CortexScratch& scratch, const Progress&) {
        std::vector<std::int64_t> evidence(static_cast<std::size_t>(shape->classes));
        const std::size_t begin = static_cast<std::size_t>(part) * kBlock;
        for (std::size_t i = begin; i < std::min(begin + kBlock, answers.size()); ++i) {
          classify_patch(*shape, arrays_of(cortex), images.image(i), images.width, scratch,
                         evidence.data());
          const PatchAnswer decision = decide(evidence.data(), shape->classes, cortex.sharpness);
          answers[i] = {decision.label, decision.confidence};
        }
      },
      [&](double share) { return !progress || progress("classification", share); });
  if (!done) return tl::unexpected(stopped_training());
  return answers;
}

}  // namespace ocellus
