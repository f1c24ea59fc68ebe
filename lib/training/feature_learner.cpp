#include "training/feature_learner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.h"

namespace ocellus::detail {
namespace {

/// Tries to find an image with an active input.
constexpr int kTries = 20;
/// Counters of random numbers, beside those of features, order and copies.
constexpr std::uint32_t kFields = 7u << 29;

double x_log_x(double x) noexcept {
  return x > 0.0 ? x * std::log(x) : 0.0;
}

}  // namespace

std::vector<double> mutual_information(std::span<const double> active,
                                       std::span<const double> joint) {
  const std::size_t inputs = joint.size() / active.size();
  std::vector<double> share(inputs, 0.0);  // P_i
  std::vector<double> information(inputs, 0.0);
  for (std::size_t m = 0; m < active.size(); ++m) {
    const double* const row = joint.data() + m * inputs;
    const double both = x_log_x(active[m]);
    for (std::size_t i = 0; i < inputs; ++i) {
      share[i] += row[i];
      // By rounding, P_im may be above P_m.
      const double off = std::max(active[m] - row[i], 0.0);
      information[i] += x_log_x(row[i]) + x_log_x(off) - both;
    }
  }
  for (std::size_t i = 0; i < inputs; ++i)
    information[i] -= x_log_x(share[i]) + x_log_x(std::max(1.0 - share[i], 0.0));
  return information;
}

int rewire(std::span<std::uint16_t> field, std::span<const double> information, int exchanges) {
  std::vector<bool> connected(information.size(), false);
  for (const std::uint16_t input : field) connected[input] = true;
  std::vector<std::uint16_t> least(field.begin(), field.end());
  std::vector<std::uint16_t> most;
  for (std::size_t i = 0; i < information.size(); ++i)
    if (!connected[i]) most.push_back(static_cast<std::uint16_t>(i));
  std::stable_sort(least.begin(), least.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] < information[b];
  });
  std::stable_sort(most.begin(), most.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] > information[b];
  });
  const std::size_t limit =
      std::min({static_cast<std::size_t>(exchanges), least.size(), most.size()});
  std::size_t done = 0;
  while (done < limit && information[most[done]] > information[least[done]]) {
    least[done] = most[done];
    ++done;
  }
  std::sort(least.begin(), least.end());
  std::copy(least.begin(), least.end(), field.begin());
  return static_cast<int>(done);
}

void draw_field(std::uint64_t seed, int hypercolumn, int inputs, std::span<std::uint16_t> field) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(inputs));
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::uint32_t word = philox(
        seed,
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(hypercolumn), 0, kFields})[0];
    std::swap(all[i], all[i + (std::uint64_t{word} * (all.size() - i) >> 32)]);
    field[i] = all[i];
  }
  std::sort(field.begin(), field.end());
}

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
