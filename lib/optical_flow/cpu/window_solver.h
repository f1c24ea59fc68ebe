// Applies the Lucas-Kanade window to bands of rows.
#pragma once

#include <algorithm>

#include "core/layout_builder.h"
#include "image/separable_filter.h"
#include "optical_flow/cpu/flow_rows.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct WindowScratch {
  float* products = nullptr;  ///< kProducts rows with margins for the window on both sides
  float* filtered = nullptr;  ///< window x kProducts rows: the products, filtered along the row
  float* result = nullptr;    ///< 3 rows
};

struct WindowPlanes {
  const float* ix;
  const float* iy;
  const float* it;
  std::size_t stride;  ///< floats from row to row, at least row_stride
  int width;           ///< width of the derivative planes
  int height;
  Rect solve;  ///< region of these planes for which flow is computed
};

/// Destination of the results: rows of `solve`. The stride is in bytes; `confidence` may be null.
struct WindowOutput {
  float* u;
  float* v;
  float* confidence;
  std::ptrdiff_t stride;
};

/// Floats before a row of products: the window's radius, rounded up to whole vectors.
inline constexpr int kWindowMargin = 16;

void layout_window_scratch(LayoutBuilder& builder, int width, int window,
                           WindowScratch& scratch) noexcept;

/// Sets the fields of a SolveRow that do not change from row to row. Results are written to the
/// scratch memory.
SolveRow begin_solve(const OpticalFlowPlan& plan, const WindowScratch& scratch, int plane_width,
                     int solve_width) noexcept;

/// Applies the window to rows [begin, end) of `solve`, a region of planes of width x height.
/// `products(row, out)` must write the five products of one row of the planes. It is called once
/// for each row, in ascending order. `emit(y)` is called when row y of `solve` is in `row.u`,
/// `row.v` and `row.confidence`. Outside the planes, the nearest row and column are repeated.
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

/// Solves Lucas-Kanade on three derivative planes, for rows [begin, end) of planes.solve.
void solve_planes(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid,
                  const WindowScratch& scratch, int begin, int end,
                  const WindowOutput& out) noexcept;

}  // namespace ocellus::detail
