// The arithmetic of normalization, for the host and for devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

/// Where a pixel of U0 lies in an image: (x0 + xx dx + xy dy, y0 + yx dx + yy dy), with (dx, dy)
/// counted from the center of U0. The center of the image's first pixel is (0, 0).
struct PatchTransform {
  double x0 = 0.0;
  double y0 = 0.0;
  double xx = 1.0;
  double xy = 0.0;
  double yx = 0.0;
  double yy = 1.0;
};

/// Sums over the pixels of an image of ink times products of x and y, which are counted from the
/// pixel (width / 2, height / 2). They are exact in any order.
struct InkSums {
  std::int64_t mass = 0;
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t xy = 0;
  std::int64_t yy = 0;

  constexpr void add(int ink, int dx, int dy) noexcept {
    const std::int64_t row = std::int64_t{ink} * dy;
    mass += ink;
    x += std::int64_t{ink} * dx;
    y += row;
    xy += row * dx;
    yy += row * dy;
  }
};

/// The center of mass, and how far a character leans: dx for each dy.
struct InkCenter {
  double x = 0.0;
  double y = 0.0;
  double slant = 0.0;

  /// Of a pixel, relative to the center.
  constexpr double upright(int px, int py) const noexcept { return px - x - slant * (py - y); }
};

/// `sums.mass` must be above 0.
constexpr InkCenter ink_center(const InkSums& sums, int width, int height, bool deslant) noexcept {
  // A stroke that is almost horizontal has no slant that could be measured.
  constexpr double kLargestSlant = 1.0;
  const auto mass = static_cast<double>(sums.mass);
  const double x = static_cast<double>(sums.x) / mass;
  const double y = static_cast<double>(sums.y) / mass;
  const int middle_x = width / 2;
  const int middle_y = height / 2;
  InkCenter center{middle_x + x, middle_y + y, 0.0};
  if (!deslant) return center;
  const double xy = static_cast<double>(sums.xy) - static_cast<double>(sums.x) * y;
  const double yy = static_cast<double>(sums.yy) - static_cast<double>(sums.y) * y;
  if (yy > 0.0) center.slant = std::clamp(xy / yy, -kLargestSlant, kLargestSlant);
  return center;
}

/// Pixels with less than this share of the darkest ink do not count for the size.
constexpr bool counts_for_size(int ink, int darkest) noexcept {
  constexpr double kInkShare = 0.3;
  // Rounding to 0 changes nothing, because the ink is an integer.
  return ink > static_cast<int>(kInkShare * darkest);
}

/// The pixels that count: InkCenter::upright of the outermost ones, and the outermost rows.
struct InkExtent {
  double left = 1e9;
  double right = -1e9;
  double top = 1e9;
  double bottom = -1e9;

  constexpr void add(double upright, int y) noexcept {
    left = std::min(left, upright);
    right = std::max(right, upright);
    top = std::min(top, static_cast<double>(y));
    bottom = std::max(bottom, static_cast<double>(y));
  }
};

constexpr PatchTransform patch_transform(const InkCenter& center, const InkExtent& ink,
                                         float extent) noexcept {
  const double side = std::max(ink.right - ink.left, ink.bottom - ink.top) + 1.0;
  const double step = side / static_cast<double>(extent);
  return {center.x, center.y, step, center.slant * step, 0.0, step};
}

/// Samples along each axis of a pixel of U0: one for each pixel of the image that it covers, 1 to
/// 8.
constexpr int samples_per_axis(const PatchTransform& t) noexcept {
  const double reach = std::max(t.xx * t.xx + t.yx * t.yx, t.xy * t.xy + t.yy * t.yy);
  int samples = 1;
  while (samples < 8 && reach > samples * samples) ++samples;
  return samples;
}

/// Bilinear interpolation. `ink(x, y)` is a pixel of the image; outside of it there is no ink.
template <typename Ink>
constexpr float sample_ink(const Ink& ink, int width, int height, double x, double y) noexcept {
  if (!(x >= -1.0 && y >= -1.0 && x < width && y < height)) return 0.0f;
  auto column = static_cast<int>(x);
  auto row = static_cast<int>(y);
  // Conversion rounds to 0.
  if (column > x) --column;
  if (row > y) --row;
  const auto fx = static_cast<float>(x - column);
  const auto fy = static_cast<float>(y - row);
  const auto pixel = [&](int px, int py) {
    const bool inside = px >= 0 && py >= 0 && px < width && py < height;
    return inside ? static_cast<float>(ink(px, py)) : 0.0f;
  };
  const float upper = pixel(column, row) * (1.0f - fx) + pixel(column + 1, row) * fx;
  const float lower = pixel(column, row + 1) * (1.0f - fx) + pixel(column + 1, row + 1) * fx;
  return upper * (1.0f - fy) + lower * fy;
}

/// Where sample i along an axis lies in a pixel of U0, which is counted from the center.
constexpr double sample_position(int pixel, int i, int samples) noexcept {
  return samples == 1 ? pixel : pixel + (i + 0.5) / samples - 0.5;
}

/// The pixel (x, y) of U0, 0 to 1. `samples` is samples_per_axis(t).
template <typename Ink>
constexpr float patch_pixel(const Ink& ink, int width, int height, const PatchTransform& t,
                            int samples, int x, int y) noexcept {
  constexpr int kCenter = kNeocognitronSide / 2;
  float sum = 0.0f;
  for (int j = 0; j < samples; ++j) {
    for (int i = 0; i < samples; ++i) {
      const double dx = sample_position(x - kCenter, i, samples);
      const double dy = sample_position(y - kCenter, j, samples);
      sum += sample_ink(ink, width, height, t.x0 + t.xx * dx + t.xy * dy,
                        t.y0 + t.yx * dx + t.yy * dy);
    }
  }
  return sum * (1.0f / (255.0f * static_cast<float>(samples * samples)));
}

}  // namespace ocellus::detail
