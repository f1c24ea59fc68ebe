#include "kernels/host_work.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/core/luma.h"
#include "kernels/halftone/kernels.h"

namespace ocellus::test {

const int kHostResidentBlocks = 1;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  is(cuda::kLumaKernel);
  is(cuda::kPutLumaKernel);
  is(cuda::kStartKernel);
  is(cuda::kDiffusionKernel);
  is(cuda::kBiasKernel);
  is(cuda::kGeneralKernel);
  is(cuda::kGroupKernel);
  for (int radius = 1; radius <= kMaxTemplateRadius; ++radius) {
    is(cuda::band_kernel(radius));
    is(cuda::large_band_kernel(radius));
  }
  return work;
}

}  // namespace ocellus::test
