// Rows of results on the CPU.
#pragma once

#include "ocellus/frame.h"

namespace ocellus::detail {

/// Writes gray levels as pixels of `format`, rounded and limited to its range.
void write_pixels(const float* gray, PixelFormat format, void* out, int width) noexcept;
/// The same for the sum of four rows.
void write_pixel_sums(const float* const (&rows)[4], PixelFormat format, void* out,
                      int width) noexcept;

}  // namespace ocellus::detail
