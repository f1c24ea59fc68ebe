#include "training/feature_learner.h"

#include "core/philox.h"
#include "training/receptive_field.h"

namespace ocellus::detail {
namespace {

/// Tries to find an image with an active input.
constexpr int kTries = 20;

}  // namespace

FeatureLearner::FeatureLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays)
    : learning_(learning),
      plan_(learning.shape.hierarchy.level(learning.level)),
      inputs_(static_cast<std::size_t>(plan_.inputs)),
      weights_(arrays.weights +
               learning.shape.hierarchy.weights_of(learning.level, learning.hypercolumn)),
      bias_(arrays.bias +
            learning.shape.hierarchy.minicolumns_of(learning.level, learning.hypercolumn)) {
  if (learning.level > 0 || learning.shape.parameters.fields == 0) return;
  field_ = {arrays.fields + static_cast<std::size_t>(learning.hypercolumn) * inputs_, inputs_};
  inputs_ = static_cast<std::size_t>(learning.shape.pixels());
  all_.resize(inputs_);
  draw_field(learning.training.seed, learning.hypercolumn, static_cast<int>(inputs_), field_);
}

int FeatureLearner::show(std::uint32_t a, std::uint32_t b, std::uint32_t purpose) {
  const CortexScratch& scratch = learning_.scratch;
  const std::uint32_t word =
      philox(learning_.training.seed,
             {a, b, static_cast<std::uint32_t>(plan_.first + learning_.hypercolumn), purpose})[0];
  const std::size_t image = std::uint64_t{word} * learning_.activities.count() >> 32;
  learning_.activities.load(image, learning_.level, scratch);
  if (!has_field()) {
    active_ = active_inputs(learning_.shape.hierarchy, learning_.level, learning_.hypercolumn,
                            scratch.cells, scratch.winners, scratch.active);
    return active_;
  }
  active_ =
      active_inputs(field_.data(), static_cast<int>(field_.size()), scratch.cells, scratch.active);
  int count = 0;
  for (std::size_t i = 0; i < inputs_; ++i) {
    all_[static_cast<std::size_t>(count)] = static_cast<std::uint16_t>(i);
    count += scratch.cells[i];
  }
  return count;
}

int FeatureLearner::show_first(int minicolumn) {
  int count = 0;
  for (std::uint32_t i = 0; i < kTries && count == 0; ++i)
    count = show(static_cast<std::uint32_t>(minicolumn), i, kFirstImage);
  return count;
}

void FeatureLearner::compete() {
  detail::compete(weights_, bias_, learning_.scratch.active, active_, plan_.stride,
                  learning_.scratch.scores);
}

bool FeatureLearner::goes_on(int images) const {
  return images % kImagesBetweenProgress != 0 ||
         learning_.go_on(static_cast<double>(images) / learning_.training.feature_images);
}

bool FeatureLearner::rewires_after(int images) const noexcept {
  if (!has_field()) return false;
  const auto steps = [&](std::int64_t n) {
    return n * (learning_.training.rewirings + 1) / learning_.training.feature_images;
  };
  return images < learning_.training.feature_images && steps(images) > steps(images - 1);
}

void FeatureLearner::rewire_field(std::span<const double> active, std::span<const double> joint) {
  rewire(field_, mutual_information(active, joint), learning_.training.exchanges);
}

}  // namespace ocellus::detail
