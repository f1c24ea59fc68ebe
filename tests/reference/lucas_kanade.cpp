#include "reference/lucas_kanade.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace ocellus::reference {

using test::PlaneD;

std::vector<double> window_weights(int window, double sigma) {
  std::vector<double> weights(static_cast<std::size_t>(window));
  double sum = 0.0;
  for (int i = 0; i < window; ++i) {
    const double d = i - window / 2;
    sum += weights[static_cast<std::size_t>(i)] =
        std::isinf(sigma) ? 1.0 : std::exp(-d * d / (2.0 * sigma * sigma));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

double window_sigma(const OpticalFlowConfig& config) {
  return config.window_weight == WindowWeight::kBox ? std::numeric_limits<double>::infinity()
                                                    : static_cast<double>(config.window_sigma);
}

Flow solve_at(const PlaneD& ix, const PlaneD& iy, const PlaneD& it, int window, double sigma, int x,
              int y) {
  const std::vector<double> weights = window_weights(window, sigma);
  const int radius = window / 2;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double xt = 0.0;
  double yt = 0.0;
  for (int j = -radius; j <= radius; ++j) {
    for (int i = -radius; i <= radius; ++i) {
      const double w = weights[static_cast<std::size_t>(i + radius)] *
                       weights[static_cast<std::size_t>(j + radius)];
      const double gx = ix.clamped(x + i, y + j);
      const double gy = iy.clamped(x + i, y + j);
      const double gt = it.clamped(x + i, y + j);
      xx += w * gx * gx;
      xy += w * gx * gy;
      yy += w * gy * gy;
      xt += w * gx * gt;
      yt += w * gy * gt;
    }
  }
  Flow flow;
  const double determinant = xx * yy - xy * xy;
  flow.u = (-yy * xt + xy * yt) / determinant;
  flow.v = (xy * xt - xx * yt) / determinant;
  const double middle = 0.5 * (xx + yy);
  const double spread = std::sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy);
  flow.larger = middle + spread;
  // The determinant is the product of the eigenvalues. Subtracting two similar numbers would lose
  // precision.
  flow.smaller = flow.larger > 0.0 ? determinant / flow.larger : 0.0;
  return flow;
}

}  // namespace ocellus::reference
