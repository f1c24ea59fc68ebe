#include "optical_flow/uniform_kernels.h"

#include <algorithm>

#include "core/failure.h"
#include "image/pixel_rows.h"
#include "optical_flow/kernel_source.h"

namespace ocellus::detail {

void UniformKernels::add(const OpticalFlowPlan& plan, int convolution, const float* wx,
                         const float* wy, const float* wt) noexcept {
  int t = 0;
  while (t < temporal_count && !std::equal(wt, wt + plan.nt, temporal[t])) ++t;
  if (t == temporal_count) {
    std::copy(wt, wt + plan.nt, temporal[t]);
    ++temporal_count;
  }
  float taps[kMaxKernelTaps];
  std::reverse_copy(wx, wx + plan.nx, taps);
  int h = 0;
  while (h < horizontal_count &&
         !(horizontal[h].temporal == t && std::equal(taps, taps + plan.nx, horizontal[h].taps)))
    ++h;
  if (h == horizontal_count) {
    horizontal[h].temporal = t;
    std::copy(taps, taps + plan.nx, horizontal[h].taps);
    ++horizontal_count;
  }
  Vertical& v = vertical[vertical_count++];
  v.horizontal = h;
  v.convolution = convolution;
  std::reverse_copy(wy, wy + plan.ny, v.taps);
}

Expected<void> UniformKernels::load(const OpticalFlowPlan& plan, const KernelConfig& kernels,
                                    KernelNoise& noise) noexcept {
  *this = UniformKernels{};
  return read_kernels(kernels, plan.size, {0, 0, 1, 1},
                      [&](int, int, int convolution, int term, const float* wx, const float* wy,
                          const float* wt) -> Expected<bool> {
                        noise.add(plan, convolution, term, wx, wy, wt);
                        float scaled[kMaxKernelTaps];
                        for (int t = 0; t < plan.nt; ++t)
                          scaled[t] = wt[t] * gray_scale(plan.format);
                        add(plan, convolution, wx, wy, scaled);
                        return true;
                      });
}

}  // namespace ocellus::detail
