// Digits in other styles, and the distortions that bend images and change strokes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "ocellus/neocognitron_training.h"
#include "support/run.h"
#include "training/distortion.h"

namespace ocellus::test {
namespace {

constexpr int kSide = 28;
constexpr std::size_t kArea = kSide * kSide;

std::vector<std::uint8_t> empty() {
  return std::vector<std::uint8_t>(kArea);
}

/// Full ink in the columns [left, right) and the rows [top, bottom).
void fill(std::vector<std::uint8_t>& image, int left, int top, int right, int bottom) {
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) image[static_cast<std::size_t>(y * kSide + x)] = 255;
}

std::vector<std::uint8_t> one() {
  auto image = empty();
  fill(image, 13, 4, 16, 24);
  return image;
}

std::vector<std::uint8_t> seven() {
  auto image = empty();
  fill(image, 6, 4, 18, 7);
  fill(image, 15, 4, 18, 24);
  return image;
}

std::vector<std::uint8_t> ring() {
  auto image = empty();
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x)
      if (std::abs(std::hypot(x - 13.5, y - 13.5) - 8.0) < 1.5)
        image[static_cast<std::size_t>(y * kSide + x)] = 255;
  return image;
}

void add(LabeledImages& images, const std::vector<std::uint8_t>& image, int label) {
  images.width = images.height = kSide;
  images.ink.insert(images.ink.end(), image.begin(), image.end());
  images.labels.push_back(static_cast<std::uint16_t>(label));
}

std::vector<std::uint8_t> image_of(const LabeledImages& images, std::size_t i) {
  const auto begin = images.ink.begin() + static_cast<std::ptrdiff_t>(i * kArea);
  return {begin, begin + kArea};
}

/// Ink of `drawn` that `plain` does not have, in the columns [left, right) and rows [top, bottom).
int more_ink(const std::vector<std::uint8_t>& drawn, const std::vector<std::uint8_t>& plain,
             int left, int top, int right, int bottom) {
  int sum = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const auto at = static_cast<std::size_t>(y * kSide + x);
      EXPECT_GE(drawn[at], plain[at]) << x << ',' << y;
      sum += drawn[at] - plain[at];
    }
  }
  return sum;
}

// Fails if a 1 loses ink, if a style adds none, or if it adds any that is neither on the left of
// the stem nor at its foot.
TEST(DigitStyles, OnesGetAnUpstrokeOrAFoot) {
  LabeledImages images;
  for (int i = 0; i < 60; ++i) add(images, one(), 1);
  ASSERT_EQ(must(add_digit_styles(images, 1.0, 5)), 60u);
  ASSERT_EQ(images.count(), 120u);
  int upstrokes = 0;
  int feet = 0;
  for (std::size_t i = 60; i < images.count(); ++i) {
    EXPECT_EQ(images.labels[i], 1);
    const auto drawn = image_of(images, i);
    const int left = more_ink(drawn, one(), 0, 0, 13, 20);
    const int foot = more_ink(drawn, one(), 16, 16, kSide, kSide);
    EXPECT_GT(left + foot, 255);
    EXPECT_EQ(more_ink(drawn, one(), 17, 0, kSide, 16), 0);
    upstrokes += left > 255 ? 1 : 0;
    feet += foot > 255 ? 1 : 0;
  }
  EXPECT_GT(upstrokes, 40);
  EXPECT_GT(feet, 10);
  EXPECT_LT(feet, 40);
}

// Fails if the bar does not cross the stem, or does not lie in the middle of it.
TEST(DigitStyles, SevensGetABar) {
  LabeledImages images;
  for (int i = 0; i < 60; ++i) add(images, seven(), 7);
  ASSERT_EQ(must(add_digit_styles(images, 1.0, 5)), 60u);
  int bars = 0;
  for (std::size_t i = 60; i < images.count(); ++i) {
    EXPECT_EQ(images.labels[i], 7);
    const auto drawn = image_of(images, i);
    const int left = more_ink(drawn, seven(), 8, 9, 15, 22);
    const int right = more_ink(drawn, seven(), 18, 7, kSide, 22);
    EXPECT_EQ(more_ink(drawn, seven(), 0, 24, kSide, kSide), 0);
    bars += left > 255 && right > 255 ? 1 : 0;
  }
  EXPECT_GT(bars, 40);
}

// Fails if strokes are drawn into images that have no stem, or into other classes, or if names do
// not decide which classes these are.
TEST(DigitStyles, OnlyPlainOnesAndSevens) {
  LabeledImages images;
  add(images, ring(), 1);
  add(images, ring(), 7);
  add(images, empty(), 1);
  add(images, one(), 4);
  EXPECT_EQ(must(add_digit_styles(images, 1.0, 1)), 0u);
  images.names = {"a", "b", "c", "d", "1"};
  images.labels = {0, 1, 2, 4};
  EXPECT_EQ(must(add_digit_styles(images, 1.0, 1)), 1u);
  EXPECT_EQ(images.labels.back(), 4);
}

