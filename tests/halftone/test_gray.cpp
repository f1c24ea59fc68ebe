// The inputs of gray values, which are computed without a division, equal the definition.

#include <gtest/gtest.h>

#include <cstdint>

#include "halftone/plan.h"

namespace ocellus::detail {
namespace {

/// u in steps of 2^-13: (2 g - black - white) / (white - black), limited to -1 and 1, halves
/// rounded up.
std::int32_t defined_input(const GrayLimits& range, std::int64_t gray, bool white_is_one) {
  const std::int64_t span = range.white - range.black;
  std::int64_t twice = 2 * gray - range.black - range.white;
  if (!white_is_one) twice = -twice;
  twice = twice < -span ? -span : twice > span ? span : twice;
  // floor(2^13 twice / span + 1/2) for a dividend that is not negative.
  const std::int64_t above = 2 * kInputOne * (twice + span) + span;
  return static_cast<std::int32_t>(above / (2 * span)) - kInputOne;
}

void expect_defined(const GrayLimits& range, std::int32_t unit, std::int32_t gray) {
  for (const bool white_is_one : {false, true}) {
    const GrayInput how = make_gray_input(range, unit, white_is_one);
    ASSERT_EQ(input_of(how, gray), defined_input(range, std::int64_t{gray} * unit, white_is_one))
        << gray << " of unit " << unit << " in " << range.black << " to " << range.white;
  }
}

// Fails when the multiplication gives a different quotient than the division, for any range with as
// many steps as possible. The test checks next to each of a hundred quotients, where one step of
// the dividend changes the result, and at the ends.
TEST(GrayInput, EqualsTheDefinitionForEverySpan) {
  for (std::int32_t span = 257; span <= 65535; ++span) {
    const GrayLimits range{(65535 - span) / 2, (65535 - span) / 2 + span};
    for (const bool white_is_one : {false, true}) {
      const GrayInput how = make_gray_input(range, 1, white_is_one);
      for (std::int64_t part = 0; part <= 100; ++part) {
        // The first gray value above the midpoint of two inputs, and the one before.
        const std::int64_t u = part * 2 * kInputOne / 100;
        const auto at =
            static_cast<std::int32_t>(range.black + (2 * u + 1) * span / (4 * kInputOne));
        for (std::int32_t gray = at - 1; gray <= at + 1; ++gray) {
          if (gray < 0 || gray > 65535) continue;
          ASSERT_EQ(input_of(how, gray), defined_input(range, gray, white_is_one))
              << gray << " in " << range.black << " to " << range.white;
        }
      }
    }
  }
}

// Fails when a gray value of 8 or 16 bits has a wrong input, in the common ranges and in the
// narrowest and outermost ones.
TEST(GrayInput, EqualsTheDefinitionForEveryGrayValue) {
  for (const GrayLimits& range :
       {GrayLimits{}, GrayLimits{16 * 257, 235 * 257}, GrayLimits{4096, 60160}, GrayLimits{0, 257},
        GrayLimits{65278, 65535}, GrayLimits{1, 65535}, GrayLimits{32767, 33024},
        GrayLimits{12345, 45678}}) {
    for (std::int32_t gray = 0; gray <= 255; ++gray) expect_defined(range, 257, gray);
    for (std::int32_t gray = 0; gray <= 65535; ++gray) expect_defined(range, 1, gray);
    if (HasFatalFailure()) return;
  }
}

// Fails when levels are not spread from black to white, or halves are not rounded up.
TEST(GrayOutput, SpreadsFromBlackToWhite) {
  const GrayLimits limited{16 * 257, 235 * 257};
  EXPECT_EQ(gray_of_level(0, 2, limited, 257, true), 16u);
  EXPECT_EQ(gray_of_level(1, 2, limited, 257, true), 235u);
  EXPECT_EQ(gray_of_level(0, 2, limited, 257, false), 235u);
  EXPECT_EQ(gray_of_level(1, 3, limited, 257, true), 126u) << "125.5";
  EXPECT_EQ(gray_of_level(1, 3, limited, 1, true), 32254u) << "32253.5";
  EXPECT_EQ(float_of_level(1, 3, limited, true), 125.5f);
  EXPECT_EQ(gray_of_level(1, 2, {4096, 60160}, 1, true), 60160u);
  for (int k = 0; k < 256; ++k) {
    EXPECT_EQ(gray_of_level(k, 256, {}, 257, true), static_cast<std::uint32_t>(k));
    EXPECT_EQ(gray_of_level(k, 256, {}, 1, true), static_cast<std::uint32_t>(257 * k));
    EXPECT_EQ(float_of_level(k, 256, {}, true), static_cast<float>(k));
  }
}

}  // namespace
}  // namespace ocellus::detail
