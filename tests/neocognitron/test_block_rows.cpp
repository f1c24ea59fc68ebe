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

// Fails if a level between the centers of blocks is not the interpolated one.
TEST_P(VectorCode, LevelsAreInterpolated) {
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> level(0.0f, 255.0f);
  for (const int side : {8, 16, 64}) {
    for (const int columns : {1, 2, 9}) {
      std::vector<float> upper(static_cast<std::size_t>(columns));
      std::vector<float> lower(upper.size());
      for (float& value : upper) value = level(random);
      for (float& value : lower) value = level(random);
      constexpr float kPart = 0.3f;
      std::vector<std::uint8_t> out(static_cast<std::size_t>(columns * side));
      detail::interpolate_blocks(upper.data(), lower.data(), kPart, columns, side, 0, columns,
                                 out.data());
      for (int x = 0; x < columns * side; ++x) {
        const double at = std::clamp((x + 0.5) / side - 0.5, 0.0, columns - 1.0);
        const auto left = static_cast<std::size_t>(at);
        const std::size_t right = std::min(left + 1, upper.size() - 1);
        const auto row = [&](std::size_t c) { return upper[c] + (lower[c] - upper[c]) * kPart; };
        const double expected =
            row(left) + (row(right) - row(left)) * (at - static_cast<double>(left));
        ASSERT_NEAR(out[static_cast<std::size_t>(x)], expected, 1.6) << x << " of " << columns;
      }
    }
  }
}

// Fails if the background of a window is not that of the statistics of its pixels, at the borders
// and in a last block that is not whole, too.
TEST_P(VectorCode, BackgroundIsThatOfTheWindow) {
  constexpr ImageSize kSize{101, 75};
  constexpr int kWindow = 72;  // 9 blocks of 8 pixels
  const auto pixels = random_bytes(static_cast<std::size_t>(kSize.width * kSize.height), kSeed);
  const detail::GrayPlane plane{pixels.data(), kSize.width, kSize};
  detail::LayoutBuilder size;
  { const detail::InkLevels probe(kSize, kWindow, size); }
  const LaidOutMemory memory(size.bytes());
  detail::LayoutBuilder layout(memory.get());
  detail::InkLevels levels(kSize, kWindow, layout);
  const int rows = levels.block_rows();
  for (int half = 0; half < detail::InkLevels::kHalves; ++half) levels.measure(plane, half);
  levels.collect(0, rows);
  levels.set_light(false);
  levels.derive(0, rows);
  const int side = levels.block_side();
  ASSERT_EQ(side, 8);
  struct Sums {
    double mean = 0.0;
    double square = 0.0;
    int darkest = 255;
  };
  // Blocks count alike in a window, as do rows of blocks, whatever their numbers of pixels.
  const auto block = [&](int column, int row) {
    Sums sums;
    int count = 0;
    for (int y = row * side; y < std::min((row + 1) * side, kSize.height); ++y)
      for (int x = column * side; x < std::min((column + 1) * side, kSize.width); ++x, ++count) {
        const int pixel = pixels[static_cast<std::size_t>(y * kSize.width + x)];
        sums.mean += pixel;
        sums.square += pixel * pixel;
        sums.darkest = std::min(sums.darkest, pixel);
      }
    sums.mean /= count;
    sums.square /= count;
    return sums;
  };
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < levels.block_columns(); ++column) {
      Sums window;
      int count = 0;
      for (int y = std::max(0, row - 4); y <= std::min(rows - 1, row + 4); ++y)
        for (int x = std::max(0, column - 4); x <= std::min(levels.block_columns() - 1, column + 4);
             ++x, ++count) {
          const Sums sums = block(x, y);
          window.mean += sums.mean;
          window.square += sums.square;
          window.darkest = std::min(window.darkest, sums.darkest);
        }
      window.mean /= count;
      window.square /= count;
      const double variance = window.square - window.mean * window.mean;
      const double expected =
          std::min(255.0, window.mean + variance / (window.mean - window.darkest));
      // At the center of a block, where it lies between four pixels.
      const int x = column * side + side / 2;
      const int y = row * side + side / 2;
      const double found = 0.25 * (static_cast<double>(levels.background(x, y)) +
                                   static_cast<double>(levels.background(x - 1, y)) +
                                   static_cast<double>(levels.background(x, y - 1)) +
                                   static_cast<double>(levels.background(x - 1, y - 1)));
      // The mean of the four pixels differs from the level of the block by a sixteenth of the
      // differences to its neighbors.
      ASSERT_NEAR(found, expected, 2.0) << column << ", " << row;
    }
  }
}

}  // namespace
}  // namespace ocellus::test
