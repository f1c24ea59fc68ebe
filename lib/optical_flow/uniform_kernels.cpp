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
  OCELLUS_TRY_ASSIGN(source, KernelSource::open(kernels, plan.size));
  *this = UniformKernels{};
  for (int c = 0; c < plan.convolutions; ++c) {
    for (int r = 0; r < plan.terms; ++r) {
      float wx[kMaxKernelTaps], wy[kMaxKernelTaps], wt[kMaxKernelTaps];
      OCELLUS_TRY((*source)->next(wx, wy, wt));
      noise.add(plan, c, r, wx, wy, wt);
      for (int t = 0; t < plan.nt; ++t) wt[t] *= gray_scale(plan.format);
      add(plan, c, wx, wy, wt);
    }
  }
  return {};
}

}  // namespace ocellus::detail
