// The kernels that take the luma out of a frame with color and put it into a picture with color.
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
extern const Kernel<LumaArguments> kLumaKernel;

struct PutLumaArguments {
  const FrameParams* frame;  ///< out[0] is the luma of the picture, at a multiple of kLumaPixels
  PixelFormat format;
  PictureColor color;
  int width;
  int height;
};
/// replace_luma_row for the rows of FrameParams::picture; does nothing if that is null. Threads and
/// grid are those of kLumaKernel.
extern const Kernel<PutLumaArguments> kPutLumaKernel;

}  // namespace ocellus::cuda
