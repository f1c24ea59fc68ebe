// The Lucas-Kanade window and the 2x2 solution: equation (3) of Ohmura et al. 2011.
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/pixels.cuh"
#include "optical_flow/plan.h"

namespace ocellus::cuda {
namespace {

constexpr int kProducts = 5;
constexpr int kThreads = kWindowWidth * kWindowHeight;

__host__ __device__ constexpr int derivative_row(int radius) {
  return kWindowWidth + 2 * radius;
}
__host__ __device__ constexpr int window_rows(int radius) {
  return kWindowHeight + 2 * radius;
}

__global__ void __launch_bounds__(kThreads) window(const __grid_constant__ WindowArguments a) {
  extern __shared__ __align__(16) float shared[];
  const int rows = window_rows(a.radius);
  const int stride = derivative_row(a.radius);
  float* const derivatives = shared;                   // [3][rows][stride]
  float* const filtered = shared + 3 * rows * stride;  // [5][rows][kWindowWidth]
  const int thread = threadIdx.y * kWindowWidth + threadIdx.x;
  const int x0 = blockIdx.x * kWindowWidth;
  const int y0 = blockIdx.y * kWindowHeight;

  for (int at = thread; at < rows * stride; at += kThreads) {
    const int row = at / stride;
    const int column = at - row * stride;
    const float* in = a.derivatives +
                      clamp_to(a.y + y0 + row - a.radius, a.support_height) * a.stride +
                      clamp_to(a.x + x0 + column - a.radius, a.support_width);
    for (int d = 0; d < 3; ++d) derivatives[d * rows * stride + at] = in[d * a.plane];
  }
  __syncthreads();
  for (int row = threadIdx.y; row < rows; row += kWindowHeight) {
    const float* ix = derivatives + row * stride + threadIdx.x;
    const float* iy = ix + rows * stride;
    const float* it = iy + rows * stride;
    float sum[kProducts] = {};
    for (int k = -a.radius; k <= a.radius; ++k) {
      const float weight = a.weight[k < 0 ? -k : k];
      const float dx = ix[k + a.radius];
      const float dy = iy[k + a.radius];
      const float dt = it[k + a.radius];
      const float wx = weight * dx;
      const float wy = weight * dy;
      sum[0] = fmaf(wx, dx, sum[0]);
      sum[1] = fmaf(wx, dy, sum[1]);
      sum[2] = fmaf(wy, dy, sum[2]);
      sum[3] = fmaf(wx, dt, sum[3]);
      sum[4] = fmaf(wy, dt, sum[4]);
    }
    for (int p = 0; p < kProducts; ++p)
      filtered[(p * rows + row) * kWindowWidth + threadIdx.x] = sum[p];
  }
  __syncthreads();

  const FrameParams frame = *a.frame;
  const bool bad = a.state->bad != 0;
  const int x = x0 + threadIdx.x;
  const int y = y0 + threadIdx.y;
  if (x < a.width && y < a.height) {
    float sum[kProducts] = {};
    for (int k = -a.radius; k <= a.radius; ++k) {
      const float weight = a.weight[k < 0 ? -k : k];
      const float* under = filtered + (threadIdx.y + a.radius + k) * kWindowWidth + threadIdx.x;
      for (int p = 0; p < kProducts; ++p)
        sum[p] = fmaf(weight, under[p * rows * kWindowWidth], sum[p]);
    }
    // Eigenvalues of the structure tensor: mean -/+ spread.
    const float mean = 0.5f * (sum[0] + sum[2]);
    const float difference = 0.5f * (sum[0] - sum[2]);
    const float spread = sqrtf(fmaf(difference, difference, sum[1] * sum[1]));
    const float smaller = fmaxf(mean - spread, 0.0f);
    const float larger = mean + spread;
    const float determinant = fmaf(sum[0], sum[2], -sum[1] * sum[1]);
    const float inverse = 1.0f / determinant;
    const float least = fmaxf(detail::kFlat, detail::kSingularRatio * larger);
    const bool valid = !bad && smaller > least && smaller >= a.threshold;
    // The minus of equation (3) is in the order of the differences.
    const float u = fmaf(sum[1], sum[4], -sum[2] * sum[3]) * inverse;
    const float v = fmaf(sum[1], sum[3], -sum[0] * sum[4]) * inverse;
    row_at(frame.out[0], frame.out_stride, y)[x] = valid ? u : a.invalid;
    row_at(frame.out[1], frame.out_stride, y)[x] = valid ? v : a.invalid;
    if (frame.out[2] != nullptr)
      row_at(frame.out[2], frame.out_stride, y)[x] = bad ? 0.0f : smaller;
  }
  __syncthreads();
  if (thread == 0) finish_frame(a.state, a.outcome, a.frames, gridDim.x * gridDim.y);
}

}  // namespace

Kernel<WindowArguments> window_kernel() noexcept {
  return window;
}

std::size_t window_shared_bytes(int radius) noexcept {
  return static_cast<std::size_t>(window_rows(radius)) *
         static_cast<std::size_t>(3 * derivative_row(radius) + kProducts * kWindowWidth) *
         sizeof(float);
}

}  // namespace ocellus::cuda
