#include "kernels/core/luma.h"
#include "kernels/image/pixels.cuh"
#include "ocellus/luma.h"

namespace ocellus::cuda {
namespace {

/// The bytes of kLumaPixels pixels with color.
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

/// The pixels of a thread in a row.
struct LumaSpan {
  int x;
  int pixels;  ///< of the image; at most kLumaPixels, 0 or less outside the image
  int bytes;   ///< in a row with color: YUV ends with whole pairs of pixels
};

__device__ inline LumaSpan span_of_thread(PixelFormat format, int width) {
  LumaSpan span;
  span.x = kLumaPixels * static_cast<int>(blockIdx.x * kLumaThreads + threadIdx.x);
  span.pixels = min(kLumaPixels, width - span.x);
  span.bytes = static_cast<int>(row_bytes(format, span.pixels));
  return span;
}

/// Whether rows can be accessed by words.
__device__ inline bool is_aligned(const void* first, std::int64_t stride) {
  return (reinterpret_cast<std::uintptr_t>(first) | static_cast<std::uintptr_t>(stride)) %
             sizeof(std::uint32_t) ==
         0;
}

/// Copies `bytes` of a piece. `by_words`: all of them are words.
template <typename To, typename From>
__device__ inline void copy_piece(To* to, const From* from, int bytes, bool by_words) {
  if (by_words) {
    for (int w = 0; 4 * w < bytes; ++w)
      reinterpret_cast<std::uint32_t*>(to)[w] = reinterpret_cast<const std::uint32_t*>(from)[w];
  } else {
    for (int i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

__global__ void __launch_bounds__(kLumaThreads) luma(const __grid_constant__ LumaArguments a) {
  const FrameParams& frame = *a.frame;
  const LumaSpan span = span_of_thread(a.format, a.width);
  if (span.pixels <= 0) return;
  const bool by_words = span.pixels == kLumaPixels && is_aligned(frame.color, frame.color_stride);
  const std::int64_t offset = static_cast<std::int64_t>(bytes_per_pixel(a.format)) * span.x;
  for (int y = static_cast<int>(blockIdx.y); y < a.height; y += static_cast<int>(gridDim.y)) {
    LumaPiece piece;
    copy_piece(
        piece.bytes,
        row_at(static_cast<const std::uint8_t*>(frame.color), frame.color_stride, y) + offset,
        span.bytes, by_words);
    std::uint8_t* const to = row_at(a.luma, a.luma_stride, y) + span.x;
    std::uint32_t word = 0;
    for (int p = 0; p < span.pixels; ++p)
      word |= static_cast<std::uint32_t>(luma_of(piece, a.format, p)) << (8 * p);
    // Rows of the luma are padded to a multiple of the word.
    *reinterpret_cast<std::uint32_t*>(to) = word;
  }
}

/// Gives pixel `pixel` of a piece another luma.
__device__ inline void replace_luma(LumaPiece& piece, PixelFormat format, int pixel, int gray,
                                    PictureColor color) {
  const int bytes = bytes_per_pixel(format);
  std::uint8_t* const at = piece.bytes + bytes * pixel;
  if (bytes == 2) {
    at[format == PixelFormat::kYuy2 ? 0 : 1] = static_cast<std::uint8_t>(gray);
    return;
  }
  const int change = gray - luma_of(piece, format, pixel);
  for (int c = 0; c < 3; ++c) {
    at[c] = static_cast<std::uint8_t>(
        color == PictureColor::kKept ? min(max(at[c] + change, 0), 255) : gray);
  }
}

__global__ void __launch_bounds__(kLumaThreads)
    put_luma(const __grid_constant__ PutLumaArguments a) {
  constexpr std::uint8_t kNeutralChroma = 128;
  const FrameParams& frame = *a.frame;
  const LumaSpan span = span_of_thread(a.format, a.width);
  if (span.pixels <= 0 || frame.picture == nullptr) return;
  const bool full = span.pixels == kLumaPixels;
  const bool read_words = full && is_aligned(frame.color, frame.color_stride);
  const bool write_words = full && is_aligned(frame.picture, frame.picture_stride);
  const std::int64_t offset = static_cast<std::int64_t>(bytes_per_pixel(a.format)) * span.x;
  const bool is_yuv = bytes_per_pixel(a.format) == 2;
  for (int y = static_cast<int>(blockIdx.y); y < a.height; y += static_cast<int>(gridDim.y)) {
    LumaPiece piece;
    copy_piece(
        piece.bytes,
        row_at(static_cast<const std::uint8_t*>(frame.color), frame.color_stride, y) + offset,
        span.bytes, read_words);
    // The operator wrote it to rows that are padded to a multiple of the word.
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(
        row_at(out_plane<const std::uint8_t>(frame, 0), frame.out_stride[0], y) + span.x);
    for (int p = 0; p < span.pixels; ++p)
      replace_luma(piece, a.format, p, static_cast<int>(word >> (8 * p) & 255U), a.color);
    if (is_yuv && a.color == PictureColor::kNeutral) {
      for (int i = a.format == PixelFormat::kYuy2 ? 1 : 0; i < span.bytes; i += 2)
        piece.bytes[i] = kNeutralChroma;
    }
    copy_piece(row_at(static_cast<std::uint8_t*>(frame.picture), frame.picture_stride, y) + offset,
               piece.bytes, span.bytes, write_words);
  }
}

}  // namespace

const Kernel<LumaArguments> kLumaKernel = luma;
const Kernel<PutLumaArguments> kPutLumaKernel = put_luma;

}  // namespace ocellus::cuda
