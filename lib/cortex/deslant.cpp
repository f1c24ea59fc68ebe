#include "cortex/deslant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ocellus::detail {
namespace {

constexpr std::int64_t kSlopeOne = 1 << 16;

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}

}  // namespace

void deslant(const std::uint8_t* patch, std::ptrdiff_t stride, int width, int height,
             std::uint8_t* out) noexcept {
  // Sums of ink and of its products with x and y.
  std::int64_t ink = 0;
  std::int64_t sum_x = 0;
  std::int64_t sum_y = 0;
  std::int64_t sum_xy = 0;
  std::int64_t sum_yy = 0;
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* const row = patch + y * stride;
    int row_ink = 0;
    int row_x = 0;
    for (int x = 0; x < width; ++x) {
      row_ink += row[x];
      row_x += row[x] * x;
    }
    ink += row_ink;
    sum_x += row_x;
    sum_y += std::int64_t{row_ink} * y;
    sum_xy += std::int64_t{row_x} * y;
    sum_yy += std::int64_t{row_ink} * y * y;
  }
  // Moments around the center of mass, times ink^2: below 2^53 for 64x64 pixels, so the quotient is
  // the correctly rounded one on every machine.
  const std::int64_t moment_xy = sum_xy * ink - sum_x * sum_y;
  const std::int64_t moment_yy = sum_yy * ink - sum_y * sum_y;
  std::int64_t slope = 0;
  if (moment_yy > 0) {
    const double quotient =
        std::clamp(static_cast<double>(moment_xy) / static_cast<double>(moment_yy), -1.0, 1.0);
    slope = static_cast<std::int64_t>(std::floor(quotient * static_cast<double>(kSlopeOne) + 0.5));
  }
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* const row = patch + y * stride;
    std::uint8_t* const to = out + static_cast<std::ptrdiff_t>(y) * width;
    const std::int64_t shift = ink > 0 ? floor_divide(slope * (y * ink - sum_y), ink) : 0;
    const auto whole = static_cast<int>(floor_divide(shift, kSlopeOne));
    const auto part = static_cast<int>((shift - whole * kSlopeOne) >> 8);  // of 256
    const auto pixel = [&](int x) { return x >= 0 && x < width ? int{row[x]} : 0; };
    for (int x = 0; x < width; ++x) {
      to[x] = static_cast<std::uint8_t>(
          (pixel(x + whole) * (256 - part) + pixel(x + whole + 1) * part + 128) >> 8);
    }
  }
}

}  // namespace ocellus::detail
