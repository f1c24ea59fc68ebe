// Painter: writes pixels of an OverlayImage.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ocellus/character_draw.h"
#include "ocellus/overlay_image.h"

namespace ocellus::detail {

struct Rgb {
  int r = 0;
  int g = 0;
  int b = 0;
};

/// Limited-range BT.601, what I420 and NV12 of that size usually hold.
struct Yuv {
  int y = 16;
  int u = 128;
  int v = 128;
};

inline Yuv to_yuv(const Rgb& c) noexcept {
  return {16 + (66 * c.r + 129 * c.g + 25 * c.b + 128) / 256,
          128 + (-38 * c.r - 74 * c.g + 112 * c.b) / 256,
          128 + (112 * c.r - 94 * c.g - 18 * c.b) / 256};
}

/// The inverse of to_yuv.
inline Rgb to_rgb(const Yuv& c) noexcept {
  const int y = 298 * (c.y - 16) + 128;
  const int u = c.u - 128;
  const int v = c.v - 128;
  const auto limited = [](int value) { return std::clamp(value / 256, 0, 255); };
  return {limited(y + 409 * v), limited(y - 100 * u - 208 * v), limited(y + 516 * u)};
}

/// Pixels of a square of the font: the height of a line of text is 1/30 to 1/45 of the shorter
/// side.
inline int text_scale(ImageSize image) noexcept {
  return std::clamp((std::min(image.width, image.height) + 240) / 360, 1, 16);
}

/// Width of lines: 1 pixel at 640x480, 2 at 1920x1080, 3 at 3840x2160.
inline int line_width(ImageSize image) noexcept {
  return (text_scale(image) + 1) / 2;
}

class Painter {
 public:
  explicit Painter(const OverlayImage& image) noexcept : image_(image) {}

  /// A square of `side` pixels whose center is (x, y), or the pixel up and left of the center when
  /// `side` is even. What lies outside the image is cut off.
  void square(int x, int y, int side, const Yuv& color) const noexcept {
    rectangle({x - (side - 1) / 2, y - (side - 1) / 2, side, side}, color);
  }

  /// A filled rectangle. What lies outside the image is cut off. The sides may be 0 or negative.
  void rectangle(const Rect& box, const Yuv& color) const noexcept {
    const int right = end(box.x, box.width, image_.size.width);
    const int bottom = end(box.y, box.height, image_.size.height);
    for (int row = std::max(0, box.y); row < bottom; ++row) {
      for (int column = std::max(0, box.x); column < right; ++column) pixel(column, row, color);
    }
  }

  /// Both ends are within a few arrow lengths of the image, so the walk is short.
  void line(float x0, float y0, float x1, float y1, int side, const Yuv& color) const noexcept {
    const int steps =
        std::max(1, static_cast<int>(std::ceil(std::max(std::fabs(x1 - x0), std::fabs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) {
      const float t = static_cast<float>(i) / static_cast<float>(steps);
      square(static_cast<int>(std::lround(x0 + t * (x1 - x0))),
             static_cast<int>(std::lround(y0 + t * (y1 - y0))), side, color);
    }
  }

 private:
  static int end(int begin, int length, int limit) noexcept {
    const std::int64_t wanted = std::int64_t{begin} + length;
    return static_cast<int>(std::min<std::int64_t>(wanted, limit));
  }

  void pixel(int x, int y, const Yuv& color) const noexcept {
    std::uint8_t* const luma = image_.planes[0] + image_.strides[0] * y;
    switch (image_.format) {
      case OverlayImage::Format::kGray8:
        luma[x] = static_cast<std::uint8_t>(color.y);
        break;
      case OverlayImage::Format::kGray16:
        wide(luma, x, color.y * 257);
        break;
      case OverlayImage::Format::kP010: {
        wide(luma, x, color.y * 256);
        std::uint8_t* const chroma = image_.planes[1] + image_.strides[1] * (y / 2);
        wide(chroma, x / 2 * 2, color.u * 256);
        wide(chroma, x / 2 * 2 + 1, color.v * 256);
        break;
      }
      case OverlayImage::Format::kI420:
        luma[x] = static_cast<std::uint8_t>(color.y);
        image_.planes[1][image_.strides[1] * (y / 2) + x / 2] = static_cast<std::uint8_t>(color.u);
        image_.planes[2][image_.strides[2] * (y / 2) + x / 2] = static_cast<std::uint8_t>(color.v);
        break;
      case OverlayImage::Format::kNv12: {
        luma[x] = static_cast<std::uint8_t>(color.y);
        std::uint8_t* const chroma = image_.planes[1] + image_.strides[1] * (y / 2) + x / 2 * 2;
        chroma[0] = static_cast<std::uint8_t>(color.u);
        chroma[1] = static_cast<std::uint8_t>(color.v);
        break;
      }
      case OverlayImage::Format::kYuy2:
        pair(luma, x, 0, color);
        break;
      case OverlayImage::Format::kUyvy:
        pair(luma, x, 1, color);
        break;
      case OverlayImage::Format::kBgr:
        rgb(luma + 3 * static_cast<std::ptrdiff_t>(x), 2, color);
        break;
      case OverlayImage::Format::kRgb:
        rgb(luma + 3 * static_cast<std::ptrdiff_t>(x), 0, color);
        break;
      case OverlayImage::Format::kBgrx:
        rgb(luma + 4 * static_cast<std::ptrdiff_t>(x), 2, color);
        break;
      case OverlayImage::Format::kRgbx:
        rgb(luma + 4 * static_cast<std::ptrdiff_t>(x), 0, color);
        break;
    }
  }

  /// Number `index` of a row of 16-bit numbers.
  static void wide(std::uint8_t* row, int index, int value) noexcept {
    const auto number = static_cast<std::uint16_t>(value);
    std::memcpy(row + 2 * static_cast<std::ptrdiff_t>(index), &number, sizeof(number));
  }
  /// Pixel x of a row of YUV 4:2:2. `at`: the place of Y in the two bytes of a pixel.
  static void pair(std::uint8_t* row, int x, int at, const Yuv& color) noexcept {
    row[2 * static_cast<std::ptrdiff_t>(x) + at] = static_cast<std::uint8_t>(color.y);
    std::uint8_t* const both = row + 4 * static_cast<std::ptrdiff_t>(x / 2);
    both[1 - at] = static_cast<std::uint8_t>(color.u);
    both[3 - at] = static_cast<std::uint8_t>(color.v);
  }
  /// `red`: the place of red in the bytes of the pixel.
  static void rgb(std::uint8_t* pixel, int red, const Yuv& color) noexcept {
    const Rgb c = to_rgb(color);
    pixel[red] = static_cast<std::uint8_t>(c.r);
    pixel[1] = static_cast<std::uint8_t>(c.g);
    pixel[2 - red] = static_cast<std::uint8_t>(c.b);
  }

  OverlayImage image_;
};

/// Width and height of a line of text, without the gap after it.
ImageSize text_size(std::string_view text, int scale) noexcept;

/// Draws text as draw_text does, with a dark outline.
void outlined_text(std::string_view text, int x, int y, int scale, const OverlayColor& color,
                   const OverlayImage& image) noexcept;

}  // namespace ocellus::detail
