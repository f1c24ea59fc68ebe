#include "kernels/host_work.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/cortical_network/network_operator.h"
#include "kernels/image/patch_stretch.h"

namespace ocellus::test {

const int kHostResidentBlocks = 0;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32})
    for (const bool wide : {false, true}) is(cuda::stretch_kernel(format, wide));
  is(cuda::kPatchStepKernel);
  is(cuda::kNetworkLevelKernel);
  is(cuda::kFeedbackKernel);
  is(cuda::kWinnerKernel);
  return work;
}

}  // namespace ocellus::test
