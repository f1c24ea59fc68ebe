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
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    is(cuda::gray_kernel(format));
    is(cuda::tile_contrast_kernel(format));
  }
  is(cuda::kBlockKernel);
  is(cuda::kWindowKernel);
  is(cuda::kMaskKernel);
  is(cuda::kRunKernel);
  is(cuda::kInkGroupKernel);
  is(cuda::kInkCutKernel);
  is(cuda::kInkCandidateKernel);
  is(cuda::kDrawKernel);
  is(cuda::kImageContrastKernel);
  is(cuda::kEdgeKernel);
  is(cuda::kNarrowKernel);
  is(cuda::kSimpleKernel);
  is(cuda::kReferenceKernel);
  for (const int planes : {1, 32, kMaxFeaturePlanes}) is(cuda::complex_kernel(planes));
  is(cuda::kReadoutKernel);
  is(cuda::kRowKernel);
  is(cuda::kChoiceKernel);
  is(cuda::kTileRecordKernel);
  return work;
}

}  // namespace ocellus::test
