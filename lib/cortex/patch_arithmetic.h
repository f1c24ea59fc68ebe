// Arithmetic of patches that the backends share, in integers.
#pragma once

#include <cstdint>

namespace ocellus::detail {

/// Pixels of the border of a patch, which has at least two rows and columns.
constexpr int border_pixels(int width, int height) noexcept {
  return 2 * (width + height) - 4;
}

/// Whether the mean of the border is above the middle between the darkest and the brightest pixel.
constexpr bool is_ink_dark(std::int64_t border_sum, int border, int darkest,
                           int brightest) noexcept {
  return 2 * border_sum > std::int64_t{border} * (darkest + brightest);
}

// ---- removal of the slant

/// Sums of ink, and of its products with x and y.
struct InkMoments {
  std::int64_t ink = 0;
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t xy = 0;
  std::int64_t yy = 0;
};

inline constexpr std::int64_t kSlopeOne = 1 << 16;

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}

/// Shift along x for a row of distance 1 from the center of mass, in units of 1 / kSlopeOne.
constexpr std::int64_t slant_of(const InkMoments& m) noexcept {
  // Moments around the center of mass, times ink^2: below 2^53 for 64x64 pixels, so the quotient is
  // the correctly rounded one on every machine.
  const std::int64_t moment_xy = m.xy * m.ink - m.x * m.y;
  const std::int64_t moment_yy = m.yy * m.ink - m.y * m.y;
  if (moment_yy <= 0) return 0;
  const double quotient = static_cast<double>(moment_xy) / static_cast<double>(moment_yy);
  const double limited = quotient < -1.0 ? -1.0 : quotient > 1.0 ? 1.0 : quotient;
  // Rounded to the nearest, halves up. The product is exact.
  const double rounded = limited * static_cast<double>(kSlopeOne) + 0.5;
  const auto whole = static_cast<std::int64_t>(rounded);
  return whole - (rounded < static_cast<double>(whole) ? 1 : 0);
}

/// The shift of a row along x.
struct RowShift {
  int whole = 0;  ///< pixels
  int part = 0;   ///< 0 to 255 of 256
};
constexpr RowShift shift_of_row(const InkMoments& m, std::int64_t slant, int y) noexcept {
  const std::int64_t shift = m.ink > 0 ? floor_divide(slant * (y * m.ink - m.y), m.ink) : 0;
  const std::int64_t whole = floor_divide(shift, kSlopeOne);
  return {static_cast<int>(whole), static_cast<int>((shift - whole * kSlopeOne) >> 8)};
}

/// Pixel x of a shifted row, rounded to the nearest.
constexpr std::uint8_t shifted_pixel(const std::uint8_t* row, int width, const RowShift& shift,
                                     int x) noexcept {
  const auto pixel = [&](int u) { return u >= 0 && u < width ? int{row[u]} : 0; };
  const int u = x + shift.whole;
  return static_cast<std::uint8_t>(
      (pixel(u) * (256 - shift.part) + pixel(u + 1) * shift.part + 128) >> 8);
}

}  // namespace ocellus::detail
