#include "kernels/core/check_frame.h"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(kCheckThreads)
    check_finite(const __grid_constant__ CheckArguments a) {
  const FrameParams& frame = *a.frame;
  bool finite = true;
  for (int y = blockIdx.x; y < a.height; y += gridDim.x)
    for (int x = threadIdx.x; x < a.width; x += kCheckThreads)
      finite = finite && isfinite(pixel_at<float>(frame.image, frame.image_stride, x, y));
  if (!finite) atomicOr(&a.state->bad, 1u);
}

}  // namespace

const Kernel<CheckArguments> kCheckKernel = check_finite;

}  // namespace ocellus::cuda
