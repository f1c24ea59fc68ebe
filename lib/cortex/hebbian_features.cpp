#include "cortex/hebbian_features.h"

#include <algorithm>
#include <bitset>
#include <cmath>

namespace ocellus::detail {
void fill(ProbabilityTables& tables) noexcept {
  for (std::size_t i = 0; i < tables.weight.size(); ++i) {
    const double p = std::clamp(static_cast<double>(i) / (1 << ProbabilityTables::kBits),
                                kLeastProbability, 1.0 - kLeastProbability);
    tables.weight[i] =
        static_cast<std::int8_t>(std::lround(kCortexWeightScale * std::log(p / (1 - p))));
    tables.bias[i] =
        static_cast<std::int32_t>(std::lround(kCortexWeightScale * kBiasScale * std::log(1 - p)));
  }
}

std::uint32_t fixed_rate(float rate) noexcept {
  return static_cast<std::uint32_t>(std::lround(static_cast<double>(rate) * kRateOne));
}

void move_probabilities(std::uint32_t* p, int inputs, const std::uint16_t* active, int count,
                        std::uint32_t rate) noexcept {
  for (int i = 0; i < inputs; ++i) p[i] = moved_probability(p[i], false, rate);
  const std::uint32_t gain = moved_probability(0, true, rate);
  for (int i = 0; i < count; ++i) p[active[i]] += gain;
}

void derive_weights(const ProbabilityTables& tables, const std::uint32_t* p, int inputs,
                    std::ptrdiff_t stride, std::int8_t* weights, std::int32_t& bias) noexcept {
  std::int64_t sum = 0;
  for (int i = 0; i < inputs; ++i) {
    const std::size_t entry = ProbabilityTables::index(p[i]);
    weights[i * stride] = tables.weight[entry];
    sum += tables.bias[entry];
  }
  bias = bias_of_terms(sum);
}

void derive_probabilities(const Hierarchy& hierarchy, const std::int8_t* weights,
                          std::uint32_t* probabilities) noexcept {
  std::array<std::uint32_t, 256> of_weight{};
  for (std::size_t i = 0; i < of_weight.size(); ++i) {
    const double w = (static_cast<double>(i) - 128.0) / kCortexWeightScale;
    of_weight[i] = static_cast<std::uint32_t>(std::llround(kProbabilityOne / (1.0 + std::exp(-w))));
  }
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    const auto inputs = static_cast<std::size_t>(l.inputs);
    const auto stride = static_cast<std::size_t>(l.padded);
    for (int h = 0; h < l.hypercolumns; ++h) {
      const std::int8_t* const from = weights + hierarchy.weights_of(level, h);
      std::uint32_t* to = probabilities + hierarchy.weights_of(level, h);
      for (std::size_t m = 0; m < stride; ++m)
        for (std::size_t i = 0; i < inputs; ++i)
          *to++ = static_cast<int>(m) < l.minicolumns
                      ? of_weight[static_cast<std::size_t>(from[i * stride + m] + 128)]
                      : 0;
    }
  }
}

void learn_patches(const CortexShape& shape, const ProbabilityTables& tables, std::uint32_t rate,
                   int level, int hypercolumn, const SeenPatches& patches, std::uint16_t* active,
                   const LearningArrays& arrays) noexcept {
  const Hierarchy& hierarchy = shape.hierarchy;
  const LevelPlan& l = hierarchy.level(level);
  const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
  const std::size_t begin = hierarchy.weights_of(level, hypercolumn);
  const auto row = [&](std::size_t m) {
    return arrays.probabilities + begin + m * static_cast<std::size_t>(l.inputs);
  };
  std::bitset<kMaxMinicolumns> learned;
  for (int patch = 0; patch < patches.count; ++patch) {
    if (patches.has_ink[patch] == 0) continue;
    const auto at = static_cast<std::size_t>(patch);
    const std::int32_t* const winners = patches.winners + at * hypercolumns;
    const std::uint8_t* const cells = patches.cells + at * static_cast<std::size_t>(shape.pixels());
    const int count =
        level == 0 && arrays.fields != nullptr
            ? active_inputs(arrays.fields + static_cast<std::ptrdiff_t>(hypercolumn) * l.inputs,
                            l.inputs, cells, active)
            : active_inputs(hierarchy, level, hypercolumn, cells, winners, active);
    const auto m = static_cast<std::size_t>(winners[l.first + hypercolumn]);
    move_probabilities(row(m), l.inputs, active, count, rate);
    learned.set(m);
  }
  // w and b depend on P alone, so that one pass is enough for all patches.
  std::int32_t* const bias = arrays.bias + hierarchy.minicolumns_of(level, hypercolumn);
  for (std::size_t m = 0; m < static_cast<std::size_t>(l.minicolumns); ++m)
    if (learned.test(m))
      derive_weights(tables, row(m), l.inputs, l.padded, arrays.weights + begin + m, bias[m]);
}

}  // namespace ocellus::detail
