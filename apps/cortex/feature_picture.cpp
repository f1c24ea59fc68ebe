#include "apps/cortex/feature_picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "apps/io/image_io.h"

namespace ocellus::app {

void write_feature_picture(const std::string& path, const TrainedCortex& cortex) {
  constexpr int kColumns = 16;
  constexpr int kScale = 3;
  constexpr int kGap = 3;
  const CorticalLevel& level = cortex.parameters.levels[0];
  const int columns = (cortex.parameters.width - level.window_width) / level.stride_x + 1;
  const int rows = (cortex.parameters.height - level.window_height) / level.stride_y + 1;
  const auto inputs =
      static_cast<std::size_t>(level.window_width) * static_cast<std::size_t>(level.window_height);
  // The arrays have room for a multiple of 32 minicolumns.
  const auto stride = static_cast<std::size_t>((level.minicolumns + 31) / 32 * 32);
  const auto middle = static_cast<std::size_t>(rows / 2 * columns + columns / 2);
  const std::int8_t* const weights = cortex.weights.data() + middle * inputs * stride;

  const int tile_width = level.window_width * kScale + kGap;
  const int tile_height = level.window_height * kScale + kGap;
  const int across = std::min(kColumns, level.minicolumns);
  const int down = (level.minicolumns + across - 1) / across;
  GrayImage picture({across * tile_width + kGap, down * tile_height + kGap}, PixelFormat::kGray8);
  std::fill(picture.pixels.begin(), picture.pixels.end(), std::uint8_t{128});
  for (int m = 0; m < level.minicolumns; ++m) {
    const int left = kGap + m % across * tile_width;
    const int top = kGap + m / across * tile_height;
    for (int y = 0; y < level.window_height * kScale; ++y) {
      for (int x = 0; x < level.window_width * kScale; ++x) {
        const auto input = static_cast<std::size_t>(y / kScale * level.window_width + x / kScale);
        const double weight =
            weights[input * stride + static_cast<std::size_t>(m)] / double{kCortexWeightScale};
        const double probability = 1.0 / (1.0 + std::exp(-weight));
        picture.pixels[static_cast<std::size_t>(top + y) *
                           static_cast<std::size_t>(picture.size.width) +
                       static_cast<std::size_t>(left + x)] =
            static_cast<std::uint8_t>(std::lround(255.0 * probability));
      }
    }
  }
  write_png_gray(path, picture, 8);
}

}  // namespace ocellus::app
