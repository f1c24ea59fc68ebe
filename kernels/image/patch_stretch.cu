#include "kernels/image/patch_stretch.h"

#include <cmath>

#include "kernels/core/block.cuh"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

// The gray levels of write_gray_row() in lib/image/gray_rows.h.
__device__ int gray_level(std::uint8_t value) {
  return value;
}
__device__ int gray_level(std::uint16_t value) {
  return value >> 8;
}
__device__ int gray_level(float value) {
  return static_cast<int>(lroundf(value > 0.0f ? fminf(value, 255.0f) : 0.0f));
}

template <typename Pixel, int kLanes>
__global__ void __launch_bounds__(kStretchThreads)
    stretch_patches(const __grid_constant__ StretchArguments a) {
  const int thread = static_cast<int>(threadIdx.x);
  const int pixel = (static_cast<int>(blockIdx.x) * kStretchThreads + thread) / kLanes;
  const int pixels = a.stretch.width * a.stretch.height;
  // All lanes of a pixel leave together.
  if (pixel >= pixels) return;
  const int patch = static_cast<int>(blockIdx.y);
  const int left = patch % a.columns * a.stretch.from_width;
  const int top = patch / a.columns * a.stretch.from_height;
  const auto gray = [&](int u, int v) {
    return gray_level(row_at(static_cast<const Pixel*>(a.frame->image), a.frame->image_stride,
                             top + v)[left + u]);
  };
  std::int64_t sum = detail::area_sum(a.stretch, pixel % a.stretch.width, pixel / a.stretch.width,
                                      gray, kLanes == 1 ? 0 : thread % kLanes, kLanes);
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (kLanes == 1 || thread % kLanes == 0)
    a.gray[patch * pixels + pixel] = detail::area_mean(a.stretch, sum);
}

template <int kLanes>
Kernel<StretchArguments> stretch_of(PixelFormat format) noexcept {
  return kernel_for<StretchArguments>(format, stretch_patches<std::uint8_t, kLanes>,
                                      stretch_patches<std::uint16_t, kLanes>,
                                      stretch_patches<float, kLanes>);
}

}  // namespace

Kernel<StretchArguments> stretch_kernel(PixelFormat format, bool wide) noexcept {
  return wide ? stretch_of<kWarp>(format) : stretch_of<1>(format);
}

}  // namespace ocellus::cuda
