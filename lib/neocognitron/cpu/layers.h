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

/// The cells of UG or of a C-layer that are not 0, position after position, row after row.
struct ActiveCells {
  int side = 0;
  int planes = 0;
  std::uint32_t* begin = nullptr;  ///< side * side + 1 numbers: where the cells of a position begin
  std::uint16_t* plane = nullptr;  ///< side * side * planes
  float* value = nullptr;          ///< side * side * planes

  std::uint32_t count() const noexcept { return begin[side * side]; }
};

/// An S-layer.
struct SimpleLayer {
  const CellWindow* window = nullptr;
  int in_planes = 0;
  int planes = 0;
  float threshold = 0.0f;
  float gain = 0.0f;
  /// a(v, kappa, k) / b(k) at [(tap * in_planes + kappa) * padded_planes(planes) + k]; 64-byte
  /// aligned.
  const float* weights = nullptr;

  int stride() const noexcept { return padded_planes(planes); }
};

/// An input of an S-cell that is not 0.
struct SimpleInput {
  std::uint32_t row;  ///< tap * in_planes + kappa
  float value;
};

/// Writes the inputs of the S-cells at (x, y) that are not 0, at most taps * in_planes, and their
/// number to `count`. Returns v of (3).
float simple_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                    SimpleInput* inputs, int& count) noexcept;

/// e[k] = sum over the inputs of value * weights[row * stride + k], in the order of the inputs, for
/// `planes` planes, a multiple of kPlaneAlignment. It does not depend on the width of the vectors.
void weighted_sums(std::span<const SimpleInput> inputs, const float* weights, int planes,
                   int stride, float* e) noexcept;

/// (1) of u0, 65x65 floats.
void contrast_cells(const CellWindow& window, float threshold, const float* u0,
                    const ActiveCells& out) noexcept;

/// (2) for all positions: out[(y * side + x) * stride + k], and any[y * side + x]: is a cell of the
/// position not 0. `inputs` has room for taps * in_planes.
void simple_cells(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs, float* out,
                  std::uint8_t* any) noexcept;

/// (5) for all positions. `sums` has room for padded_planes(planes).
void complex_cells(const CellWindow& window, const float* in, const std::uint8_t* any, float* sums,
                   const ActiveCells& out) noexcept;

/// Stage 4: similarity[(y * side + x) * stride + k], the cosine of the angle between input and
/// reference, 0 to 1.
void reference_similarities(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs,
                            float* similarity) noexcept;

}  // namespace ocellus::detail
