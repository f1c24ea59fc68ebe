// The patches of a frame at the size of a model.
#pragma once

#include "image/patch_stretch.h"
#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

/// The pixels of the patches at the size of the model: [patch][row][column].
struct StretchArguments {
  const FrameParams* frame;
  detail::PatchStretch stretch;
  int columns;  ///< patches of a row of the frame
  std::uint8_t* gray;
};
inline constexpr int kStretchThreads = 256;
/// From this number of pixels for one pixel of a patch on, a warp computes the mean.
inline constexpr std::int64_t kWideArea = 16;
constexpr bool is_wide(const detail::PatchStretch& s) noexcept {
  return std::int64_t{s.from_width} * s.from_height >= kWideArea * s.width * s.height;
}
/// For frames of this format. With `wide`, a warp computes a pixel; otherwise a thread does. The
/// grid has the patches along y.
Kernel<StretchArguments> stretch_kernel(PixelFormat format, bool wide) noexcept;

}  // namespace ocellus::cuda
