// A symmetric separable filter over a band of rows of one or more planes. The caller produces the
// input rows and consumes the filtered rows.
#pragma once

#include <algorithm>

#include "core/layout_builder.h"
#include "image/separable_filter.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

inline constexpr int kMaxSweepRadius = 15;
inline constexpr int kMaxSweepPlanes = 5;

/// Private buffers of one worker, for planes of at most the width, filters of at most the radius,
/// and at most the number of planes given to `layout`.
struct SweepScratch {
  static constexpr int kMargin = 16;

  float* source = nullptr;
  float* filtered = nullptr;
  float* result = nullptr;
  std::size_t stride = 0;

  void layout(LayoutBuilder& builder, int width, int radius, int planes) noexcept {
    stride = row_stride(width + 2 * kMargin);
    source = builder.take<float>(static_cast<std::size_t>(planes) * stride);
    filtered = builder.take<float>(static_cast<std::size_t>(planes * (2 * radius + 1)) * stride);
    result = builder.take<float>(static_cast<std::size_t>(planes) * stride);
  }
  float* result_row(int plane) const noexcept {
    return result + static_cast<std::size_t>(plane) * stride;
  }
};

/// A symmetric filter of 2 radius + 1 taps.
struct SymmetricTaps {
  int radius = 0;
  float weight[kMaxSweepRadius + 1] = {};    ///< weights by distance from the center
  float taps[2 * kMaxSweepRadius + 1] = {};  ///< the same weights as an array of taps

  void set(int r, const float* by_distance) noexcept {
    radius = r;
    for (int k = 0; k <= r; ++k) weight[k] = taps[r - k] = taps[r + k] = by_distance[k];
  }
  void set_box(int r) noexcept {
    float box[kMaxSweepRadius + 1];
    std::fill(box, box + r + 1, 1.0f / static_cast<float>(2 * r + 1));
    set(r, box);
  }
};

struct EveryRow {
  int operator()(int y) const noexcept { return y; }
};

/// Filters the rows around those of `part`, a region of planes of `size`, along x. Outside the
/// planes, the nearest row and column are repeated. `fill(y, rows)` must write row y of all planes.
/// It is called once for each row that is needed, in ascending order. `emit(y, rows)` is called for
/// each row of `part` that is wanted: rows[p] are the rows of plane p that the filter's taps meet,
/// from top to bottom. `wanted(y)` returns the first one from y on, or a number beyond the part.
template <typename Fill, typename Emit, typename Wanted = EveryRow>
void sweep_rows(ImageSize size, const Rect& part, int planes, const SymmetricTaps& filter,
                const SweepScratch& scratch, Fill&& fill, Emit&& emit,
                const Wanted& wanted = {}) noexcept {
  const int radius = filter.radius;
  const int window = 2 * radius + 1;
  float* source[kMaxSweepPlanes];
  for (int p = 0; p < planes; ++p)
    source[p] = scratch.source + static_cast<std::size_t>(p) * scratch.stride + scratch.kMargin;
  const auto filtered = [&](int y, int p) {
    return scratch.filtered + static_cast<std::size_t>(p * window + y % window) * scratch.stride;
  };
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, size.height - 1); };
  int next = 0;
  for (int y = wanted(part.y); y < part.y + part.height; y = wanted(y + 1)) {
    for (next = std::max(next, clamp_row(y - radius)); next <= clamp_row(y + radius); ++next) {
      fill(next, source);
      for (int p = 0; p < planes; ++p) {
        replicate_edges(source[p], size.width, radius, radius);
        filter_row_symmetric(source[p] + part.x, filter.weight, radius, filtered(next, p),
                             part.width);
      }
    }
    const float* rows[kMaxSweepPlanes][2 * kMaxSweepRadius + 1];
    for (int p = 0; p < planes; ++p)
      for (int k = 0; k < window; ++k) rows[p][k] = filtered(clamp_row(y + k - radius), p);
    emit(y, rows);
  }
}

/// Filters rows [begin, end) of `planes` planes of width x height along both axes. `fill` and
/// `wanted` are those of sweep_rows. `emit(y, rows)` receives the filtered row y of all planes.
template <typename Fill, typename Emit, typename Wanted = EveryRow>
void sweep_separable(int width, int height, int begin, int end, int planes,
                     const SymmetricTaps& filter, const SweepScratch& scratch, Fill&& fill,
                     Emit&& emit, const Wanted& wanted = {}) noexcept {
  float* result[kMaxSweepPlanes];
  for (int p = 0; p < planes; ++p) result[p] = scratch.result_row(p);
  sweep_rows(
      {width, height}, {0, begin, width, end - begin}, planes, filter, scratch, fill,
      [&](int y, const auto& rows) {
        for (int p = 0; p < planes; ++p)
          filter_column(rows[p], filter.taps, 2 * filter.radius + 1, result[p], width, false);
        emit(y, result);
      },
      wanted);
}

}  // namespace ocellus::detail
