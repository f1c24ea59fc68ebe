// Convolution with spatio-temporal kernels that are the same for all pixels: first the sums over
// time, which several kernels share, then separable filters.
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/pixels.cuh"

namespace ocellus::cuda {
namespace {

template <typename Pixel>
__global__ void __launch_bounds__(kTemporalWidth* kTemporalHeight)
    temporal_sums(const __grid_constant__ TemporalArguments a) {
  const int x = blockIdx.x * kTemporalWidth + threadIdx.x;
  const int y = blockIdx.y * kTemporalHeight + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const int head = a.state->head;
  const int count = a.state->count;
  const FrameParams& frame = *a.frame;
  const Pixel newest = reinterpret_cast<const Pixel*>(static_cast<const char*>(frame.image) +
                                                      (a.y + y) * frame.image_stride)[a.x + x];
  Pixel* kept = static_cast<Pixel*>(a.kept) + y * a.kept_stride + x;
  const std::int64_t slot = a.kept_stride * a.height;
  if (blockIdx.z == 0) kept[head * slot] = newest;

  const int first = blockIdx.z * kTemporalProfiles;
  const int profiles = min(kTemporalProfiles, a.profiles - first);
  float sum[kTemporalProfiles] = {};
  for (int tau = 0; tau < a.nt; ++tau) {
    const int age = min(tau, count);
    const float value =
        static_cast<float>(age == 0 ? newest : kept[ring_slot(head, count, a.nt, age) * slot]);
#pragma unroll
    for (int p = 0; p < kTemporalProfiles; ++p)
      if (p < profiles) sum[p] = fmaf(__ldg(&a.taps->temporal[first + p][tau]), value, sum[p]);
  }
  float* out = a.sums + first * a.sums_plane + y * a.sums_stride + x;
#pragma unroll
  for (int p = 0; p < kTemporalProfiles; ++p)
    if (p < profiles) out[p * a.sums_plane] = sum[p];
}

__global__ void __launch_bounds__(kSpatialWidth* kSpatialHeight)
    spatial_sums(const __grid_constant__ SpatialArguments a) {
  __shared__ float filtered[(kSpatialHeight + kMaxKernelTaps - 1) * kSpatialWidth];
  const int x = blockIdx.x * kSpatialWidth + threadIdx.x;
  const int y0 = blockIdx.y * kSpatialHeight;
  const int y = y0 + threadIdx.y;
  const int left = a.nx - 1 - a.nx / 2;
  const int above = a.ny - 1 - a.ny / 2;
  const int rows = kSpatialHeight + a.ny - 1;
  const FrameParams frame = *a.frame;
  const bool bad = a.state->bad != 0;
  const bool inside = x < a.width && y < a.height;
  int horizontal = -1;
  for (int k = 0; k < a.kernels; ++k) {
    if (a.taps->horizontal_of[k] != horizontal) {
      horizontal = a.taps->horizontal_of[k];
      const float* sums = a.sums + a.taps->temporal_of[horizontal] * a.sums_plane;
      __syncthreads();
      for (int row = threadIdx.y; row < rows; row += kSpatialHeight) {
        const float* in =
            sums + (clamp_to(a.y + y0 + row - above, a.image_height) - a.reach_y) * a.sums_stride -
            a.reach_x;
        float sum = 0.0f;
        // Rows and columns that no result of this block needs may lie outside the sums.
        if (x < a.width && y0 + row < a.height + a.ny - 1) {
          for (int i = 0; i < a.nx; ++i)
            sum = fmaf(__ldg(&a.taps->horizontal[horizontal][i]),
                       in[clamp_to(a.x + x + i - left, a.image_width)], sum);
        }
        filtered[row * kSpatialWidth + threadIdx.x] = sum;
      }
      __syncthreads();
    }
    if (!inside) continue;
    float sum = 0.0f;
    for (int j = 0; j < a.ny; ++j)
      sum = fmaf(__ldg(&a.taps->vertical[k][j]),
                 filtered[(threadIdx.y + j) * kSpatialWidth + threadIdx.x], sum);
    const int convolution = a.taps->convolution_of[k];
    const bool more = k > 0 && a.taps->convolution_of[k - 1] == convolution;
    float* out = a.result.derivatives != nullptr
                     ? a.result.derivatives + convolution * a.result.plane + y * a.result.stride + x
                     : row_at(frame.out[convolution], frame.out_stride, y) + x;
    *out = bad && a.result.derivatives == nullptr ? a.result.invalid : more ? *out + sum : sum;
  }
  if (a.outcome == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    finish_frame(a.state, a.outcome, a.nt, gridDim.x * gridDim.y);
}

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

Kernel<TemporalArguments> temporal_sums_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return temporal_sums<std::uint8_t>;
    case PixelFormat::kGray16:
      return temporal_sums<std::uint16_t>;
    case PixelFormat::kFloat32:
      break;
  }
  return temporal_sums<float>;
}

Kernel<SpatialArguments> spatial_sums_kernel() noexcept {
  return spatial_sums;
}

Kernel<CheckArguments> check_kernel() noexcept {
  return check_finite;
}

}  // namespace ocellus::cuda
