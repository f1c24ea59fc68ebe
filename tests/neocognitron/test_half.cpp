#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "neocognitron/half.h"

namespace ocellus::test {
namespace {

TEST(Half, EveryNumberSurvives) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float value = detail::float_from_half(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(detail::half_from_float(value), bits) << value;
    ASSERT_EQ(detail::float_from_half(static_cast<std::uint16_t>(bits | 0x8000)), -value);
    if (bits > 0) {
      ASSERT_EQ(detail::half_from_float(-value), bits | 0x8000) << -value;
    }
    // Numbers ascend with their bits.
    if (bits > 0) {
      ASSERT_GT(value, detail::float_from_half(static_cast<std::uint16_t>(bits - 1)));
    }
  }
  EXPECT_EQ(detail::float_from_half(0x3c00), 1.0f);
  EXPECT_EQ(detail::float_from_half(0x0001), std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(detail::float_from_half(0x7c00)));
  EXPECT_TRUE(std::isnan(detail::float_from_half(0x7e00)));
}

// Fails when a number that no half holds is converted as it is, which is undefined.
TEST(Half, NumbersBeyondTheRangeAreLimited) {
  for (const float large : {65519.0f, 1e6f, HUGE_VALF}) {
    EXPECT_EQ(detail::half_from_float(large), 0x7bff) << large;
    EXPECT_EQ(detail::half_from_float(-large), 0xfbff) << large;
  }
  EXPECT_EQ(detail::half_from_float(NAN), 0);
  EXPECT_EQ(detail::half_from_float(-0.0f), 0);
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7c00; ++bits) {
    const float low = detail::float_from_half(static_cast<std::uint16_t>(bits));
    const float high = detail::float_from_half(static_cast<std::uint16_t>(bits + 1));
    const float middle = 0.5f * (low + high);
    ASSERT_EQ(detail::half_from_float(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(detail::half_from_float(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(detail::half_from_float(middle), bits + bits % 2);
  }
}

}  // namespace
}  // namespace ocellus::test
