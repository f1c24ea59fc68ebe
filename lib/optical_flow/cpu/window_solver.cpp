#include "optical_flow/cpu/window_solver.h"

#include <cstring>

namespace ocellus::detail {
namespace {

void store_row(const float* from, float* plane, std::ptrdiff_t stride, int row,
               int width) noexcept {
  std::memcpy(reinterpret_cast<char*>(plane) + row * stride, from,
              static_cast<std::size_t>(width) * sizeof(float));
}

}  // namespace

void layout_window_scratch(LayoutBuilder& builder, int width, int window,
                           WindowScratch& scratch) noexcept {
  scratch.products = builder.take<float>(kProducts * row_stride(width + 2 * kWindowMargin));
  scratch.filtered =
      builder.take<float>(static_cast<std::size_t>(window * kProducts) * row_stride(width));
  scratch.result = builder.take<float>(3 * row_stride(width));
}

SolveRow begin_solve(const OpticalFlowPlan& plan, const WindowScratch& scratch, int plane_width,
                     int solve_width) noexcept {
  const std::size_t stride = row_stride(plane_width);
  SolveRow row{};
  row.weight = plan.weight.data();
  row.radius = plan.radius;
  row.u = scratch.result;
  row.v = scratch.result + stride;
  row.confidence = scratch.result + 2 * stride;
  row.width = solve_width;
  return row;
}

void solve_planes(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid,
                  const WindowScratch& scratch, int begin, int end,
                  const WindowOutput& out) noexcept {
  SolveRow row = begin_solve(plan, scratch, planes.width, planes.solve.width);
  row.threshold = plan.confidence_threshold;
  row.invalid = invalid;
  const auto products = [&](int y, float* const* to) {
    const std::size_t at = static_cast<std::size_t>(y) * planes.stride;
    derivative_products_row(planes.ix + at, planes.iy + at, planes.it + at, to, planes.width);
  };
  const auto emit = [&](int y) {
    store_row(row.u, out.u, out.stride, y, row.width);
    store_row(row.v, out.v, out.stride, y, row.width);
    if (out.confidence != nullptr)
      store_row(row.confidence, out.confidence, out.stride, y, row.width);
  };
  sweep_window(plan, planes.width, planes.height, planes.solve, scratch, begin, end, row, products,
               emit);
}

}  // namespace ocellus::detail
