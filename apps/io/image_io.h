// Reads gray images from PNG, PGM, PPM, PBM and JPEG files, and writes PNG, PGM, PPM and PBM files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ocellus/frame.h"

namespace ocellus::app {

inline std::size_t pixels_of(ImageSize size) {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
}

/// The size of the planes of chroma of I420.
inline ImageSize half_of(ImageSize size) {
  return {(size.width + 1) / 2, (size.height + 1) / 2};
}

/// A gray image without padding between rows. Files have 8 or 16 bits.
struct GrayImage {
  ImageSize size;
  PixelFormat format = PixelFormat::kGray8;
  std::vector<std::uint8_t> pixels;

  GrayImage() = default;
  GrayImage(ImageSize image_size, PixelFormat pixel_format);

  std::ptrdiff_t stride() const {
    return static_cast<std::ptrdiff_t>(size.width) * bytes_per_pixel(format);
  }
  /// Brightness on the scale of 8 bits, as the operators use it.
  float brightness(int x, int y) const;
  /// The image as a frame of the library. The image must outlive it.
  Frame view(std::uint64_t sequence, std::int64_t timestamp_ns) const;
};

/// Whether the first bytes, or otherwise the extension, are those of a PNG, PNM or JPEG file.
bool is_image_file(const std::string& path);

/// As many of a file's first bytes as tell its format.
inline constexpr std::size_t kHeadBytes = 16;

/// If the first bytes are those of an image format that read_image does not read, such as GIF, what
/// it is and which formats are read. Otherwise empty.
std::string unread_image(std::string_view head);

/// Reads an image as gray: the luma of color (ocellus/luma.h), or the Y of a JPEG. 16-bit files
/// keep 16 bits. The orientation in the Exif data of a JPEG or PNG is applied. Transparency, and
/// pixels that are not square (JFIF, pHYs), are ignored, which is told on stderr. Throws InputError
/// that names the file and the mistake.
///
/// If `color` is given and the file has color, `color` becomes the red, green and blue planes, with
/// the size and format of the gray image; otherwise it becomes empty.
///
/// Whatever the file holds, memory use beside the images stays below 64 MB: an image has at most
/// 16384x16384 pixels, and no more than the bytes of its file can encode. A JPEG has at most 100
/// scans, and a JPEG that is not baseline has at most 56 MiB of coefficients.
GrayImage read_image(const std::string& path, std::vector<GrayImage>* color = nullptr);

/// Reads an image file as a mask: 1 where a pixel is 128 or more. Throws InputError, also if the
/// size differs from `size`, the size of the file `of`.
std::vector<std::uint8_t> read_mask(const std::string& path, const std::string& of, ImageSize size);

/// Writes an 8-bit RGB image without padding. Throws InputError.
void write_png_rgb(const std::string& path, ImageSize size, const std::uint8_t* rgb);

/// Writes a gray PNG of an 8-bit image. `bits` is 8, or 1, which keeps only black (below 128) and
/// white. With 2 or 4, the file has so many bits per pixel if all pixels are multiples of 85 or 17,
/// else 8. Throws InputError.
void write_png_gray(const std::string& path, const GrayImage& image, int bits);

/// Write an image as PNG, PGM, PPM or PBM, as the extension says. A gray image may have any of
/// these formats, one with color PNG or PPM. PBM needs `bits` 1, which is as in write_png_gray. To
/// "-", standard output, they write PGM or PPM. Throw InputError.
void write_image_gray(const std::string& path, const GrayImage& image, int bits);
void write_image_rgb(const std::string& path, ImageSize size, const std::uint8_t* rgb);

/// The extension of a name in lower case with its dot (".png"), or "".
std::string file_extension(const std::string& path);

}  // namespace ocellus::app
