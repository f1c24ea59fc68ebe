#include "apps/cortex/feature_picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "apps/common/rounding.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

namespace {

/// The hypercolumn that is drawn: its pixels in a rectangle, and its rows of weights.
struct DrawnHypercolumn {
  int width;
  int height;
  std::vector<int> pixels;  // of each input, y * width + x
  std::size_t first_row;
};

DrawnHypercolumn middle_of(const TrainedCortex& cortex) {
  const CortexParameters& parameters = cortex.parameters;
  DrawnHypercolumn drawn;
  if (parameters.fields > 0) {
    const auto inputs = static_cast<std::size_t>(parameters.field_inputs);
    drawn.first_row = static_cast<std::size_t>(parameters.fields / 2) * inputs;
    drawn.width = parameters.width;
    drawn.height = parameters.height;
    const auto begin = cortex.fields.begin() + static_cast<std::ptrdiff_t>(drawn.first_row);
    drawn.pixels.assign(begin, begin + parameters.field_inputs);
    return drawn;
  }
  const CorticalLevel& level = parameters.levels[0];
  const int columns = (parameters.width - level.window_width) / level.stride_x + 1;
  const int rows = (parameters.height - level.window_height) / level.stride_y + 1;
  drawn.width = level.window_width;
  drawn.height = level.window_height;
  drawn.pixels.resize(static_cast<std::size_t>(drawn.width) *
                      static_cast<std::size_t>(drawn.height));
  std::iota(drawn.pixels.begin(), drawn.pixels.end(), 0);
  drawn.first_row =
      static_cast<std::size_t>(rows / 2 * columns + columns / 2) * drawn.pixels.size();
  return drawn;
}

}  // namespace

void write_feature_picture(const std::string& path, const TrainedCortex& cortex) {
  constexpr int kColumns = 16;
  constexpr int kScale = 3;
  constexpr int kGap = 3;
  const DrawnHypercolumn drawn = middle_of(cortex);
  const int minicolumns = cortex.parameters.levels[0].minicolumns;
  // The arrays have room for a multiple of 32 minicolumns.
  const auto stride = static_cast<std::size_t>((minicolumns + 31) / 32 * 32);
  const std::int8_t* const weights = cortex.weights.data() + drawn.first_row * stride;

  const int tile_width = drawn.width * kScale + kGap;
  const int tile_height = drawn.height * kScale + kGap;
  const int across = std::min(kColumns, minicolumns);
  const int down = (minicolumns + across - 1) / across;
  GrayImage picture({across * tile_width + kGap, down * tile_height + kGap}, PixelFormat::kGray8);
  std::fill(picture.pixels.begin(), picture.pixels.end(), std::uint8_t{128});
  for (int m = 0; m < minicolumns; ++m) {
    const int left = kGap + m % across * tile_width;
    const int top = kGap + m / across * tile_height;
    for (std::size_t input = 0; input < drawn.pixels.size(); ++input) {
      const double weight =
          weights[input * stride + static_cast<std::size_t>(m)] / double{kCortexWeightScale};
      const std::uint8_t gray = nearest_byte(255.0 / (1.0 + std::exp(-weight)));
      const int x = left + drawn.pixels[input] % drawn.width * kScale;
      const int y = top + drawn.pixels[input] / drawn.width * kScale;
      for (int row = y; row < y + kScale; ++row)
        std::fill_n(picture.pixels.begin() + std::ptrdiff_t{row} * picture.size.width + x, kScale,
                    gray);
    }
  }
  write_png_gray(path, picture, 8);
}

}  // namespace ocellus::app
