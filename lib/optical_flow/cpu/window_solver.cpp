#include "optical_flow/cpu/window_solver.h"

#include <cstring>

namespace ocellus::detail {

void solve_planes(const OpticalFlowPlan& plan, const WindowPlanes& planes, float invalid,
                  const SweepScratch& scratch, int begin, int end, const ImageView* out) noexcept {
  SolveRow row{};
  row.threshold = plan.confidence_threshold;
  row.invalid = invalid;
  sweep_window(
      plan, planes.size, planes.solve, begin, end, scratch, row,
      [&](int y, float* const* to) {
        const std::size_t at = static_cast<std::size_t>(y) * planes.stride;
        derivative_products_row(planes.plane[0] + at, planes.plane[1] + at, planes.plane[2] + at,
                                to, planes.size.width);
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
