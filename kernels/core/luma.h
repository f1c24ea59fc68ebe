// The kernel that makes the luma of a frame with color.
#pragma once

#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

struct LumaArguments {
  const FrameParams* frame;
  std::uint8_t* luma;        ///< at a multiple of kLumaPixels
  std::int64_t luma_stride;  ///< bytes, a multiple of kLumaPixels
  PixelFormat format;
  int width;
  int height;
};
/// Pixels of a thread, which follow each other in a row.
inline constexpr int kLumaPixels = 4;
inline constexpr int kLumaThreads = 128;
/// Blocks of the grid: x along a row, y takes rows in turn.
Kernel<LumaArguments> luma_kernel() noexcept;

}  // namespace ocellus::cuda
