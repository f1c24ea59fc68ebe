// Distorted copies of the images that a cortical classifier learns.
#include <cmath>
#include <cstddef>
#include <numbers>

#include "core/philox.h"
#include "training/cortex_activity.h"

namespace ocellus::detail {
namespace {

/// Counters of random numbers, beside those of features and order.
constexpr std::uint32_t kCopies = 5u << 29;

}  // namespace

void draw_copy(const LabeledImages& images, std::size_t image, int copy,
               const CortexTraining& training, std::uint8_t* out) {
  const int width = images.width;
  const int height = images.height;
  const std::uint8_t* const from = images.image(image);
  std::uint32_t number = 0;
  const auto uniform = [&](float bound) {
    const std::uint32_t word =
        philox(training.seed, {static_cast<std::uint32_t>(image), static_cast<std::uint32_t>(copy),
                               number++, kCopies})[0];
    return static_cast<double>(bound) * (word * 0x1p-31 - 1.0);
  };
  const double angle = uniform(training.rotation) * std::numbers::pi / 180.0;
  const double scale_x = std::exp(uniform(training.scale));
  const double scale_y = std::exp(uniform(training.scale));
  const double shear = uniform(training.shear);
  const double xx = std::cos(angle) * scale_x;
  const double xy = (std::cos(angle) * shear - std::sin(angle)) * scale_y;
  const double yx = std::sin(angle) * scale_x;
  const double yy = (std::sin(angle) * shear + std::cos(angle)) * scale_y;
  const double cx = 0.5 * (width - 1);
  const double cy = 0.5 * (height - 1);
  const double dx = cx + uniform(training.shift);
  const double dy = cy + uniform(training.shift);
  const auto pixel = [&](int x, int y) {
    return x < 0 || y < 0 || x >= width || y >= height ? 0.0
                                                       : static_cast<double>(from[y * width + x]);
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = xx * (x - cx) + xy * (y - cy) + dx;
      const double v = yx * (x - cx) + yy * (y - cy) + dy;
      const double left = std::floor(u);
      const double top = std::floor(v);
      const int i = static_cast<int>(left);
      const int j = static_cast<int>(top);
      const double a = u - left;
      const double b = v - top;
      const double value = (pixel(i, j) * (1.0 - a) + pixel(i + 1, j) * a) * (1.0 - b) +
                           (pixel(i, j + 1) * (1.0 - a) + pixel(i + 1, j + 1) * a) * b;
      out[y * width + x] = static_cast<std::uint8_t>(std::lround(value));
    }
  }
}

}  // namespace ocellus::detail
