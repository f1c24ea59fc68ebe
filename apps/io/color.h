// The colors of pictures.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/common/rounding.h"
#include "apps/io/frames.h"

namespace ocellus::app {

/// The bytes of an RGB image without padding. `color` is the red, green and blue planes.
std::vector<std::uint8_t> rgb_of(const std::vector<GrayImage>& color);

/// Writes a plane of half the size, rounded up: the means of up to four values `at(x, y)`.
template <typename At>
void make_half(ImageSize size, const At& at, std::vector<std::uint8_t>& half) {
  half.clear();
  for (int y = 0; y < size.height; y += 2) {
    for (int x = 0; x < size.width; x += 2) {
      float sum = 0.0f;
      float count = 0.0f;
      for (int dy = 0; dy < 2 && y + dy < size.height; ++dy) {
        for (int dx = 0; dx < 2 && x + dx < size.width; ++dx) {
          sum += at(x + dx, y + dy);
          count += 1.0f;
        }
      }
      half.push_back(nearest_byte(double{sum / count}));
    }
  }
}

/// Cb and Cr of BT.601 in full range, with half the size. `rgb(x, y)` gives red, green and blue.
template <typename RgbAt>
void make_chroma(ImageSize size, const RgbAt& rgb, std::vector<std::uint8_t>& u,
                 std::vector<std::uint8_t>& v) {
  const auto difference = [&rgb](int x, int y, std::size_t channel, float scale) {
    const std::array<float, 3> value = rgb(x, y);
    const float luma = 0.299f * value[0] + 0.587f * value[1] + 0.114f * value[2];
    return 128.0f + scale * (value[channel] - luma);
  };
  make_half(
      size, [&](int x, int y) { return difference(x, y, 2, 0.564334f); }, u);
  make_half(
      size, [&](int x, int y) { return difference(x, y, 0, 0.713267f); }, v);
}

/// The same of the red, green and blue planes of an image.
void make_chroma(const std::vector<GrayImage>& color, std::vector<std::uint8_t>& u,
                 std::vector<std::uint8_t>& v);

/// Sets luma and chroma of a picture (BT.601, full range) from the bytes of an RGB image without
/// padding.
void set_luma_and_chroma(InputFrame& picture, ImageSize size, const std::vector<std::uint8_t>& rgb);

/// Changes chroma of limited range to full range.
void widen_chroma(std::vector<std::uint8_t>& chroma);

}  // namespace ocellus::app
