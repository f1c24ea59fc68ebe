// Windows as rows of neighboring taps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "neocognitron/cpu/layers.h"
#include "neocognitron/geometry.h"

namespace ocellus::detail {

/// A row of the taps of a disk: neighbors from dx to dx + count - 1.
struct TapRow {
  int dx = 0;
  int dy = 0;
  int count = 0;
  int tap = 0;  ///< of the first one
};
struct TapRows {
  std::array<TapRow, 24> rows;  // of a radius of 10 or less
  int count = 0;

  std::span<const TapRow> all() const { return {rows.data(), static_cast<std::size_t>(count)}; }
};

/// The rows of the taps before `taps`, which must be a disk.
inline TapRows rows_of(const CellWindow& window, int taps) {
  TapRows out;
  for (int i = 0; i < taps; ++i) {
    const WindowTap& tap = window.tap[static_cast<std::size_t>(i)];
    if (out.count == 0 || out.rows[static_cast<std::size_t>(out.count - 1)].dy != tap.dy)
      out.rows[static_cast<std::size_t>(out.count++)] = {tap.dx, tap.dy, 0, i};
    ++out.rows[static_cast<std::size_t>(out.count - 1)].count;
  }
  return out;
}

/// The inputs that a row of taps reads: columns `begin` to `end` - 1 of the layer below.
struct InputRow {
  int row;
  int begin;
  int end;
  int column;  ///< of the first tap, which may be outside
};
inline InputRow input_row(const CellWindow& window, const TapRow& taps, int x, int y) {
  InputRow out;
  out.row = window.first + window.sides.pitch * y + taps.dy;
  out.column = window.first + window.sides.pitch * x + taps.dx;
  const bool inside = out.row >= 0 && out.row < window.sides.in;
  out.begin = std::max(0, out.column);
  out.end = inside ? std::min(window.sides.in, out.column + taps.count) : 0;
  return out;
}

/// Fills in ActiveCells::energy.
inline void write_energies(const ActiveCells& out) {
  for (int p = 0; p < out.side * out.side; ++p) {
    float sum = 0.0f;
    for (std::uint32_t i = out.begin[p]; i < out.begin[p + 1]; ++i)
      sum += out.value[i] * out.value[i];
    out.energy[p] = sum;
  }
}

}  // namespace ocellus::detail
