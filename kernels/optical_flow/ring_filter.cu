// Convolution with a separable spatio-temporal kernel of each pixel's own: equation (2) of Ohmura
// et al. 2011, with the spatial sums kept in a ring.
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/pixels.cuh"

namespace ocellus::cuda {
namespace {

/// Floats from row to row of the image under a tile; odd, against bank conflicts.
__host__ __device__ constexpr int image_row(int nx) {
  return (kTileWidth + nx - 1) | 1;
}

__host__ __device__ constexpr int warp_floats(int nx, int ny) {
  const int image = (kTileHeight + ny - 1) * image_row(nx);
  return (nx + ny) * kTilePixels + (image + 3) / 4 * 4;
}

template <typename T, typename Pixel>
__global__ void __launch_bounds__(kRingThreads)
    ring_filter(const __grid_constant__ RingArguments a) {
  extern __shared__ __align__(16) float shared[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int tile = blockIdx.x * (kRingThreads / 32) + warp;
  float* const spatial = shared + warp * warp_floats(a.nx, a.ny);
  float* const image = spatial + (a.nx + a.ny) * kTilePixels;

  const FrameParams frame = *a.frame;
  const int head = a.state->head;
  const int count = a.state->count;
  const bool bad = a.state->bad != 0;
  if (tile < a.tiles) {
    const int tile_x = tile % a.tiles_x * kTileWidth;
    const int tile_y = tile / a.tiles_x * kTileHeight;
    const int stride = image_row(a.nx);
    const int columns = kTileWidth + a.nx - 1;
    const int rows = kTileHeight + a.ny - 1;
    // Before the image's first tap: reversed, so nx - 1 - nx/2 pixels lie to the left.
    const int left = a.x + tile_x - (a.nx - 1 - a.nx / 2);
    const int top = a.y + tile_y - (a.ny - 1 - a.ny / 2);
    for (int at = lane; at < columns * rows; at += 32) {
      const int row = at / columns;
      const int column = at - row * columns;
      image[row * stride + column] =
          a.scale * pixel_at<Pixel>(frame.image, frame.image_stride,
                                    clamp_to(left + column, a.image_width),
                                    clamp_to(top + row, a.image_height));
    }
    const int x = lane % (kTileWidth / 2) * 2;
    const int y = lane / (kTileWidth / 2);
    const int pairs = a.convolutions * a.terms;
    const int taps = a.nx + a.ny + a.nt;
    const T* bank = static_cast<const T*>(a.bank) +
                    static_cast<std::int64_t>(tile) * pairs * taps * kTilePixels + lane * 2;
    T* ring = static_cast<T*>(a.ring) +
              static_cast<std::int64_t>(tile) * pairs * a.nt * kTilePixels + lane * 2;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int pair = 0; pair < pairs; ++pair) {
      __syncwarp();
      for (int k = 0; k < a.nx + a.ny; ++k)
        *reinterpret_cast<float2*>(spatial + k * kTilePixels + lane * 2) =
            load_pair(bank + k * kTilePixels);
      __syncwarp();
      float2 now = make_float2(0.0f, 0.0f);
      const float* wx = spatial + lane * 2;
      const float* wy = wx + a.nx * kTilePixels;
      for (int j = 0; j < a.ny; ++j) {
        const float* under = image + (y + j) * stride + x;
        float2 row = make_float2(0.0f, 0.0f);
        float first = under[0];
        for (int i = 0; i < a.nx; ++i) {
          const float2 w = *reinterpret_cast<const float2*>(wx + i * kTilePixels);
          const float second = under[i + 1];
          row.x = fmaf(w.x, first, row.x);
          row.y = fmaf(w.y, second, row.y);
          first = second;
        }
        const float2 w = *reinterpret_cast<const float2*>(wy + j * kTilePixels);
        now.x = fmaf(w.x, row.x, now.x);
        now.y = fmaf(w.y, row.y, now.y);
      }
      store_pair(now, ring + head * kTilePixels);

      const T* wt = bank + (a.nx + a.ny) * kTilePixels;
      const float2 w0 = load_pair(wt);
      float2 total = make_float2(w0.x * now.x, w0.y * now.y);
      const float2 standing_in = as_stored<T>(now);
      for (int tau = 1; tau < a.nt; ++tau) {
        const float2 w = load_pair(wt + tau * kTilePixels);
        const float2 past = count == 0
                                ? standing_in
                                : load_pair(ring + ring_slot(head, count, a.nt, tau) * kTilePixels);
        total.x = fmaf(w.x, past.x, total.x);
        total.y = fmaf(w.y, past.y, total.y);
      }
      const bool first_term = pair % a.terms == 0;
      sum.x = first_term ? total.x : sum.x + total.x;
      sum.y = first_term ? total.y : sum.y + total.y;
      if (pair % a.terms == a.terms - 1) {
        const int convolution = pair / a.terms;
        const int out_x = tile_x + x;
        const int out_y = tile_y + y;
        if (a.result.derivatives != nullptr) {
          float* out = a.result.derivatives + convolution * a.result.plane +
                       static_cast<std::int64_t>(out_y) * a.result.stride + out_x;
          store_pair(sum, out);
        } else if (out_y < a.height) {
          float* out = row_at(frame.out[convolution], frame.out_stride, out_y) + out_x;
          if (out_x < a.width) out[0] = bad ? a.result.invalid : sum.x;
          if (out_x + 1 < a.width) out[1] = bad ? a.result.invalid : sum.y;
        }
      }
      bank += taps * kTilePixels;
      ring += a.nt * kTilePixels;
    }
  }
  if (a.outcome == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) finish_frame(a.state, a.outcome, a.nt, gridDim.x);
}

}  // namespace

Kernel<RingArguments> ring_filter_kernel(CoefficientStorage storage, PixelFormat format) noexcept {
  const bool half = storage == CoefficientStorage::kHalf;
  switch (format) {
    case PixelFormat::kGray8:
      return half ? ring_filter<__half, std::uint8_t> : ring_filter<float, std::uint8_t>;
    case PixelFormat::kGray16:
      return half ? ring_filter<__half, std::uint16_t> : ring_filter<float, std::uint16_t>;
    case PixelFormat::kFloat32:
      break;
  }
  return half ? ring_filter<__half, float> : ring_filter<float, float>;
}

std::size_t ring_filter_shared_bytes(const RingArguments& arguments) noexcept {
  return static_cast<std::size_t>(kRingThreads / 32 * warp_floats(arguments.nx, arguments.ny)) *
         sizeof(float);
}

}  // namespace ocellus::cuda
