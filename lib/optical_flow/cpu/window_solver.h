// Applies the Lucas-Kanade window to bands of rows.
#pragma once

#include <cstring>

#include "image/separable_sweep.h"
#include "optical_flow/cpu/flow_rows.h"

namespace ocellus::detail {

/// The derivatives Ix, Iy and It.
struct WindowPlanes {
  const float* plane[3];
  std::size_t stride;  ///< floats from row to row, at least row_stride
  ImageSize size;
  Rect solve;  ///< region of these planes for which flow is computed
};

/// Applies the window to rows [begin, end) of `solve`, a region of planes of `size`.
/// `products(y, rows)` must write the five products of one row of the planes. It is called once for
/// each row, in ascending order. `row` has ridge, threshold and invalid. `emit(y, row)` receives
/// row y of `solve`. Outside the planes, the nearest row and column are repeated.
template <typename Products, typename Emit>
void sweep_window(const OpticalFlowPlan& plan, ImageSize size, const Rect& solve, int begin,
                  int end, const SweepScratch& scratch, SolveRow row, Products&& products,
                  Emit&& emit) noexcept {
  SymmetricTaps window;
  window.set(plan.radius, plan.weight.data());
  row.weight = window.weight;
  row.radius = plan.radius;
  row.u = scratch.result_row(0);
  row.v = scratch.result_row(1);
  row.confidence = scratch.result_row(2);
  row.width = solve.width;
  sweep_rows(size, {solve.x, solve.y + begin, solve.width, end - begin}, kProducts, window, scratch,
             products, [&](int y, const auto& rows) {
               row.rows = rows;
               flow_rows().lucas_kanade_solve_row(row);
               emit(y - solve.y, row);
             });
}

/// Solves Lucas-Kanade on three derivative planes, for rows [begin, end) of planes.solve. `out` are
/// the planes of u, v and confidence; the last one may be null.
inline void solve_planes(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid,
                         const SweepScratch& scratch, int begin, int end,
                         const ImageView* out) noexcept {
  SolveRow row{};
  row.threshold = plan.confidence_threshold;
  row.invalid = invalid;
  sweep_window(
      plan, planes.size, planes.solve, begin, end, scratch, row,
      [&](int y, float* const* to) {
        const std::size_t at = static_cast<std::size_t>(y) * planes.stride;
        flow_rows().derivative_products_row(planes.plane[0] + at, planes.plane[1] + at,
                                            planes.plane[2] + at, to, planes.size.width);
      },
      [&](int y, const SolveRow& solved) {
        const float* const results[] = {solved.u, solved.v, solved.confidence};
        for (int p = 0; p < 3; ++p)
          if (out[p].data != nullptr)
            std::memcpy(out[p].row<float>(y), results[p],
                        static_cast<std::size_t>(solved.width) * sizeof(float));
      });
}

}  // namespace ocellus::detail
