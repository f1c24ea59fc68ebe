// Luma of frames with color: what operators compute from, and how it is put back into a picture.
//
// The luma of kYuy2 and kUyvy is their Y, in whatever range it is. The luma of RGB is that of
// BT.601 in the range of the RGB values:
//
//     Y = (R * 19595 / 256 + G * 38470 / 256 + B * 7471 / 256 + 128) / 256
//
// with divisions that round down. It is within 0.52 gray levels of 0.299 R + 0.587 G + 0.114 B.
// Where R, G and B are equal, so is Y. Every backend gives the same bytes.
#pragma once

#include <cstdint>

#include "ocellus/frame.h"

namespace ocellus {

#pragma GCC visibility push(default)  // exported by a shared library

/// The luma of an RGB pixel. The values are 0 to 255.
constexpr std::uint8_t luma_of_rgb(std::uint32_t r, std::uint32_t g, std::uint32_t b) noexcept {
  return static_cast<std::uint8_t>(
      ((r * 19595U >> 8U) + (g * 38470U >> 8U) + (b * 7471U >> 8U) + 128U) >> 8U);
}

/// The same of values from 0 to 65535, as in image files: (R * 19595 + G * 38470 + B * 7471 +
/// 32768) / 65536.
constexpr std::uint16_t luma_of_rgb16(std::uint32_t r, std::uint32_t g, std::uint32_t b) noexcept {
  return static_cast<std::uint16_t>((r * 19595U + g * 38470U + b * 7471U + 32768U) >> 16U);
}

/// Writes the luma of a row of `width` pixels. `format` must have color. Reads
/// row_bytes(format, width) bytes and writes `width` bytes, which may not overlap.
void luma_of_row(const void* row, PixelFormat format, std::uint8_t* luma, int width) noexcept;

/// Writes a row of a picture with another luma: `to` becomes `row` with the luma of `luma`. With
/// kKept, RGB becomes R + d, G + d and B + d, limited to 0 to 255; d is the change of the luma. The
/// Cb and Cr of YUV are copied. With kNeutral, R, G and B are the luma, and Cb and Cr are 128. The
/// unused byte of kBgrx and kRgbx is copied, and so is the Y behind an odd width. `to` may be
/// `row`, but may not overlap it otherwise. Every backend gives the same bytes.
void replace_luma_row(const void* row, PixelFormat format, const std::uint8_t* luma,
                      PictureColor color, void* to, int width) noexcept;

#pragma GCC visibility pop

}  // namespace ocellus
