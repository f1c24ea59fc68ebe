#include "apps/io/color.h"

#include "apps/common/rounding.h"
#include "ocellus/luma.h"

namespace ocellus::app {

std::vector<std::uint8_t> rgb_of(const std::vector<GrayImage>& color) {
  const ImageSize size = color[0].size;
  std::vector<std::uint8_t> rgb;
  rgb.reserve(std::size_t{3} * pixels_of(size));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (const GrayImage& plane : color)
        rgb.push_back(nearest_byte(double{plane.brightness(x, y)}));
  return rgb;
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

void set_luma_and_chroma(InputFrame& picture, ImageSize size,
                         const std::vector<std::uint8_t>& rgb) {
  picture.image = GrayImage(size, PixelFormat::kGray8);
  picture.range = {};
  luma_of_row(rgb.data(), PixelFormat::kRgb, picture.image.pixels.data(),
              static_cast<int>(picture.image.pixels.size()));
  make_chroma(
      size,
      [&rgb, size](int x, int y) {
        const std::uint8_t* const pixel =
            rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * size.width + x);
        return std::array<float, 3>{static_cast<float>(pixel[0]), static_cast<float>(pixel[1]),
                                    static_cast<float>(pixel[2])};
      },
      picture.chroma_u, picture.chroma_v);
}

void widen_chroma(std::vector<std::uint8_t>& chroma) {
  for (std::uint8_t& value : chroma)
    value = nearest_byte(128.0 + (static_cast<double>(value) - 128.0) * 255.0 / 224.0);
}

}  // namespace ocellus::app
