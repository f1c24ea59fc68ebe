// Planes of floats and their rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/layout_builder.h"
#include "image/separable_filter.h"

namespace ocellus::detail {

/// A plane of floats. Those of the pyramid have kMargin floats before and after each row.
struct FloatPlane {
  static constexpr int kMargin = 16;

  float* origin = nullptr;  // pixel (0, 0)
  std::size_t stride = 0;

  float* row(int y) const noexcept {
    return origin + static_cast<std::ptrdiff_t>(y) * static_cast<std::ptrdiff_t>(stride);
  }
};

/// The last rows of a plane; their number is a power of two.
struct RowRing {
  float* rows = nullptr;
  std::size_t stride = 0;
  int mask = 0;

  void layout(LayoutBuilder& builder, int count, int width) noexcept {
    stride = row_stride(width + 2 * FloatPlane::kMargin);
    mask = count - 1;
    rows = builder.take<float>(static_cast<std::size_t>(count) * stride);
  }
  float* row(int y) const noexcept {
    return rows + static_cast<std::size_t>(y & mask) * stride + FloatPlane::kMargin;
  }
};

/// kCount rows around row y of a plane or ring of `height` rows, `step` rows apart. Beyond its
/// edges, the nearest row is repeated.
template <std::size_t kCount, typename Rows>
std::array<const float*, kCount> rows_around(const Rows& from, int y, int height,
                                             int step = 1) noexcept {
  std::array<const float*, kCount> rows;
  int at = y - static_cast<int>(kCount / 2) * step;
  for (const float*& row : rows) {
    row = from.row(std::clamp(at, 0, height - 1));
    at += step;
  }
  return rows;
}

}  // namespace ocellus::detail
