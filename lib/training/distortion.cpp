#include "training/distortion.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ocellus::detail {
namespace {

constexpr int kSide = kNeocognitronSide;
constexpr auto kPixels = static_cast<std::size_t>(kSide) * kSide;

/// Displaces each pixel by the bilinear interpolation of the grid, whose outer points lie on the
/// border of U0.
void bend(const Distortion& distortion, std::vector<float>& u0) {
  const std::vector<float> from = u0;
  constexpr auto kGrid = static_cast<int>(Distortion::kGrid);
  constexpr float kStep = static_cast<float>(kSide - 1) / (kGrid - 1);
  const auto ink = [&from](int x, int y) {
    const bool inside = x >= 0 && y >= 0 && x < kSide && y < kSide;
    return inside ? from[static_cast<std::size_t>(y * kSide + x)] : 0.0f;
  };
  for (int y = 0; y < kSide; ++y) {
    const int row = std::min(static_cast<int>(static_cast<float>(y) / kStep), kGrid - 2);
    const float fy = static_cast<float>(y) / kStep - static_cast<float>(row);
    for (int x = 0; x < kSide; ++x) {
      const int column = std::min(static_cast<int>(static_cast<float>(x) / kStep), kGrid - 2);
      const float fx = static_cast<float>(x) / kStep - static_cast<float>(column);
      const Distortion::Shift* const at =
          distortion.grid.data() + static_cast<std::ptrdiff_t>(row) * kGrid + column;
      const auto between = [&](float a, float b, float c, float d) {
        return (a * (1.0f - fx) + b * fx) * (1.0f - fy) + (c * (1.0f - fx) + d * fx) * fy;
      };
      const float sx =
          static_cast<float>(x) + between(at[0].x, at[1].x, at[kGrid].x, at[kGrid + 1].x);
      const float sy =
          static_cast<float>(y) + between(at[0].y, at[1].y, at[kGrid].y, at[kGrid + 1].y);
      const float left = std::floor(sx);
      const float top = std::floor(sy);
      const auto ix = static_cast<int>(left);
      const auto iy = static_cast<int>(top);
      const float px = sx - left;
      const float py = sy - top;
      u0[static_cast<std::size_t>(y * kSide + x)] =
          (ink(ix, iy) * (1.0f - px) + ink(ix + 1, iy) * px) * (1.0f - py) +
          (ink(ix, iy + 1) * (1.0f - px) + ink(ix + 1, iy + 1) * px) * py;
    }
  }
}

/// Dilation or erosion over the four neighbors. A part of a pixel is a mean of before and after.
void change_stroke(float stroke, std::vector<float>& u0) {
  std::vector<float> from(kPixels);
  for (float rest = std::abs(stroke); rest > 0.0f; rest -= 1.0f) {
    const float share = std::min(rest, 1.0f);
    from = u0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const auto at = static_cast<std::size_t>(y * kSide + x);
        float found = from[at];
        const auto see = [&](std::size_t other) {
          found = stroke > 0.0f ? std::max(found, from[other]) : std::min(found, from[other]);
        };
        if (x > 0) see(at - 1);
        if (x + 1 < kSide) see(at + 1);
        if (y > 0) see(at - kSide);
        if (y + 1 < kSide) see(at + kSide);
        u0[at] = from[at] + share * (found - from[at]);
      }
    }
  }
}

}  // namespace

Distortion random_distortion(const NeocognitronTraining& training, std::mt19937_64& random) {
  // std::uniform_real_distribution differs between C++ libraries.
  const auto uniform = [&random](float bound) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<double>(bound) * (2.0 * unit - 1.0);
  };
  const double angle = uniform(training.rotation) * std::numbers::pi / 180.0;
  const double sx = std::exp(uniform(training.scale));
  const double sy = std::exp(uniform(training.scale));
  const double shear = uniform(training.shear);
  Distortion distortion;
  distortion.xx = std::cos(angle) * sx;
  distortion.xy = -std::sin(angle) * sx + shear;
  distortion.yx = std::sin(angle) * sy;
  distortion.yy = std::cos(angle) * sy;
  if (training.stroke > 0.0f) distortion.stroke = static_cast<float>(uniform(training.stroke));
  distortion.bends = training.bend > 0.0f;
  if (!distortion.bends) return distortion;
  for (Distortion::Shift& shift : distortion.grid)
    shift = {static_cast<float>(uniform(training.bend)),
             static_cast<float>(uniform(training.bend))};
  return distortion;
}

void write_u0(const InkImage& image, const PatchNormalization& normalization,
              const Distortion& distortion, std::vector<float>& u0) {
  PatchTransform transform;
  if (!find_transform(image, normalization, transform)) {
    std::fill(u0.begin(), u0.end(), 0.0f);
    return;
  }
  const PatchTransform t = transform;
  transform.xx = t.xx * distortion.xx + t.xy * distortion.yx;
  transform.xy = t.xx * distortion.xy + t.xy * distortion.yy;
  transform.yx = t.yx * distortion.xx + t.yy * distortion.yx;
  transform.yy = t.yx * distortion.xy + t.yy * distortion.yy;
  resample(image, transform, u0.data());
  if (distortion.bends) bend(distortion, u0);
  if (distortion.stroke != 0.0f) change_stroke(distortion.stroke, u0);
}

}  // namespace ocellus::detail
