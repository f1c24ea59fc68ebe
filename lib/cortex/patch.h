// A patch of a frame at the size of the model, with bright ink.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ocellus/cortex.h"

namespace ocellus::detail {

/// Gray levels of 8 bits.
struct PatchView {
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;  ///< bytes from a row to the next one
  int width = 0;              ///< 1 to 16384
  int height = 0;
};

/// Stretches a patch to width x height pixels: each pixel is the mean of the area that it covers,
/// rounded to the nearest. Dark ink is inverted. `out`: rows without gaps.
void draw_patch(const PatchView& patch, CortexInk ink, int width, int height,
                std::uint8_t* out) noexcept;

}  // namespace ocellus::detail
