#include "kernels/host_flow_work.h"

#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/optical_flow/deviation_kernels.h"
#include "kernels/optical_flow/kernels.h"

namespace ocellus::test {

std::function<void()> host_flow_work(const void* kernel, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned threads, std::size_t shared_bytes,
                                     void** arguments) {
  std::function<void()> work;
  const auto is = [&]<typename Argument>(cuda::Kernel<Argument> known) {
    if (reinterpret_cast<const void*>(known) != kernel) return;
    const Argument argument = *static_cast<const Argument*>(arguments[0]);
    work = [=] {
      simt::launch(known, simt::Index{grid_x, grid_y, grid_z}, threads, shared_bytes, argument);
    };
  };
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32})
    is(cuda::temporal_sums_kernel(format));
  is(cuda::spatial_sums_kernel());
  for (const FlowMethod method : {FlowMethod::kKernels, FlowMethod::kPyramid})
    is(cuda::deviation_kernel(method));
  for (const cuda::WindowShape shape : {cuda::WindowShape::kLow, cuda::WindowShape::kHigh})
    for (const cuda::WindowSource source :
         {cuda::WindowSource::kKernels, cuda::WindowSource::kFrame})
      for (const int radius : {1, 7}) is(cuda::window_kernel(shape, radius, source));
  return work;
}

}  // namespace ocellus::test
