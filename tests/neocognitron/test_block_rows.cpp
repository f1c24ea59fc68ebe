// What the vector code of the way from a frame to U0 computes, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/layout_builder.h"
#include "neocognitron/block_rows.h"
#include "neocognitron/digit_scene.h"
#include "neocognitron/ink_levels.h"
#include "neocognitron/normalization.h"
#include "support/simd.h"

namespace ocellus::test {
namespace {

constexpr unsigned kSeed = 5;

std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

class VectorCode : public testing::TestWithParam<SimdTarget> {
 protected:
  OnlyTargets only_{GetParam().bit};
};

INSTANTIATE_TEST_SUITE_P(Targets, VectorCode, testing::ValuesIn(simd_targets()),
                         [](const auto& param) { return param.param.name; });

// Fails if a row of U0 that is computed at once differs from its pixels one by one: inside, at the
// borders and outside of the image, with and without averaging.
TEST_P(VectorCode, RowsOfPatchesAreTheirPixels) {
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (const auto& [width, height] :
       {std::pair{1, 1}, {3, 90}, {28, 28}, {65, 40}, {128, 128}, {1024, 9}}) {
    const int stride = width + 5;
    const auto ink = random_bytes(static_cast<std::size_t>(stride * height), kSeed);
    const detail::InkImage image{ink.data(), width, height, stride};
    for (const double step : {0.2, 1.0, 1.7, 9.0}) {
      detail::PatchTransform t;
      t.x0 = width * unit(random);
      t.y0 = height * unit(random);
      t.xx = t.yy = step;
      t.xy = step * (unit(random) - 0.5);
      std::vector<float> u0(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide, -1.0f);
      detail::resample(image, t, u0.data());
      const int samples = detail::samples_per_axis(t);
      const auto at = [&image](int x, int y) { return image.at(x, y); };
      for (int y = 0; y < kNeocognitronSide; ++y)
        for (int x = 0; x < kNeocognitronSide; ++x)
          ASSERT_NEAR(u0[static_cast<std::size_t>(y * kNeocognitronSide + x)],
                      detail::patch_pixel(at, width, height, t, samples, x, y), 2e-6f)
              << x << ", " << y << " of " << width << "x" << height << " at step " << step;
    }
  }
}

// Fails if a pixel is taken for ink on the wrong side of its threshold, or if pixels beyond the
// last one count.
TEST_P(VectorCode, InkIsBelowItsThreshold) {
  for (const int count : {1, 7, 63, 64, 65, 200}) {
    const auto n = static_cast<std::size_t>(count);
    const auto pixels = random_bytes(n, 1);
    auto thresholds = random_bytes(n, 2);
    thresholds[0] = pixels[0];  // not below
    for (const std::uint8_t invert : {0, 255}) {
      std::vector<std::uint64_t> bits((n + 63) / 64, ~std::uint64_t{0});
      detail::find_ink(pixels.data(), invert, thresholds.data(), count, bits.data());
      for (std::size_t i = 0; i < bits.size() * 64; ++i) {
        const bool ink = i < n && (pixels[i] ^ invert) < thresholds[i];
        ASSERT_EQ((bits[i / 64] >> (i % 64) & 1) != 0, ink) << i << " of " << count;
      }
    }
  }
}

// Fails if a level between the centers of blocks is not the interpolated one, or if the levels of a
// row differ from that of each pixel.
TEST_P(VectorCode, LevelsAreInterpolated) {
  std::mt19937 random(kSeed);
  std::uniform_int_distribution<int> level(0, detail::kHighestLevel);
  for (const int bits : {3, 4, 7}) {
    const int side = 1 << bits;
    for (const int columns : {1, 2, 9, 70}) {
      constexpr int kRows = 3;
      const detail::InkGrid grid{columns * side - 3, kRows * side - 5, bits, 1};
      std::vector<std::int16_t> map(static_cast<std::size_t>(columns * kRows));
      for (std::int16_t& value : map) value = static_cast<std::int16_t>(level(random));
      std::vector<std::uint8_t> out(static_cast<std::size_t>(columns * side));
      for (int y = 0; y < grid.height; ++y) {
        const detail::RowPlace place = detail::row_place(grid, y);
        detail::interpolate_blocks(map.data() + place.above * columns,
                                   map.data() + place.below * columns, place, columns, bits, 0,
                                   columns, out.data());
        const double at_y = std::clamp((y + 0.5) / side - 0.5, 0.0, kRows - 1.0);
        const auto top = static_cast<int>(at_y);
        const int bottom = std::min(top + 1, kRows - 1);
        for (int x = 0; x < grid.width; ++x) {
          const double at = std::clamp((x + 0.5) / side - 0.5, 0.0, columns - 1.0);
          const auto left = static_cast<int>(at);
          const int right = std::min(left + 1, columns - 1);
          const auto column = [&](int c) {
            const double above = map[static_cast<std::size_t>(top * columns + c)];
            const double below = map[static_cast<std::size_t>(bottom * columns + c)];
            return above + (below - above) * (at_y - top);
          };
          const double expected = column(left) + (column(right) - column(left)) * (at - left);
          const int found = detail::level_at(grid, detail::LevelMap{map.data(), columns}, x, y);
          // A slope is rounded to a unit for each pixel of half a block.
          ASSERT_NEAR(found, expected, 2 + side / 2) << x << ", " << y << " of " << columns;
          ASSERT_EQ(out[static_cast<std::size_t>(x)], detail::level_pixel(found))
              << x << ", " << y << " of " << columns;
        }
      }
    }
  }
}

struct LevelFrame {
  ImageSize size;
  int window;
  int side;    ///< of a block
  int radius;  ///< of a window, in blocks
};

// Fails if the levels of a window are not those of the statistics of its pixels, at the borders and
// in a last block that is not whole, too, for small and large blocks and both polarities.
TEST_P(VectorCode, LevelsAreThoseOfTheWindow) {
  for (const LevelFrame& c : {LevelFrame{{101, 75}, 72, 8, 4},
                              {{3, 2}, 40, 8, 2},
                              {{301, 40}, 144, 16, 4},
                              {{200, 600}, 512, 64, 3}}) {
    const int width = c.size.width;
    const int height = c.size.height;
    SCOPED_TRACE(width);
    auto pixels = random_bytes(static_cast<std::size_t>(width * height), kSeed);
    // A part is smooth, so that the noise does not decide everywhere.
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width / 2; ++x) {
        std::uint8_t& pixel = pixels[static_cast<std::size_t>(y * width + x)];
        pixel = static_cast<std::uint8_t>(pixel % 8 == 0 ? 60 : 170 + pixel % 5);
      }
    const detail::GrayPlane plane{pixels.data(), width, c.size};
    detail::LayoutBuilder size;
    { const detail::InkLevels probe(c.size, c.window, size); }
    const LaidOutMemory memory(size.bytes());
    detail::LayoutBuilder layout(memory.get());
    detail::InkLevels levels(c.size, c.window, layout);
    const int rows = levels.block_rows();
    ASSERT_EQ(levels.block_side(), c.side);
    ASSERT_EQ(levels.grid().radius, c.radius);
    for (int half = 0; half < detail::InkLevels::kHalves; ++half) levels.measure(plane, half);
    levels.collect(0, rows);
    const auto pixel = [&](int x, int y) {
      return pixels[static_cast<std::size_t>(y * width + x)];
    };
    struct Block {
      double mean = 0.0;
      double square = 0.0;
      double low = 255.0;
      double high = 0.0;
    };
    const auto block = [&](int column, int row) {
      Block result;
      int count = 0;
      for (int y = row * c.side; y < std::min((row + 1) * c.side, height); ++y)
        for (int x = column * c.side; x < std::min((column + 1) * c.side, width); ++x, ++count) {
          const double value = pixel(x, y);
          result.mean += value;
          result.square += value * value;
          result.low = std::min(result.low, value);
          result.high = std::max(result.high, value);
        }
      result.mean /= count;
      result.square /= count;
      return result;
    };
    double votes = 0.0;
    for (const bool light : {false, true}) {
      levels.set_light(light);
      levels.derive(0, rows);
      for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < levels.block_columns(); ++column) {
          // Blocks count alike, whatever their numbers of pixels.
          Block window;
          double noise = 255.0;
          int count = 0;
          for (int v = std::max(0, row - c.radius); v <= std::min(rows - 1, row + c.radius); ++v)
            for (int u = std::max(0, column - c.radius);
                 u <= std::min(levels.block_columns() - 1, column + c.radius); ++u, ++count) {
              const Block one = block(u, v);
              window.mean += one.mean;
              window.square += one.square;
              window.low = std::min(window.low, one.low);
              window.high = std::max(window.high, one.high);
              noise = std::min(noise, std::sqrt(one.square - one.mean * one.mean));
            }
          window.mean /= count;
          window.square /= count;
          const auto [mean, square, low, high] = window;
          const double extreme = light ? high : low;
          const double range = (square - 2.0 * extreme * mean + extreme * extreme) /
                               std::max(std::abs(mean - extreme), 0.5);
          const double darkest = light ? 255.0 - high : low;
          const double background = std::min(255.0, darkest + range);
          const double depth = std::max({0.33 * range, std::min(2.3 * noise, 0.67 * range), 12.7});
          const detail::InkLevel found = levels.level(column, row);
          ASSERT_NEAR(found.background, 128.0 * background, 2.0) << column << ", " << row;
          ASSERT_NEAR(found.noise, 128.0 * noise, 1.01) << column << ", " << row;
          ASSERT_NEAR(found.threshold, 128.0 * std::max(0.0, background - depth), 6.0)
              << column << ", " << row;
          if (!light && high - low >= 25.4 + 4.6 * noise) votes += high + low - 2.0 * mean;
        }
      }
    }
    EXPECT_EQ(levels.ink_is_light(), votes > 0.0) << votes;
  }
}

}  // namespace
}  // namespace ocellus::test
