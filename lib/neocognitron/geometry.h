// The positions of the cells and the windows that they read. All of it follows from the sides of
// the layers, which are centered on each other, and from the radii.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

/// A pitch is the distance between neighboring cells, in cells of the layer that is read.
struct LayerSides {
  int in;     ///< cells along x and y of the layer that is read
  int out;    ///< of the layer
  int pitch;  ///< 1 for S-cells, 2 for C-cells
};

/// Cells of a square.
constexpr std::size_t squared(int side) noexcept {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

inline constexpr LayerSides kContrastSides{65, 71, 1};
/// US4 has as many cells at most: NeocognitronParameters::reference_side.
inline constexpr std::array<LayerSides, kNeocognitronStages> kSimpleSides{
    {{71, 68, 1}, {37, 38, 1}, {21, 22, 1}, {13, 5, 1}}};
inline constexpr std::array<LayerSides, kNeocognitronStages - 1> kComplexSides{
    {{68, 37, 2}, {38, 21, 2}, {22, 13, 2}}};

/// One input of a cell. The cell at (x, y) reads (first + pitch x + dx, first + pitch y + dy) of
/// the layer below. Inputs outside of the layer are 0.
struct WindowTap {
  std::int16_t dx = 0;
  std::int16_t dy = 0;
  float weight = 0.0f;
};

inline constexpr int kMaxWindowTaps = 400;

/// The inputs of a cell, row after row.
struct CellWindow {
  LayerSides sides{};
  int first = 0;  ///< of the cell at 0
  int taps = 0;
  std::array<WindowTap, kMaxWindowTaps> tap{};

  std::span<const WindowTap> all() const noexcept {
    return {tap.data(), static_cast<std::size_t>(taps)};
  }
};

/// aG of (1).
CellWindow contrast_window(const NeocognitronParameters& parameters) noexcept;
/// c of (3). Weights sum up to 1: (2) does not depend on the sum.
CellWindow simple_window(const NeocognitronParameters& parameters, int stage) noexcept;
/// aC of (5); stages 0 to 2. The positive taps come first.
CellWindow complex_window(const NeocognitronParameters& parameters, int stage) noexcept;

}  // namespace ocellus::detail
