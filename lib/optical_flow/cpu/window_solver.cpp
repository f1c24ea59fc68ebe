#include "optical_flow/cpu/window_solver.h"

#include <algorithm>
#include <cstring>

namespace ocellus::detail {
namespace {

std::size_t product_stride(int width) { return row_stride(width + 2 * WindowSolver::kMargin); }

void store_row(const float* from, float* plane, std::ptrdiff_t stride, int row, int width) noexcept {
  std::memcpy(reinterpret_cast<char*>(plane) + row * stride, from, static_cast<std::size_t>(width) * sizeof(float));
}

}  // namespace

void WindowSolver::layout(Carver& carver, int width, int window, WindowScratch& scratch) noexcept {
  scratch.products = carver.take<float>(kProducts * product_stride(width));
  scratch.filtered = carver.take<float>(static_cast<std::size_t>(window * kProducts) * row_stride(width));
  scratch.result = carver.take<float>(3 * row_stride(width));
}

void WindowSolver::solve(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid, const WindowScratch& scratch, int begin,
                         int end, const WindowOutput& out) noexcept {
  const int radius = plan.radius;
  const int window = 2 * radius + 1;
  const int width = planes.solve.width;
  const std::size_t stride = row_stride(planes.width);
  float* products[kProducts];
  for (int p = 0; p < kProducts; ++p) products[p] = scratch.products + static_cast<std::size_t>(p) * product_stride(planes.width) + kMargin;
  const auto filtered = [&](int row, int p) {
    return scratch.filtered + static_cast<std::size_t>((row % window) * kProducts + p) * stride;
  };
  const auto clamp_row = [&](int row) { return std::clamp(row, 0, planes.height - 1); };

  SolveRow solve;
  solve.weight = plan.weight.data();
  solve.radius = radius;
  solve.ridge = plan.pyramid.ridge;
  solve.threshold = plan.confidence_threshold;
  solve.invalid = invalid;
  solve.u = scratch.result;
  solve.v = scratch.result + stride;
  solve.confidence = scratch.result + 2 * stride;
  solve.width = width;

  int next = clamp_row(planes.solve.y + begin - radius);
  for (int y = begin; y < end; ++y) {
    const int centre = planes.solve.y + y;
    for (; next <= clamp_row(centre + radius); ++next) {
      const std::size_t at = static_cast<std::size_t>(next) * planes.stride;
      derivative_products_row(planes.ix + at, planes.iy + at, planes.it + at, products, planes.width);
      for (int p = 0; p < kProducts; ++p) {
        replicate_edges(products[p], planes.width, radius, radius);
        filter_row_symmetric(products[p] + planes.solve.x, plan.weight.data(), radius, filtered(next, p), width);
      }
    }
    for (int p = 0; p < kProducts; ++p) {
      solve.rows[p][0] = filtered(centre, p);
      for (int k = 1; k <= radius; ++k) {
        solve.rows[p][2 * k - 1] = filtered(clamp_row(centre - k), p);
        solve.rows[p][2 * k] = filtered(clamp_row(centre + k), p);
      }
    }
    lucas_kanade_solve_row(solve);
    store_row(solve.u, out.u, out.stride, y, width);
    store_row(solve.v, out.v, out.stride, y, width);
    if (out.confidence != nullptr) store_row(solve.confidence, out.confidence, out.stride, y, width);
  }
}

}  // namespace ocellus::detail
