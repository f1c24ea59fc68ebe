// The layers of the network on the CPU. Most C-cells are 0, so that S-cells add up the inputs that
// are not (program F of Ikeda et al.).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "neocognitron/geometry.h"

namespace ocellus::detail {

/// Rows of weights and of S-cells have a multiple of this number of planes; those behind the last
/// plane are 0.
inline constexpr int kPlaneAlignment = 16;

constexpr int padded_planes(int planes) {
  return (planes + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;
}

/// Planes whose weights lie side by side.
inline constexpr std::size_t kWeightBlock = 4 * kPlaneAlignment;

/// The cells of UG or of a C-layer that are not 0, position after position, row after row.
struct ActiveCells {
  int side = 0;
  int planes = 0;
  std::uint32_t* begin = nullptr;  ///< side * side + 1 numbers: where the cells of a position begin
  std::uint16_t* key = nullptr;    ///< x * planes + plane; `capacity` of them
  float* value = nullptr;          ///< of each key
  float* energy = nullptr;         ///< side * side: sum of the squares of a position's cells
  std::uint32_t capacity = 0;      ///< the first cells are kept; side * side * planes is enough

  std::uint32_t count() const noexcept { return begin[side * side]; }
};

/// An S-layer.
struct SimpleLayer {
  const CellWindow* window = nullptr;
  int in_planes = 0;
  int planes = 0;
  float threshold = 0.0f;
  float gain = 0.0f;
  /// a(v, kappa, k) / b(k) in binary16, from `place_weights`; 64-byte aligned.
  const std::uint16_t* weights = nullptr;

  /// Floats of the S-cells of a position.
  int stride() const noexcept { return padded_planes(planes); }
  std::size_t rows() const noexcept {
    return static_cast<std::size_t>(window->taps) * static_cast<std::size_t>(in_planes);
  }
  /// Numbers of `weights`.
  std::size_t weight_count() const noexcept { return rows() * static_cast<std::size_t>(stride()); }
};

/// Brings weights to the order that the layers need: `from` has them at
/// [(tap * in_planes + kappa) * planes + k], as model files do. `layer.weights` is not used.
void place_weights(const SimpleLayer& layer, const std::uint16_t* from, std::uint16_t* to) noexcept;

/// An input of an S-cell that is not 0.
struct SimpleInput {
  std::uint32_t row;  ///< tap * in_planes + kappa
  float value;
};

/// (3) for all positions: v[y * side + x].
void input_strengths(const CellWindow& window, const ActiveCells& in, float* v) noexcept;

/// Writes the inputs of the S-cells at (x, y) that are not 0, at most taps * in_planes. Returns
/// their number.
int simple_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                  SimpleInput* inputs) noexcept;

/// e[k] = sum over the inputs of value * weights[row * stride + k] for `planes` planes, a multiple
/// of kPlaneAlignment. The order of the sum depends on `planes` and not on the width of the
/// vectors.
void weighted_sums(std::span<const SimpleInput> inputs, const float* weights, int planes,
                   int stride, float* e) noexcept;

/// (1) of u0, 65x65 floats. False if there are more cells than `out` has room for.
bool contrast_cells(const CellWindow& window, float threshold, const float* u0,
                    const ActiveCells& out) noexcept;

/// (2) for all positions: out[(y * side + x) * stride + k], and any[y * side + x]: is a cell of the
/// position not 0. `v`: (3), side * side numbers.
void simple_cells(const SimpleLayer& layer, const ActiveCells& in, float* v, float* out,
                  std::uint8_t* any) noexcept;

/// Memory that complex_cells needs, 64-byte aligned.
struct ComplexScratch {
  float* row_sums = nullptr;       ///< complex_row_sums floats
  std::uint8_t* active = nullptr;  ///< side * (side + 1) of the S-layer
};
std::size_t complex_row_sums(const CellWindow& window, int planes) noexcept;

/// (5) for all positions. False if there are more cells than `out` has room for.
bool complex_cells(const CellWindow& window, const float* in, const std::uint8_t* any,
                   const ComplexScratch& scratch, const ActiveCells& out) noexcept;

/// Stage 4: similarity[(y * side + x) * stride + k], the cosine of the angle between input and
/// reference, 0 to 1. `v`: (3), side * side numbers.
void reference_similarities(const SimpleLayer& layer, const ActiveCells& in, float* v,
                            float* similarity) noexcept;

}  // namespace ocellus::detail
