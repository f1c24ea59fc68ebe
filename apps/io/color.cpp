#include "apps/io/color.h"

#include "apps/common/rounding.h"
#include "ocellus/luma.h"

namespace ocellus::app {
std::vector<std::uint8_t> rgb_of(const std::vector<GrayImage>& color) {
  const ImageSize size = color[0].size;
  std::vector<std::uint8_t> rgb;
  rgb.reserve(std::size_t{3} * static_cast<std::size_t>(size.width) *
              static_cast<std::size_t>(size.height));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (const GrayImage& plane : color)
        rgb.push_back(nearest_byte(double{plane.brightness(x, y)}));
  return rgb;
}

std::vector<GrayImage> with_luma(const std::vector<GrayImage>& color, const GrayImage& before,
                                 const GrayImage& after) {
  std::vector<GrayImage> changed(3, GrayImage(before.size, PixelFormat::kGray8));
  std::size_t i = 0;
  for (int y = 0; y < before.size.height; ++y) {
    for (int x = 0; x < before.size.width; ++x, ++i) {
      const float change = after.brightness(x, y) - before.brightness(x, y);
      for (std::size_t c = 0; c < 3; ++c)
        changed[c].pixels[i] = nearest_byte(double{color[c].brightness(x, y) + change});
    }
  }
  return changed;
}

void make_chroma(const std::vector<GrayImage>& color, std::vector<std::uint8_t>& u,
                 std::vector<std::uint8_t>& v) {
  make_chroma(
      color[0].size,
      [&color](int x, int y) {
        return std::array<float, 3>{color[0].brightness(x, y), color[1].brightness(x, y),
                                    color[2].brightness(x, y)};
      },
      u, v);
}

void set_luma_and_chroma(InputFrame& picture, const std::vector<GrayImage>& color) {
  const ImageSize size = color[0].size;
  picture.image = GrayImage(size, PixelFormat::kGray8);
  picture.range = {};
  const std::vector<std::uint8_t> rgb = rgb_of(color);
  luma_of_row(rgb.data(), PixelFormat::kRgb, picture.image.pixels.data(),
              static_cast<int>(picture.image.pixels.size()));
  make_chroma(color, picture.chroma_u, picture.chroma_v);
}

}  // namespace ocellus::app
