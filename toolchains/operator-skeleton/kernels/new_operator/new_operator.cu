#include "kernels/image/pixels.cuh"
#include "kernels/new_operator/kernels.h"

namespace ocellus::cuda {
namespace {

template <typename Pixel>
__device__ Pixel mean_at(const NewOperatorArguments& a, int x, int y) {
  const detail::NewOperatorPlan& plan = a.plan;
  detail::NewOperatorSum<Pixel> sum = 0;
  // In the order of the CPU, so that sums of floats are the same.
  for (int dx = -plan.radius; dx <= plan.radius; ++dx) {
    const int column = detail::new_operator_position(x + dx, plan.size.width, plan.border);
    if (column < 0) continue;
    detail::NewOperatorSum<Pixel> column_sum = 0;
    for (int dy = -plan.radius; dy <= plan.radius; ++dy) {
      const int row = detail::new_operator_position(y + dy, plan.size.height, plan.border);
      if (row < 0) continue;
      column_sum +=
          row_at(static_cast<const Pixel*>(a.frame->image), a.frame->image_stride, row)[column];
    }
    sum += column_sum;
  }
  const int side = 2 * plan.radius + 1;
  return detail::new_operator_mean<Pixel>(sum, side * side);
}

template <typename Pixel>
__global__ void __launch_bounds__(kNewOperatorBlockX* kNewOperatorBlockY)
    write_means(const __grid_constant__ NewOperatorArguments a) {
  const int x = static_cast<int>(blockIdx.x) * kNewOperatorBlockX + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kNewOperatorBlockY + static_cast<int>(threadIdx.y);
  if (x < a.plan.size.width && y < a.plan.size.height) {
    const bool bad = a.state->bad != 0;
    row_at(out_plane<Pixel>(*a.frame, 0), a.frame->out_stride[0], y)[x] =
        bad ? Pixel{0} : mean_at<Pixel>(a, x, y);
  }
  __syncthreads();
  constexpr int kFrames = 1;  // that a result is computed from
  if (threadIdx.x == 0 && threadIdx.y == 0)
    finish_frame(a.state, a.outcome, kFrames, gridDim.x * gridDim.y);
}

}  // namespace

Kernel<NewOperatorArguments> new_operator_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return write_means<std::uint8_t>;
    case PixelFormat::kGray16:
      return write_means<std::uint16_t>;
    default:  // kFloat32; no color comes here
      break;
  }
  return write_means<float>;
}

}  // namespace ocellus::cuda
