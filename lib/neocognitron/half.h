// Numbers of IEEE 754 binary16 as they stand in model files.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ocellus::detail {

inline constexpr float kMostHalf = 65504.0f;

/// The nearest number from -65504 to 65504, ties to even; NaN becomes 0.
inline std::uint16_t half_from_float(float value) noexcept {
  if (value < 0.0f) return static_cast<std::uint16_t>(0x8000 | half_from_float(-value));
  // A comparison with NaN is false.
  if (!(value > 0.0f)) return 0;
  value = std::min(value, kMostHalf);
  int exponent = 0;
  std::frexp(value, &exponent);
  // Numbers near `value` are multiples of 2^spacing.
  const int spacing = std::max(exponent - 11, -24);
  const float multiple = std::nearbyint(std::ldexp(value, -spacing));
  // A multiple of 2048 is 1024 of the next spacing: the carry into the exponent is right.
  const int carried = static_cast<int>(multiple);
  return static_cast<std::uint16_t>(((spacing + 24) << 10) + carried);
}

/// Also of a number below 0, infinite or NaN, as a damaged file may have it.
inline float float_from_half(std::uint16_t half) noexcept {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  float value = 0.0f;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VALF : NAN;
  } else if (exponent == 0) {
    value = static_cast<float>(fraction) * 0x1p-24f;
  } else {
    // The exponent is biased by 15 here, by 127 in a float.
    const auto bits = static_cast<std::uint32_t>(half & 0x7fff) << 13;
    value = std::bit_cast<float>(bits + (std::uint32_t{127 - 15} << 23));
  }
  return (half & 0x8000) != 0 ? -value : value;
}

}  // namespace ocellus::detail
