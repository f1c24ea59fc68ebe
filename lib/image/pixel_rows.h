// Rows of camera pixels to rows of floats in the range of 8 bits.
#pragma once

#include "ocellus/frame.h"

namespace ocellus::detail {

/// Factor from a pixel's value to gray levels of 8 bits.
constexpr float gray_scale(PixelFormat format) {
  return format == PixelFormat::kGray16 ? 255.0f / 65535.0f : 1.0f;
}

/// Writes `width` floats, scaled. False when one is not finite (kFloat32 only; they are written as
/// they are).
bool convert_row(const void* in, PixelFormat format, float* out, int width) noexcept;

/// Copies a row of pixels. False when one is not finite.
bool copy_row(const void* in, PixelFormat format, void* out, int width) noexcept;

}  // namespace ocellus::detail
