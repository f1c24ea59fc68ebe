// Restoration by recursion: continues the image, runs small supports, adds the quadrants.
#include "kernels/restoration/recursion.cuh"

#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

/// Pixels that a thread reads before it writes, because reads wait for memory.
constexpr int kAtOnce = 4;

template <typename Pixel>
__global__ void __launch_bounds__(kContinueThreads)
    continue_image(const __grid_constant__ ContinueArguments a) {
  const int row = static_cast<int>(blockIdx.x);
  const int y = detail::border_position(row - a.to.margin_y, a.size.height, a.border);
  constexpr float kGray = std::is_same_v<Pixel, std::uint16_t> ? 255.0f / 65535.0f : 1.0f;
  float* const out = a.to.pixels + static_cast<std::size_t>(row) * a.to.width;
  for (int first = threadIdx.x; first < a.to.width; first += kAtOnce * kContinueThreads) {
    float pixels[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int column = first + n * kContinueThreads;
      const int x = detail::border_position(column - a.to.margin_x, a.size.width, a.border);
      const bool inside = column < a.to.width && x >= 0 && y >= 0;
      pixels[n] =
          inside ? kGray * pixel_at<Pixel>(a.frame->image, a.frame->image_stride, x, y) : 0.0f;
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n)
      if (first + n * kContinueThreads < a.to.width) out[first + n * kContinueThreads] = pixels[n];
  }
}

template <typename Pixel>
__global__ void __launch_bounds__(kAddThreads)
    add_quadrants(const __grid_constant__ AddQuadrantsArguments a) {
  const int y = static_cast<int>(blockIdx.x);
  const bool bad = a.state->bad != 0;
  Pixel* const out = row_at(out_plane<Pixel>(*a.frame, 0), a.frame->out_stride[0], y);
  const float* const in = a.planes + static_cast<std::size_t>(y) * a.pitch;
  for (int first = threadIdx.x; first < a.size.width; first += kAtOnce * kAddThreads) {
    float sums[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int x = min(first + n * kAddThreads, a.size.width - 1);
      sums[n] = (in[x] + in[a.plane_pixels + x]) +
                (in[2 * a.plane_pixels + x] + in[3 * a.plane_pixels + x]);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int x = first + n * kAddThreads;
      if (x < a.size.width) out[x] = bad ? Pixel{0} : detail::pixel_of<Pixel>(sums[n]);
    }
  }
  __syncthreads();
  constexpr int kFrames = 1;  // that a result is computed from
  if (threadIdx.x == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

Kernel<ContinueArguments> continue_kernel(PixelFormat format) noexcept {
  return kernel_for<ContinueArguments>(format, continue_image<std::uint8_t>,
                                       continue_image<std::uint16_t>, continue_image<float>);
}

Kernel<AddQuadrantsArguments> add_quadrants_kernel(PixelFormat format) noexcept {
  return kernel_for<AddQuadrantsArguments>(format, add_quadrants<std::uint8_t>,
                                           add_quadrants<std::uint16_t>, add_quadrants<float>);
}

RecursionVariant recursion_variant(int support) noexcept {
  using recursion::variant;
  if (support <= 3) return variant<3>();
  if (support <= 5) return variant<5>();
  if (support <= 7) return variant<7>();
  if (support <= 9) return variant<9>();
  if (support <= 11) return variant<11>();
  return large_recursion_variant(support);
}

}  // namespace ocellus::cuda
