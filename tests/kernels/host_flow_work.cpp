#include "kernels/host_work.h"

#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "kernels/optical_flow/variational_kernels.h"

namespace ocellus::test {

const int kHostResidentBlocks = 0;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    is(cuda::temporal_sums_kernel(format));
    for (const bool normalize : {false, true}) is(cuda::prepare_kernel(format, normalize));
    is(cuda::reduce_kernel(format));
  }
  for (const int radius : {5, 12, 15})
    for (const int threads : {cuda::kPyramidThreads, cuda::kSolveThreadsMany})
      is(cuda::solve_kernel(radius, threads));
  cuda::SmoothArguments smooth{};
  for (const bool coarse : {false, true}) {
    smooth.source.coarse = coarse;
    for (const int radius : {1, 7}) {
      smooth.radius = radius;
      is(cuda::smooth_kernel(smooth));
    }
  }
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32})
    is(cuda::keep_frame_kernel(format));
  for (const CoefficientStorage storage : {CoefficientStorage::kFloat, CoefficientStorage::kHalf})
    is(cuda::full_filter_kernel(storage));
  is(cuda::candidate_kernel());
  for (const int height : {cuda::kLowSystemTile, cuda::kHighSystemTile})
    is(cuda::system_kernel(height));
  for (int v = 0; v < static_cast<int>(std::size(cuda::kSweepVariants)); ++v)
    is(cuda::sweep_kernel(v));
  is(cuda::guided_median_kernel());
  is(cuda::spatial_sums_kernel());
  is(cuda::object_cells_kernel());
  for (const FlowMethod method : {FlowMethod::kKernels, FlowMethod::kPyramid})
    is(cuda::deviation_kernel(method));
  for (const int height : {cuda::kLowWindow, cuda::kHighWindow})
    for (const cuda::WindowSource source :
         {cuda::WindowSource::kKernels, cuda::WindowSource::kFrame})
      for (const int radius : {1, 7}) is(cuda::window_kernel(height, radius, source));
  return work;
}

}  // namespace ocellus::test
