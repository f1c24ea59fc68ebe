#include "kernels/core/luma.h"
#include "kernels/image/pixels.cuh"
#include "ocellus/luma.h"

namespace ocellus::cuda {
namespace {

/// The bytes of kLumaPixels pixels.
union LumaPiece {
  std::uint32_t words[4];
  std::uint8_t bytes[16];
};

__device__ inline std::uint8_t luma_of(const LumaPiece& piece, PixelFormat format, int pixel) {
  const bool red_first = format == PixelFormat::kRgb || format == PixelFormat::kRgbx;
  if (format == PixelFormat::kYuy2) return piece.bytes[2 * pixel];
  if (format == PixelFormat::kUyvy) return piece.bytes[2 * pixel + 1];
  const std::uint8_t* const at = piece.bytes + bytes_per_pixel(format) * pixel;
  return luma_of_rgb(at[red_first ? 0 : 2], at[1], at[red_first ? 2 : 0]);
}

__global__ void __launch_bounds__(kLumaThreads) luma(const __grid_constant__ LumaArguments a) {
  const FrameParams& frame = *a.frame;
  const int x = kLumaPixels * static_cast<int>(blockIdx.x * kLumaThreads + threadIdx.x);
  if (x >= a.width) return;
  const int pixel_bytes = bytes_per_pixel(a.format);
  const bool aligned = (reinterpret_cast<std::uintptr_t>(frame.color) |
                        static_cast<std::uintptr_t>(frame.color_stride)) %
                           sizeof(std::uint32_t) ==
                       0;
  const int pixels = min(kLumaPixels, a.width - x);
  for (int y = static_cast<int>(blockIdx.y); y < a.height; y += static_cast<int>(gridDim.y)) {
    const std::uint8_t* const from =
        row_at(static_cast<const std::uint8_t*>(frame.color), frame.color_stride, y) +
        static_cast<std::int64_t>(pixel_bytes) * x;
    LumaPiece piece;
    if (aligned && pixels == kLumaPixels) {
      for (int w = 0; w < pixel_bytes; ++w)
        piece.words[w] = reinterpret_cast<const std::uint32_t*>(from)[w];
    } else {
      for (int i = 0; i < pixels * pixel_bytes; ++i) piece.bytes[i] = from[i];
    }
    std::uint8_t* const to = row_at(a.luma, a.luma_stride, y) + x;
    std::uint32_t word = 0;
    for (int p = 0; p < pixels; ++p)
      word |= static_cast<std::uint32_t>(luma_of(piece, a.format, p)) << (8 * p);
    // Rows of the luma are padded to a multiple of the word.
    *reinterpret_cast<std::uint32_t*>(to) = word;
  }
}

}  // namespace

Kernel<LumaArguments> luma_kernel() noexcept {
  return luma;
}

}  // namespace ocellus::cuda
