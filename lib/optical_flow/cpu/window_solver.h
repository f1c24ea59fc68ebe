// The Lucas-Kanade window over bands of rows.
#pragma once

#include <algorithm>

#include "core/layout_builder.h"
#include "image/separable_filter.h"
#include "optical_flow/cpu/lucas_kanade.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct WindowScratch {
  float* products = nullptr;  ///< kProducts rows with room for the window on both sides
  float* filtered = nullptr;  ///< window x kProducts rows: products filtered along the row
  float* result = nullptr;    ///< 3 rows
};

struct WindowPlanes {
  const float* ix;
  const float* iy;
  const float* it;
  std::size_t stride;  ///< floats, row_stride at least
  int width;           ///< of the derivative planes
  int height;
  Rect solve;  ///< where flow is wanted, in these planes
};

/// Where rows of results go: rows of `solve`, with any stride in bytes; confidence may be null.
struct WindowOutput {
  float* u;
  float* v;
  float* confidence;
  std::ptrdiff_t stride;
};

/// Floats left of a row of products: the window's radius, in whole vectors.
inline constexpr int kWindowMargin = 16;

void layout_window_scratch(LayoutBuilder& builder, int width, int window,
                           WindowScratch& scratch) noexcept;

/// Fills the parts of a SolveRow that do not change from row to row; the result goes to the
/// scratch.
SolveRow begin_solve(const OpticalFlowPlan& plan, const WindowScratch& scratch, int plane_width,
                     int solve_width) noexcept;

/// The window over rows [begin, end) of `solve`, a part of planes of width x height. `products(row,
/// out)` writes the five products of one row of the planes, each row once and in ascending order;
/// `emit(y)` is called when row y of `solve` stands in `row.u`, `row.v` and `row.confidence`.
/// Beyond the planes' edges the nearest row and column are repeated.
template <typename Products, typename Emit>
void sweep_window(const OpticalFlowPlan& plan, int width, int height, const Rect& solve,
                  const WindowScratch& scratch, int begin, int end, SolveRow& row,
                  Products&& products, Emit&& emit) noexcept {
  const int radius = plan.radius;
  const int window = 2 * radius + 1;
  const std::size_t stride = row_stride(width);
  float* out[kProducts];
  for (int p = 0; p < kProducts; ++p) {
    out[p] = scratch.products +
             static_cast<std::size_t>(p) * row_stride(width + 2 * kWindowMargin) + kWindowMargin;
  }
  const auto filtered = [&](int at, int p) {
    return scratch.filtered + static_cast<std::size_t>((at % window) * kProducts + p) * stride;
  };
  const auto clamp_row = [&](int at) { return std::clamp(at, 0, height - 1); };

  int next = clamp_row(solve.y + begin - radius);
  for (int y = begin; y < end; ++y) {
    const int center = solve.y + y;
    for (; next <= clamp_row(center + radius); ++next) {
      products(next, out);
      for (int p = 0; p < kProducts; ++p) {
        replicate_edges(out[p], width, radius, radius);
        filter_row_symmetric(out[p] + solve.x, plan.weight.data(), radius, filtered(next, p),
                             solve.width);
      }
    }
    for (int p = 0; p < kProducts; ++p) {
      row.rows[p][0] = filtered(center, p);
      for (int k = 1; k <= radius; ++k) {
        row.rows[p][2 * k - 1] = filtered(clamp_row(center - k), p);
        row.rows[p][2 * k] = filtered(clamp_row(center + k), p);
      }
    }
    lucas_kanade_solve_row(row);
    emit(y);
  }
}

/// Lucas-Kanade on three derivative planes: rows [begin, end) of planes.solve.
void solve_planes(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid,
                  const WindowScratch& scratch, int begin, int end,
                  const WindowOutput& out) noexcept;

}  // namespace ocellus::detail
