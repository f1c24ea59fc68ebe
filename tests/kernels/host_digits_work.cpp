#include "kernels/host_work.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/neocognitron/kernels.h"

namespace ocellus::test {

const int kHostResidentBlocks = 0;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  is(cuda::kCopyFrameKernel);
  is(cuda::kFetchKernel);
  is(cuda::kImageContrastKernel);
  is(cuda::kEdgeKernel);
  is(cuda::kNarrowKernel);
  is(cuda::kSimpleKernel);
  is(cuda::kReferenceKernel);
  is(cuda::complex_kernel(1));
  is(cuda::complex_kernel(kMaxFeaturePlanes));
  is(cuda::kReadoutKernel);
  is(cuda::kRowKernel);
  return work;
}

}  // namespace ocellus::test