// Fails if a drawing depends on the images before it, or not on the seed, or if the share does not
// count.
TEST(DigitStyles, DrawingsDependOnSeedAndIndex) {
  const auto drawn = [](const std::vector<std::uint8_t>& before, double share, std::uint64_t seed) {
    LabeledImages images;
    add(images, before, 3);
    for (int i = 0; i < 100; ++i) add(images, one(), 1);
    EXPECT_TRUE(add_digit_styles(images, share, seed));
    images.ink.erase(images.ink.begin(), images.ink.begin() + 101 * kArea);
    return images.ink;
  };
  EXPECT_EQ(drawn(ring(), 1.0, 2), drawn(empty(), 1.0, 2));
  EXPECT_NE(drawn(ring(), 1.0, 2), drawn(ring(), 1.0, 3));
  EXPECT_EQ(drawn(ring(), 0.0, 2).size(), 0u);
  EXPECT_EQ(drawn(ring(), 2.0, 2).size(), 200 * kArea);
  const std::size_t half = drawn(ring(), 0.5, 2).size() / kArea;
  EXPECT_GT(half, 30u);
  EXPECT_LT(half, 70u);
}

// Fails if a share out of range is taken.
TEST(DigitStyles, TheShareIsChecked) {
  LabeledImages images;
  add(images, one(), 1);
  for (const double share : {-0.1, 4.1, std::nan("")})
    EXPECT_FALSE(add_digit_styles(images, share, 1)) << share;
}

std::vector<float> u0_of(const std::vector<std::uint8_t>& image,
                         const detail::Distortion& distortion) {
  std::vector<float> u0(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
  detail::write_u0({image.data(), kSide, kSide, kSide}, {}, distortion, u0);
  return u0;
}

// Fails if the grid does not displace what lies under it: with one displacement for all points, U0
// moves by whole pixels.
TEST(Distortions, TheGridMovesPixels) {
  const std::vector<float> plain = u0_of(seven(), {});
  detail::Distortion distortion;
  distortion.bends = true;
  for (detail::Distortion::Shift& shift : distortion.grid) shift = {2.0f, -3.0f};
  const std::vector<float> moved = u0_of(seven(), distortion);
  for (int y = 3; y < kNeocognitronSide; ++y)
    for (int x = 0; x + 2 < kNeocognitronSide; ++x)
      ASSERT_NEAR(moved[static_cast<std::size_t>(y * kNeocognitronSide + x)],
                  plain[static_cast<std::size_t>((y - 3) * kNeocognitronSide + x + 2)], 1e-5)
          << x << ',' << y;
}

// Fails if one point of the grid moves pixels beyond its neighbors, or none near it.
TEST(Distortions, APointOfTheGridActsNearIt) {
  const std::vector<float> plain = u0_of(ring(), {});
  detail::Distortion distortion;
  distortion.bends = true;
  constexpr int kAt = 1;  // row and column of the point
  distortion.grid[kAt * detail::Distortion::kGrid + kAt] = {3.0f, 0.0f};
  const std::vector<float> bent = u0_of(ring(), distortion);
  constexpr float kStep = (kNeocognitronSide - 1) / (detail::Distortion::kGrid - 1.0f);
  double near = 0.0;
  for (int y = 0; y < kNeocognitronSide; ++y) {
    for (int x = 0; x < kNeocognitronSide; ++x) {
      const auto at = static_cast<std::size_t>(y * kNeocognitronSide + x);
      const float far = std::max(std::abs(static_cast<float>(x) - kAt * kStep),
                                 std::abs(static_cast<float>(y) - kAt * kStep));
      const double change =
          std::abs(static_cast<double>(bent[at]) - static_cast<double>(plain[at]));
      if (far >= kStep)
        ASSERT_NEAR(change, 0.0, 1e-5) << x << ',' << y;
      else
        near += change;
    }
  }
  EXPECT_GT(near, 5.0);
}

// Fails if strokes do not become wider and narrower by the given pixels at each side.
TEST(Distortions, StrokesChangeTheirWidth) {
  const auto width_with = [](float stroke) {
    detail::Distortion distortion;
    distortion.stroke = stroke;
    const std::vector<float> u0 = u0_of(one(), distortion);
    const auto row =
        u0.begin() + static_cast<std::ptrdiff_t>(kNeocognitronSide / 2) * kNeocognitronSide;
    return std::accumulate(row, row + kNeocognitronSide, 0.0);
  };
  const double plain = width_with(0.0f);
  EXPECT_GT(plain, 5.0);
  EXPECT_NEAR(width_with(1.0f) - plain, 2.0, 0.1);
  EXPECT_NEAR(width_with(-1.0f) - plain, -2.0, 0.1);
  EXPECT_NEAR(width_with(1.5f) - plain, 3.0, 0.15);
}

// Fails if bending and strokes change the random numbers of the other distortions, or if they have
// no effect.
TEST(Distortions, PartsThatAreOffDrawNoNumbers) {
  NeocognitronTraining training;
  std::mt19937_64 a(1);
  const detail::Distortion plain = detail::random_distortion(training, a);
  EXPECT_FALSE(plain.bends);
  EXPECT_EQ(plain.stroke, 0.0f);
  training.bend = 2.0f;
  training.stroke = 1.5f;
  std::mt19937_64 b(1);
  const detail::Distortion all = detail::random_distortion(training, b);
  EXPECT_EQ(all.xx, plain.xx);
  EXPECT_EQ(all.xy, plain.xy);
  EXPECT_TRUE(all.bends);
  EXPECT_NE(all.stroke, 0.0f);
  EXPECT_LE(std::abs(all.stroke), 1.5f);
  float most = 0.0f;
  for (const detail::Distortion::Shift& shift : all.grid)
    most = std::max({most, std::abs(shift.x), std::abs(shift.y)});
  EXPECT_GT(most, 1.0f);
  EXPECT_LE(most, 2.0f);
}

}  // namespace
}  // namespace ocellus::test
