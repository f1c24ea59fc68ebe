// Numbers of floating point as whole numbers, whatever they are: converting one that is out of
// range is undefined.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ocellus::app {

/// The nearest whole number from 0 to 255; NaN becomes 0.
inline std::uint8_t nearest_byte(double value) {
  // A comparison with NaN is false.
  return value > 0.0 ? static_cast<std::uint8_t>(std::lround(std::min(value, 255.0)))
                     : std::uint8_t{0};
}

/// The nearest number of nanoseconds from 0 to the largest one; NaN becomes 0.
inline std::int64_t nearest_nanoseconds(double seconds) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!(seconds > 0.0)) return 0;
  const double ns = seconds * 1e9;
  return ns < static_cast<double>(kMost) ? static_cast<std::int64_t>(std::llround(ns)) : kMost;
}

}  // namespace ocellus::app
