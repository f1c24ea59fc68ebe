// Convolution with spatio-temporal kernels that differ by pixel and are not separable: equation (2)
// of Ohmura et al. 2011 as it is written. A tap is used once in a frame, so the time is that of
// reading the taps. The frames come from the caches.
#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/values.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWarps = kFullThreads / 32;
/// Convolutions that read a pixel together.
constexpr int kTogether = 4;

template <typename Pixel>
__global__ void __launch_bounds__(kFullThreads)
    keep_frame(const __grid_constant__ FullArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x % 32;
  const int y = blockIdx.y * kWarps + threadIdx.x / 32;
  if (y >= a.support.height + a.ny - 1) return;
  const int from_x = clamp_to(a.support.x - (a.nx - 1 - a.nx / 2) + x, a.image.width);
  const int from_y = clamp_to(a.support.y - (a.ny - 1 - a.ny / 2) + y, a.image.height);
  a.kept.base[a.state->head * a.kept.plane + y * a.kept.stride + x] =
      a.scale * pixel_at<Pixel>(a.frame->image, a.frame->image_stride, from_x, from_y);
}

/// Computes two neighboring pixels of kConvolutions convolutions. The pixels of a row of taps are
/// summed on their own, which keeps rounding errors small. `pixels`: in a kept frame, at the first
/// tap.
template <typename T, int kConvolutions>
__device__ __forceinline__ void convolve(const FullArguments& a, const T* taps, const float* pixels,
                                         Values<2> (&sum)[kTogether]) {
  const int head = a.state->head;
  const int count = a.state->count;
  const std::int64_t per_convolution =
      static_cast<std::int64_t>(a.nx) * a.ny * a.frames * kFullWidth;
  for (int tau = 0; tau < a.frames; ++tau) {
    const float* row = pixels + ring_index(head, count, a.frames, tau) * a.kept.plane;
    for (int j = 0; j < a.ny; ++j, row += a.kept.stride) {
      Values<2> part[kConvolutions] = {};
      float left = row[0];
#pragma unroll 5
      for (int i = 0; i < a.nx; ++i, taps += kFullWidth) {
        const float right = row[i + 1];
#pragma unroll
        for (int c = 0; c < kConvolutions; ++c) {
          const Values<2> tap = load_once<2>(taps + c * per_convolution);
          part[c].of[0] = fmaf(tap.of[0], left, part[c].of[0]);
          part[c].of[1] = fmaf(tap.of[1], right, part[c].of[1]);
        }
        left = right;
      }
#pragma unroll
      for (int c = 0; c < kConvolutions; ++c)
#pragma unroll
        for (int p = 0; p < 2; ++p) sum[c].of[p] += part[c].of[p];
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kFullThreads)
    full_filter(const __grid_constant__ FullArguments a) {
  const int lane = threadIdx.x % 32;
  const int x = blockIdx.x * kFullWidth + 2 * lane;
  const int y = blockIdx.y * kWarps + threadIdx.x / 32;
  const bool bad = a.state->bad != 0;
  if (y < a.support.height) {
    const std::int64_t per_convolution =
        static_cast<std::int64_t>(a.nx) * a.ny * a.frames * kFullWidth;
    const T* const tile =
        reinterpret_cast<const T*>(a.bank) +
        (static_cast<std::int64_t>(y) * a.tiles_x + blockIdx.x) * a.convolutions * per_convolution +
        2 * lane;
    const float* const pixels = a.kept.base + y * a.kept.stride + x;
    const bool direct = a.result.base == nullptr;
    for (int first = 0; first < a.convolutions; first += kTogether) {
      const T* const taps = tile + first * per_convolution;
      const int together = min(kTogether, a.convolutions - first);
      Values<2> sum[kTogether] = {};
      if (together == 1)
        convolve<T, 1>(a, taps, pixels, sum);
      else if (together == 2)
        convolve<T, 2>(a, taps, pixels, sum);
      else if (together == 3)
        convolve<T, 3>(a, taps, pixels, sum);
      else
        convolve<T, kTogether>(a, taps, pixels, sum);
      for (int c = 0; c < together; ++c) {
        float* const to =
            direct ? row_at(out_plane<float>(*a.frame, first + c), a.frame->out_stride[0], y)
                   : a.result.base + (first + c) * a.result.plane + y * a.result.stride;
        for (int p = 0; p < 2; ++p)
          if (x + p < a.support.width) to[x + p] = bad && direct ? kBadResult : sum[c].of[p];
      }
    }
  }
  end_frame(a);
}

}  // namespace

Kernel<FullArguments> keep_frame_kernel(PixelFormat format) noexcept {
  return kernel_for<FullArguments>(format, keep_frame<std::uint8_t>, keep_frame<std::uint16_t>,
                                   keep_frame<float>);
}

Kernel<FullArguments> full_filter_kernel(CoefficientStorage storage) noexcept {
  if (storage == CoefficientStorage::kHalf) return full_filter<__half>;
  return full_filter<float>;
}

}  // namespace ocellus::cuda
