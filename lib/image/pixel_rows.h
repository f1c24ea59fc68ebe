// Converts rows of camera pixels to rows of floats in the range of 8 bits.
#pragma once

#include "ocellus/frame.h"

namespace ocellus::detail {

/// Factor from pixel values to 8-bit gray levels.
constexpr float gray_scale(PixelFormat format) {
  return format == PixelFormat::kGray16 ? 255.0f / 65535.0f : 1.0f;
}

/// Writes `width` scaled floats. Returns false if one of them is not finite, which only kFloat32
/// can hold; such values are written unchanged.
bool convert_row(const void* in, PixelFormat format, float* out, int width) noexcept;

/// Copies a row of pixels. Returns false if one is not finite.
bool copy_row(const void* in, PixelFormat format, void* out, int width) noexcept;

}  // namespace ocellus::detail
