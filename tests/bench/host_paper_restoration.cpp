#include "kernels/host_work.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "bench/papers/restoration/paper_kernels.cu"

namespace ocellus::test {

const int kHostResidentBlocks = 0;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  is(cuda::continue_kernel(PixelFormat::kFloat32));
  is(cuda::add_quadrants_kernel(PixelFormat::kFloat32));
  is(paper::kFeedforwardKernel);
  for (const bool fused : {false, true}) {
    is(paper::fixed_kernel(fused));
    is(paper::flexible_kernel(fused));
  }
  return work;
}

}  // namespace ocellus::test
