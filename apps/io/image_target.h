// The image that a reader of image files fills in, and the checks that all readers make.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/image_io.h"
#include "ocellus/luma.h"

namespace ocellus::app {

/// `Source`: has `fail`, which throws InputError.
template <typename Source>
void check_side(const Source& file, std::uint64_t width, std::uint64_t height) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) {
    file.fail(fmt::format("the image is {}x{}; width and height must be 1 to {}", width, height,
                          kMaxImageSide));
  }
}

/// Checks the size claimed by the header against the bytes that are there, before memory is
/// allocated for the image.
template <typename Source>
void check_bytes(const Source& file, std::uint64_t width, std::uint64_t height, std::uint64_t least,
                 std::uint64_t there) {
  if (there >= least) return;
  file.fail(fmt::format("truncated: {}x{} pixels need at least {} bytes, {} are there", width,
                        height, least, there));
}

inline void store_gray(GrayImage& image, std::size_t index, std::uint32_t gray) {
  if (image.format == PixelFormat::kGray8) {
    image.pixels[index] = static_cast<std::uint8_t>(gray);
    return;
  }
  const auto wide = static_cast<std::uint16_t>(gray);
  std::memcpy(image.pixels.data() + 2 * index, &wide, 2);
}

/// The image that a reader fills in: gray, and red, green and blue if they are asked for.
struct ImageTarget {
  explicit ImageTarget(std::vector<GrayImage>* color_planes) : color(color_planes) {
    if (color != nullptr) color->clear();
  }
  void make(ImageSize size, PixelFormat format, bool has_color) {
    stored = size;
    gray = GrayImage(orientation >= 5 ? ImageSize{size.height, size.width} : size, format);
    if (color != nullptr && has_color) color->assign(3, gray);
  }
  /// `stored_index` counts the pixels as the file stores them.
  void set(std::size_t stored_index, std::uint32_t value) {
    store_gray(gray, at(stored_index), value);
  }
  void set(std::size_t stored_index, std::uint32_t r, std::uint32_t g, std::uint32_t b) {
    const std::uint32_t luma =
        gray.format == PixelFormat::kGray8 ? luma_of_rgb(r, g, b) : luma_of_rgb16(r, g, b);
    set(stored_index, luma, r, g, b);
  }
  void set(std::size_t stored_index, std::uint32_t value, std::uint32_t r, std::uint32_t g,
           std::uint32_t b) {
    const std::size_t index = at(stored_index);
    store_gray(gray, index, value);
    if (color == nullptr) return;
    store_gray((*color)[0], index, r);
    store_gray((*color)[1], index, g);
    store_gray((*color)[2], index, b);
  }

  /// The index in the upright image.
  std::size_t at(std::size_t stored_index) const {
    if (orientation == 1) return stored_index;
    const auto width = static_cast<std::size_t>(stored.width);
    const auto height = static_cast<std::size_t>(stored.height);
    std::size_t x = stored_index % width;
    std::size_t y = stored_index / width;
    // 5 to 8 also exchange rows and columns (Exif 2.3, tag Orientation).
    const bool mirror_x =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool mirror_y =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (mirror_x) x = width - 1 - x;
    if (mirror_y) y = height - 1 - y;
    return orientation >= 5 ? x * height + y : y * width + x;
  }

  GrayImage gray;
  std::vector<GrayImage>* color;
  ImageSize stored;
  int orientation = 1;       ///< 1 to 8 as in Exif; set before `make`
  bool transparent = false;  ///< whether a pixel is not opaque
  /// Pixels in a length along each axis, as the file stores them; 0: the file does not tell.
  std::uint32_t across = 0;
  std::uint32_t down = 0;
};

}  // namespace ocellus::app
