// A symmetric separable filter over a band of rows of one or more planes. The caller produces the
// input rows and consumes the filtered rows.
#pragma once

#include <algorithm>

#include "core/layout_builder.h"
#include "image/separable_filter.h"

namespace ocellus::detail {

inline constexpr int kMaxSweepRadius = 15;
inline constexpr int kMaxSweepPlanes = 5;

/// Private buffers of one worker, for rows of at most the width given to `layout`.
struct SweepScratch {
  static constexpr int kMargin = 16;

  float* source = nullptr;
  float* filtered = nullptr;
  float* result = nullptr;
  std::size_t stride = 0;

  void layout(LayoutBuilder& builder, int width, int radius, int planes) noexcept {
    stride = row_stride(width + 2 * kMargin);
    source = builder.take<float>(stride);
    filtered = builder.take<float>(static_cast<std::size_t>(planes * (2 * radius + 1)) * stride);
    result = builder.take<float>(static_cast<std::size_t>(planes) * stride);
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

/// Filters rows [begin, end) of `planes` planes of width x height; the edges are repeated. `fill(y,
/// p, row)` must write row y of plane p. It is called once for each row, in ascending order.
/// `emit(y, rows)` receives the filtered row y of all planes.
template <typename Fill, typename Emit>
void sweep_separable(int width, int height, int begin, int end, int planes,
                     const SymmetricTaps& filter, const SweepScratch& scratch, Fill&& fill,
                     Emit&& emit) noexcept {
  const int size = 2 * filter.radius + 1;
  float* source = scratch.source + SweepScratch::kMargin;
  float* result[kMaxSweepPlanes];
  for (int p = 0; p < planes; ++p)
    result[p] = scratch.result + static_cast<std::size_t>(p) * scratch.stride;
  const auto filtered = [&](int y, int p) {
    return scratch.filtered + static_cast<std::size_t>(p * size + y % size) * scratch.stride;
  };
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, height - 1); };
  int next = clamp_row(begin - filter.radius);
  for (int y = begin; y < end; ++y) {
    for (; next <= clamp_row(y + filter.radius); ++next) {
      for (int p = 0; p < planes; ++p) {
        fill(next, p, source);
        replicate_edges(source, width, filter.radius, filter.radius);
        filter_row_symmetric(source, filter.weight, filter.radius, filtered(next, p), width);
      }
    }
    for (int p = 0; p < planes; ++p) {
      const float* rows[2 * kMaxSweepRadius + 1];
      for (int k = 0; k < size; ++k) rows[k] = filtered(clamp_row(y + k - filter.radius), p);
      filter_column(rows, filter.taps, size, result[p], width, false);
    }
    emit(y, result);
  }
}

}  // namespace ocellus::detail
