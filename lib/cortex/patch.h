// A patch of a frame at the size of the model, with bright ink, and removal of its slant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/patch_stretch.h"
#include "ocellus/cortex.h"

namespace ocellus::detail {

/// Stretches a patch to width x height pixels. Dark ink is inverted. `out`: rows without gaps.
void draw_patch(const PatchView& patch, CortexInk ink, int width, int height,
                std::uint8_t* out) noexcept;

/// Shears a patch of at most 64x64 pixels, ink bright on 0, along x around the row of its center of
/// mass, so that the second moment of x and y becomes 0. The slope is at most 1. Pixels between two
/// pixels of a row are interpolated, rounded to the nearest. `out`: rows without gaps.
void deslant(const std::uint8_t* patch, std::ptrdiff_t stride, int width, int height,
             std::uint8_t* out) noexcept;

}  // namespace ocellus::detail
