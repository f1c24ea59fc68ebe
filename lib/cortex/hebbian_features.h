// Competitive Hebbian learning of the features of a classifier, in integers. Training and operator
// share it, on every backend.
//
//   P_i += rate (x_i - P_i)
//
// for the winner of a hypercolumn and each of its inputs i. ocellus/cortex_model.h has (a), which
// gives w and b from P.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cortex/classifier.h"

namespace ocellus::detail {

/// P is a multiple of 1 / kProbabilityOne, and at most kProbabilityOne.
inline constexpr std::uint32_t kProbabilityOne = std::uint32_t{1} << 31;
/// A rate is a multiple of 1 / kRateOne, at least 1 and at most kRateOne.
inline constexpr std::uint32_t kRateOne = std::uint32_t{1} << 16;
/// Probabilities in weights keep this distance from 0 and 1, so that no single input decides.
inline constexpr double kLeastProbability = 0.01;
inline constexpr int kBiasScale = 256;  ///< units of a term of b in a unit of b

/// (a) for the upper bits of P. Plain data.
struct ProbabilityTables {
  static constexpr int kBits = 12;

  std::array<std::int8_t, (1 << kBits) + 1> weight{};  ///< w
  std::array<std::int32_t, (1 << kBits) + 1> bias{};   ///< log(1 - P), in units of b / kBiasScale

  static constexpr std::size_t index(std::uint32_t p) noexcept {
    constexpr int kShift = 31 - kBits;
    return (p + (std::uint32_t{1} << (kShift - 1))) >> kShift;
  }
};

void fill(ProbabilityTables& tables) noexcept;

/// `rate`: 1 / kRateOne to 1.
std::uint32_t fixed_rate(float rate) noexcept;

constexpr std::uint32_t moved_probability(std::uint32_t p, bool active,
                                          std::uint32_t rate) noexcept {
  const auto share = [rate](std::uint32_t of) {
    return static_cast<std::uint32_t>(std::uint64_t{of} * rate / kRateOne);
  };
  return p - share(p) + (active ? share(kProbabilityOne) : 0);
}

/// b from the sum of its terms.
constexpr std::int32_t bias_of_terms(std::int64_t sum) noexcept {
  return static_cast<std::int32_t>((sum - kBiasScale / 2) / kBiasScale);
}

/// Moves P of a minicolumn, [input], towards its active inputs.
void move_probabilities(std::uint32_t* p, int inputs, const std::uint16_t* active, int count,
                        std::uint32_t rate) noexcept;

/// w and b of a minicolumn from P. `weights`: of its first input; `stride`: from an input to the
/// next one.
void derive_weights(const ProbabilityTables& tables, const std::uint32_t* p, int inputs,
                    std::ptrdiff_t stride, std::int8_t* weights, std::int32_t& bias) noexcept;

/// P of all minicolumns from w, as if the model had learned them: 1 / (1 + exp(-w)). 0 for padded
/// ones.
void derive_probabilities(const Hierarchy& hierarchy, const std::int8_t* weights,
                          std::uint32_t* probabilities) noexcept;

/// The arrays of a model that learns; those of CortexArrays and P.
struct LearningArrays {
  std::int8_t* weights = nullptr;
  std::int32_t* bias = nullptr;
  /// [hypercolumn][padded minicolumn][input]: a hypercolumn begins at the same element as its
  /// weights.
  std::uint32_t* probabilities = nullptr;
  /// CortexArrays::fields, which do not change; null without free fields.
  const std::uint16_t* fields = nullptr;
};

/// What the hypercolumns have seen of the patches of a frame.
struct SeenPatches {
  const std::uint8_t* cells = nullptr;    ///< [patch][pixel]
  const std::int32_t* winners = nullptr;  ///< [patch][hypercolumn], counted over all levels
  const std::uint8_t* has_ink = nullptr;  ///< [patch]; 0: no cell is active, so it teaches nothing
  int count = 0;
};

/// A hypercolumn learns patch after patch. `active`: room for its inputs.
void learn_patches(const CortexShape& shape, const ProbabilityTables& tables, std::uint32_t rate,
                   int level, int hypercolumn, const SeenPatches& patches, std::uint16_t* active,
                   const LearningArrays& arrays) noexcept;

}  // namespace ocellus::detail
