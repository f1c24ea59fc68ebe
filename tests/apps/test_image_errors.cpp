// The measures of `ocellus compare image` against formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "apps/measure/image_errors.h"

namespace ocellus::test {
namespace {

using app::GrayPlane;

template <typename Value>
GrayPlane plane(ImageSize size, Value&& value) {
  GrayPlane out{size, {}};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) out.values.push_back(value(x, y));
  return out;
}

// Example failure: the Gaussian is not normalized, or has a wrong width. It must scale a wave of
// frequency w by exp(-sigma^2 w^2 / 2) and leave a constant unchanged.
TEST(ImageErrors, BlurIsAGaussian) {
  constexpr ImageSize kSize{96, 80};
  for (const double sigma : {0.8, 1.5, 3.0}) {
    for (const double w : {0.2, 0.6}) {
      const GrayPlane in = plane(kSize, [&](int x, int) { return 100.0 + 50.0 * std::cos(w * x); });
      const GrayPlane out = app::blurred(in, sigma);
      ASSERT_EQ(out.size, kSize);
      const double gain = std::exp(-0.5 * sigma * sigma * w * w);
      for (int x = 20; x < 76; ++x)
        EXPECT_NEAR(out.values[static_cast<std::size_t>(40 * 96 + x)],
                    100.0 + 50.0 * gain * std::cos(w * x), 0.1);
    }
  }
  // The image is continued by its mirror image, also when the Gaussian is wider than the image.
  const GrayPlane tiny = plane({3, 2}, [](int, int) { return 7.0; });
  for (const double value : app::blurred(tiny, 10.0).values) EXPECT_NEAR(value, 7.0, 1e-9);
}

// Example failure: the peak is 1 instead of 255, the border is included, or the mean includes the
// border of the blurred images.
TEST(ImageErrors, SeenErrorsOfAnOffsetEqualTheFormula) {
  constexpr ImageSize kSize{40, 33};
  const GrayPlane truth = plane(kSize, [](int x, int y) { return 100.0 + x + y; });
  GrayPlane result = plane(kSize, [](int x, int y) { return 105.0 + x + y; });
  const auto seen = app::seen_errors(result, truth, 1.5, app::kSeenBorder);
  ASSERT_TRUE(seen);
  EXPECT_NEAR(seen->psnr, 20.0 * std::log10(255.0 / 5.0), 1e-9);
  EXPECT_NEAR(seen->mean_difference, 5.0 / 255.0, 1e-12);
  // With gray values from -1 to 1, the PSNR is 10 log10(4 / mse).
  EXPECT_NEAR(seen->psnr, 10.0 * std::log10(4.0 / std::pow(2.0 * 5.0 / 255.0, 2.0)), 1e-9);
  // A Gaussian of sigma 1.5 reaches 6 pixels, so an error at the edge has no effect inside the
  // border.
  result.values.front() = 255.0;
  EXPECT_NEAR(app::seen_errors(result, truth, 1.5, app::kSeenBorder)->psnr, seen->psnr, 1e-9);
  EXPECT_FALSE(app::seen_errors(result, truth, 1.5, 17));
  EXPECT_TRUE(std::isinf(app::seen_errors(truth, truth, 1.5, 8)->psnr));
}

// Example failure: lines and noise have similar values. White noise has no direction, except by
// chance, which decreases with the number of blocks. A wave has a single direction.
TEST(ImageErrors, AnisotropyTellsLinesFromNoise) {
  constexpr ImageSize kSize{512, 512};
  const GrayPlane gray = plane(kSize, [](int, int) { return 128.0; });
  std::mt19937 random(1);
  const GrayPlane noise =
      plane(kSize, [&](int, int) { return (random() & 1u) != 0 ? 255.0 : 0.0; });
  const auto white = app::anisotropy(noise, gray);
  ASSERT_TRUE(white);
  EXPECT_EQ(white->blocks, 15 * 15);
  // Blocks that overlap by half under a Hann window count about half as much as separate blocks.
  EXPECT_NEAR(white->mean_db, -10.0 * std::log10(15 * 15) + 1.5, 2.0);
  EXPECT_LT(white->largest_db, -12.0);
  const GrayPlane lines = plane(kSize, [](int x, int y) {
    return 128.0 + 100.0 * std::sin(2.0 * std::numbers::pi * (12 * x + 5 * y) / 64.0);
  });
  EXPECT_GT(app::anisotropy(lines, gray)->largest_db, 10.0);
  EXPECT_FALSE(app::anisotropy(gray, gray)) << "nothing differs";
  EXPECT_FALSE(app::anisotropy(plane({63, 80}, [](int x, int) { return x; }),
                               plane({63, 80}, [](int, int) { return 0; })));
}

}  // namespace
}  // namespace ocellus::test
