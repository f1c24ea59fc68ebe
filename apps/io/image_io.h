// Gray images from PNG, PGM/PPM and JPEG files, and PNG output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ocellus/frame.h"

namespace ocellus::app {

/// A gray image of 8 or 16 bits without padding between rows.
struct GrayImage {
  ImageSize size;
  PixelFormat format = PixelFormat::kGray8;
  std::vector<std::uint8_t> pixels;

  GrayImage() = default;
  GrayImage(ImageSize image_size, PixelFormat pixel_format);

  std::ptrdiff_t stride() const {
    return static_cast<std::ptrdiff_t>(size.width) * bytes_per_pixel(format);
  }
  /// Brightness in the range of 8 bits, as the operators see it.
  float brightness(int x, int y) const;
  /// The library's view; lives as long as the image.
  Frame view(std::uint64_t sequence, std::int64_t timestamp_ns) const;
};

/// Whether the first bytes, or else the name's ending, are those of a PNG, PNM or JPEG file.
bool is_image_file(const std::string& path);

/// Reads an image as gray (color by BT.601 luma); 16-bit files keep 16 bits. Beside the image it
/// takes less than 64 MB whatever the file holds: an image has at most 16384x16384 pixels, and not
/// more than its file's bytes can make; a JPEG has at most 100 scans, and one that is not baseline
/// at most 56 MiB of coefficients. Throws InputError that names the file and what is wrong with it.
GrayImage read_image(const std::string& path);

/// One byte for each pixel of an image file: 1 where it has 128 or more. Throws InputError, also
/// when its size is not that of `of`, the file that it belongs to.
std::vector<std::uint8_t> read_mask(const std::string& path, const std::string& of, ImageSize size);

/// Writes 8-bit RGB without padding. Throws InputError.
void write_png_rgb(const std::string& path, ImageSize size, const std::uint8_t* rgb);

/// Writes a gray PNG: 8-bit images of `bits` 8, or 1, which tells black (below 128) from white.
/// Throws InputError.
void write_png_gray(const std::string& path, const GrayImage& image, int bits);

/// Lower-case ending with its dot (".png"), or "".
std::string file_extension(const std::string& path);

}  // namespace ocellus::app
