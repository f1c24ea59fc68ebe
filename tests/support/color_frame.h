// Frames and pictures with color, and the plain form of what the library makes of their luma.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "ocellus/luma.h"
#include "support/plane.h"

namespace ocellus::test {

inline constexpr PixelFormat kColors[] = {PixelFormat::kYuy2, PixelFormat::kUyvy,
                                          PixelFormat::kBgr,  PixelFormat::kRgb,
                                          PixelFormat::kBgrx, PixelFormat::kRgbx};

inline const char* name_of(PixelFormat format) {
  constexpr const char* kNames[] = {"gray8", "gray16", "float32", "yuy2", "uyvy",
                                    "bgr",   "rgb",    "bgrx",    "rgbx"};
  return kNames[static_cast<std::size_t>(format)];
}

/// Where the bytes of a pixel are, from the definition of each format.
struct Place {
  int bytes;
  int luma;  // of YUV
  int red;   // of RGB
  int blue;
};
inline Place place_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::kYuy2:
      return {2, 0, -1, -1};
    case PixelFormat::kUyvy:
      return {2, 1, -1, -1};
    case PixelFormat::kBgr:
      return {3, -1, 2, 0};
    case PixelFormat::kRgb:
      return {3, -1, 0, 2};
    case PixelFormat::kBgrx:
      return {4, -1, 2, 0};
    default:
      return {4, -1, 0, 2};
  }
}

/// Random pixels in exactly the bytes that they need, so that a sanitizer finds an access beyond
/// them.
class ColorFrame {
 public:
  ColorFrame(ImageSize size, PixelFormat format, unsigned seed, int padding = 0)
      : size_(size), format_(format), stride_(row_bytes(format, size.width) + padding) {
    count_ = static_cast<std::size_t>(stride_ * (size.height - 1) + row_bytes(format, size.width));
    bytes_ = std::make_unique<std::uint8_t[]>(count_);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < count_; ++i) bytes_[i] = static_cast<std::uint8_t>(random() >> 24);
  }

  ImageSize size() const { return size_; }
  PixelFormat format() const { return format_; }
  std::ptrdiff_t stride() const { return stride_; }
  /// Also those between the rows.
  std::vector<std::uint8_t> bytes() const { return {bytes_.get(), bytes_.get() + count_}; }

  const std::uint8_t* row(int y) const { return bytes_.get() + y * stride_; }
  std::uint8_t* row(int y) { return bytes_.get() + y * stride_; }
  Frame frame(std::uint64_t sequence) const {
    Frame made;
    made.data = bytes_.get();
    made.size = size_;
    made.stride = stride_;
    made.format = format_;
    made.sequence = sequence;
    return made;
  }
  /// The frame that an operator must see.
  FrameBuffer gray() const {
    const Place place = place_of(format_);
    FrameBuffer made(size_, PixelFormat::kGray8);
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        const std::uint8_t* const pixel = row(y) + place.bytes * x;
        made.set(x, y,
                 place.luma >= 0 ? pixel[place.luma]
                                 : luma_of_rgb(pixel[place.red], pixel[1], pixel[place.blue]));
      }
    }
    return made;
  }

 private:
  ImageSize size_;
  PixelFormat format_;
  std::ptrdiff_t stride_;
  std::size_t count_ = 0;
  std::unique_ptr<std::uint8_t[]> bytes_;
};

/// The plain form of replace_luma_row: pixel by pixel, without the functions of the library.
inline std::vector<std::uint8_t> picture_row(const std::uint8_t* row, PixelFormat format,
                                             const std::uint8_t* gray, PictureColor color,
                                             int width) {
  const Place place = place_of(format);
  const bool kept = color == PictureColor::kKept;
  std::vector<std::uint8_t> picture(
      row, row + std::ptrdiff_t{place.bytes} * (place.luma >= 0 ? width + width % 2 : width));
  for (std::size_t x = 0; x < picture.size() / static_cast<std::size_t>(place.bytes); ++x) {
    std::uint8_t* const to = &picture[x * static_cast<std::size_t>(place.bytes)];
    if (place.luma >= 0) {
      if (!kept) to[1 - place.luma] = 128;
      if (x < static_cast<std::size_t>(width)) to[place.luma] = gray[x];
      continue;
    }
    const int luma =
        (to[place.red] * 19595 / 256 + to[1] * 38470 / 256 + to[place.blue] * 7471 / 256 + 128) /
        256;
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<std::uint8_t>(kept ? std::clamp(to[c] + gray[x] - luma, 0, 255)
                                             : int{gray[x]});
    }
  }
  return picture;
}

/// All bytes of `memory` when it has got a picture of `frame` with this luma.
inline std::vector<std::uint8_t> picture_bytes(const ColorFrame& memory, const ColorFrame& frame,
                                               const PlaneF& luma, PictureColor color) {
  std::vector<std::uint8_t> bytes = memory.bytes();
  for (int y = 0; y < luma.height; ++y) {
    const std::vector<std::uint8_t> gray(&luma.at(0, y), &luma.at(0, y) + luma.width);
    const std::vector<std::uint8_t> row =
        picture_row(frame.row(y), frame.format(), gray.data(), color, luma.width);
    std::copy(row.begin(), row.end(), bytes.begin() + memory.stride() * y);
  }
  return bytes;
}

}  // namespace ocellus::test
