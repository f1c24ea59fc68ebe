// Arithmetic of a step of a cortical network that the backends share, in integers. The equations
// are those of ocellus/cortical_network.h. Weights and constants are in units of 2^-15, responses
// in units of 2^-30, probabilities in units of 2^-32.
#pragma once

#include <array>
#include <cstdint>

#include "core/philox.h"
#include "ocellus/cortical_network.h"

namespace ocellus::detail {

/// Larger weights count in (5): 0.2 * 2^15 = 6553.6.
inline constexpr std::int32_t kOmegaWeight = 6553;
/// Active inputs with this weight or a larger one add to the response in (7); others cost 2.
inline constexpr std::int32_t kStrongWeight = kCorticalWeightOne / 2;

/// The active LGN cell of a pixel with LgnTransform::kContrast: 0 for on-off, 1 for off-on, or -1.
/// `neighbors`: the sum of the eight pixels around it.
constexpr int contrast_cell(int pixel, int neighbors, int threshold) noexcept {
  const int contrast = 8 * pixel - neighbors;
  if (contrast > 8 * threshold) return 0;
  return -contrast > 8 * threshold ? 1 : -1;
}

/// C_i W_i of (4).
constexpr std::int32_t counted(std::int32_t weight) noexcept {
  return weight > kOmegaWeight ? weight : 0;
}

/// value * factor, rounded to the nearest; halves up.
constexpr std::int32_t scaled(std::int32_t value, std::int32_t factor) noexcept {
  // At most 2^30 + 2^14: it fits into 32 bits.
  return (value * factor + kCorticalWeightOne / 2) / kCorticalWeightOne;
}

/// (2): `strong_sum`: of the weights of active inputs that are kStrongWeight or more; `weak`: the
/// number of the other active inputs.
constexpr std::int64_t response(std::int32_t strong_sum, std::int32_t weak, std::int32_t omega,
                                std::int32_t threshold) noexcept {
  const std::int64_t penalty = std::int64_t{weak} * (2 * kCorticalWeightOne) + threshold;
  return std::int64_t{strong_sum} * kCorticalWeightOne - omega * penalty;
}

/// (b): `expected`: E_m.
constexpr std::int64_t expected_response(std::int64_t g, std::int32_t omega, std::int32_t tolerance,
                                         std::int32_t expected) noexcept {
  return g + 2 * std::int64_t{tolerance} * omega * expected;
}

/// The weight of an active input of a winner.
constexpr std::int32_t potentiated(std::int32_t weight, std::int32_t potentiation) noexcept {
  return weight + scaled(kCorticalWeightOne - weight, potentiation);
}

/// The weight of another input of a winner.
constexpr std::int32_t depressed(std::int32_t weight, std::int32_t depression) noexcept {
  return weight - scaled(weight, depression);
}

/// The largest value that scaled() makes 0: a winner keeps such a weight where the input is not
/// active, and such a distance from 1 where it is.
constexpr std::int32_t largest_unchanged(std::int32_t factor) noexcept {
  return factor == 0 ? kCorticalWeightOne : (kCorticalWeightOne / 2 - 1) / factor;
}

/// Random words of the firing of minicolumns 4 `quarter` to 4 `quarter` + 3. `hypercolumn`: counted
/// over all levels.
constexpr std::array<std::uint32_t, 4> firing_words(std::uint64_t seed, std::uint64_t step,
                                                    std::uint32_t hypercolumn,
                                                    std::uint32_t quarter) noexcept {
  return philox(seed, {static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32),
                       hypercolumn, quarter});
}

/// Random words of the initial weights of minicolumns 4 `quarter` to 4 `quarter` + 3.
constexpr std::array<std::uint32_t, 4> initial_words(std::uint64_t seed, std::uint32_t input,
                                                     std::uint32_t hypercolumn,
                                                     std::uint32_t quarter) noexcept {
  // Distinguishes these counters from those of the random firing.
  constexpr std::uint32_t kInitialWeights = 1u << 30;
  return philox(seed, {input, quarter, hypercolumn, kInitialWeights});
}

/// A weight that is uniform from 0 to `largest`.
constexpr std::int32_t initial_weight(std::uint32_t word, std::int32_t largest) noexcept {
  return static_cast<std::int32_t>(word * (static_cast<std::uint64_t>(largest) + 1) >> 32);
}

}  // namespace ocellus::detail
