#include "neocognitron/normalization.h"

#include <algorithm>
#include <cmath>

namespace ocellus::detail {
namespace {

/// Pixels with less than this share of the darkest ink do not count for the size.
constexpr double kInkShare = 0.3;
/// A stroke that is almost horizontal has no slant that could be measured.
constexpr double kLargestSlant = 1.0;

/// Bilinear interpolation.
float sample(const InkImage& image, double x, double y) noexcept {
  const double left = std::floor(x);
  const double top = std::floor(y);
  if (left < -1.0 || top < -1.0 || left >= image.width || top >= image.height) return 0.0f;
  const auto column = static_cast<int>(left);
  const auto row = static_cast<int>(top);
  const auto fx = static_cast<float>(x - left);
  const auto fy = static_cast<float>(y - top);
  const auto pixel = [&image](int px, int py) {
    const bool inside = px >= 0 && py >= 0 && px < image.width && py < image.height;
    return inside ? static_cast<float>(image.at(px, py)) : 0.0f;
  };
  const float upper = pixel(column, row) * (1.0f - fx) + pixel(column + 1, row) * fx;
  const float lower = pixel(column, row + 1) * (1.0f - fx) + pixel(column + 1, row + 1) * fx;
  return upper * (1.0f - fy) + lower * fy;
}

}  // namespace

bool find_transform(const InkImage& image, const PatchNormalization& normalization,
                    PatchTransform& transform) noexcept {
  double mass = 0.0;
  double mx = 0.0;
  double my = 0.0;
  int darkest = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int ink = image.at(x, y);
      darkest = std::max(darkest, ink);
      mass += ink;
      mx += static_cast<double>(ink) * x;
      my += static_cast<double>(ink) * y;
    }
  }
  if (darkest == 0) return false;
  mx /= mass;
  my /= mass;
  double slant = 0.0;
  if (normalization.deslant) {
    double xy = 0.0;
    double yy = 0.0;
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const double ink = image.at(x, y);
        xy += ink * (x - mx) * (y - my);
        yy += ink * (y - my) * (y - my);
      }
    }
    if (yy > 0.0) slant = std::clamp(xy / yy, -kLargestSlant, kLargestSlant);
  }
  double left = 1e9;
  double right = -1e9;
  double top = 1e9;
  double bottom = -1e9;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.at(x, y) <= kInkShare * darkest) continue;
      const double upright = x - mx - slant * (y - my);
      left = std::min(left, upright);
      right = std::max(right, upright);
      top = std::min(top, static_cast<double>(y));
      bottom = std::max(bottom, static_cast<double>(y));
    }
  }
  const double side = std::max(right - left, bottom - top) + 1.0;
  const double step = side / static_cast<double>(normalization.extent);
  transform = {mx, my, step, slant * step, 0.0, step};
  return true;
}

void resample(const InkImage& image, const PatchTransform& transform, float* u0) noexcept {
  constexpr int kSide = kNeocognitronSide;
  constexpr int kCenter = kSide / 2;
  const double reach =
      std::max(std::hypot(transform.xx, transform.yx), std::hypot(transform.xy, transform.yy));
  const int samples = std::clamp(static_cast<int>(std::ceil(reach)), 1, 8);
  const float scale = 1.0f / (255.0f * static_cast<float>(samples * samples));
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      float sum = 0.0f;
      for (int j = 0; j < samples; ++j) {
        for (int i = 0; i < samples; ++i) {
          const double dx = x - kCenter + (i + 0.5) / samples - 0.5;
          const double dy = y - kCenter + (j + 0.5) / samples - 0.5;
          sum += sample(image, transform.x0 + transform.xx * dx + transform.xy * dy,
                        transform.y0 + transform.yx * dx + transform.yy * dy);
        }
      }
      u0[y * kSide + x] = sum * scale;
    }
  }
}

}  // namespace ocellus::detail
