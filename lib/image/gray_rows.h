// Rows of frames as gray levels of 8 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ocellus/frame.h"

namespace ocellus::detail {

/// Writes a row of a frame of 16 bits or of floats from 0 to 255. Values beyond are limited. False
/// if a value is not finite.
inline bool write_gray_row(const Frame& frame, int y, std::uint8_t* to) noexcept {
  const char* const row = static_cast<const char*>(frame.data) + y * frame.stride;
  if (frame.format == PixelFormat::kGray16) {
    const auto* const from = reinterpret_cast<const std::uint16_t*>(row);
    for (int x = 0; x < frame.size.width; ++x) to[x] = static_cast<std::uint8_t>(from[x] >> 8);
    return true;
  }
  const auto* const from = reinterpret_cast<const float*>(row);
  bool finite = true;
  for (int x = 0; x < frame.size.width; ++x) {
    finite = finite && std::isfinite(from[x]);
    // A comparison with NaN is false, so that NaN becomes 0.
    const float limited = from[x] > 0.0f ? std::min(from[x], 255.0f) : 0.0f;
    to[x] = static_cast<std::uint8_t>(std::lround(limited));
  }
  return finite;
}

}  // namespace ocellus::detail
