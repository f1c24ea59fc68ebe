// A rectangle of gray levels at another size, by area means, in integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus::detail {

/// Gray levels of 8 bits.
struct PatchView {
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;  ///< bytes from a row to the next one
  int width = 0;              ///< 1 to 16384
  int height = 0;
};

/// Rows [begin, end) of the patch at width x height pixels: each pixel is the mean of the area that
/// it covers, rounded to the nearest. `out`: all rows, without gaps.
void stretch_patch(const PatchView& patch, int width, int height, int begin, int end,
                   std::uint8_t* out) noexcept;

// ---- what the backends share

/// A rectangle of pixels that is stretched to `width` x `height` pixels.
struct PatchStretch {
  int from_width = 0;  ///< 1 to 16384
  int from_height = 0;
  int width = 0;
  int height = 0;
};

/// The sum of the gray levels that pixel (x, y) of the result covers, of every `step`th column
/// from the `first` one on. gray(u, v): of the pixel in column u and row v. Lengths are in units of
/// 1/width of a pixel along x, and of 1/height along y, so that all of them are integers.
template <typename Gray>
constexpr std::int64_t area_sum(const PatchStretch& s, int x, int y, const Gray& gray, int first,
                                int step) noexcept {
  const auto least = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  const auto most = [](std::int64_t a, std::int64_t b) { return a < b ? b : a; };
  const std::int64_t left = std::int64_t{x} * s.from_width;
  const std::int64_t right = left + s.from_width;
  const std::int64_t top = std::int64_t{y} * s.from_height;
  const std::int64_t bottom = top + s.from_height;
  const auto x_end = static_cast<int>((right + s.width - 1) / s.width);
  const auto y_end = static_cast<int>((bottom + s.height - 1) / s.height);
  std::int64_t sum = 0;
  for (auto v = static_cast<int>(top / s.height); v < y_end; ++v) {
    std::int64_t of_row = 0;
    for (int u = static_cast<int>(left / s.width) + first; u < x_end; u += step) {
      const std::int64_t covered =
          least(right, std::int64_t{u + 1} * s.width) - most(left, std::int64_t{u} * s.width);
      of_row += covered * gray(u, v);
    }
    sum += of_row *
           (least(bottom, std::int64_t{v + 1} * s.height) - most(top, std::int64_t{v} * s.height));
  }
  return sum;
}

/// The mean from the sum of all columns, rounded to the nearest.
constexpr std::uint8_t area_mean(const PatchStretch& s, std::int64_t sum) noexcept {
  const std::int64_t area = std::int64_t{s.from_width} * s.from_height;
  return static_cast<std::uint8_t>((sum + area / 2) / area);
}

}  // namespace ocellus::detail
