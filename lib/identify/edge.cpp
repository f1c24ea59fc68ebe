#include "identify/estimates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/failure.h"

namespace ocellus::identify {
namespace {

// A pixel integrates over its area: a variance of 1/12 across an edge of any direction.
constexpr double kPixelVariance = 1.0 / 12.0;

double gaussian_step(double d, double variance) {
  return 0.5 * std::erfc(-d / std::sqrt(2.0 * variance));
}

/// The response of a blurred step at distance `d` behind the edge.
double edge_response(bool disk, double size, double d) {
  if (!disk) return gaussian_step(d, size * size + kPixelVariance);
  // The disk's line spread function is a semicircle. Chebyshev's quadrature of the second kind
  // integrates the step, blurred by the pixel, over it.
  constexpr int kNodes = 24;
  double sum = 0.0;
  double weights = 0.0;
  for (int k = 1; k <= kNodes; ++k) {
    const double t = std::numbers::pi * k / (kNodes + 1);
    const double weight = std::sin(t) * std::sin(t);
    sum += weight * gaussian_step(d - size * std::cos(t), kPixelVariance);
    weights += weight;
  }
  return sum / weights;
}

/// angle of the normal, offset along it from the center, the two levels, size of the blur.
using Parameters = Eigen::Matrix<double, 5, 1>;

class EdgeModel {
 public:
  EdgeModel(const Picture& area, bool disk) : area_(area), disk_(disk) {}

  double squares(const Parameters& p) const {
    double sum = 0.0;
    for_each(p, [&](double value, double, double, double d) {
      const double r = value - model(p, d);
      sum += r * r;
    });
    return sum;
  }

  /// Levenberg-Marquardt. Returns the sum of squares.
  double fit(Parameters& p) const {
    double best = squares(p);
    double damping = 1e-3;
    for (int i = 0; i < 60; ++i) {
      Eigen::Matrix<double, 5, 5> normal = Eigen::Matrix<double, 5, 5>::Zero();
      Parameters right = Parameters::Zero();
      const double c = std::cos(p(0));
      const double s = std::sin(p(0));
      for_each(p, [&](double value, double u, double v, double d) {
        const double response = edge_response(disk_, p(4), d);
        constexpr double kStep = 1e-4;
        const double slope =
            (p(3) - p(2)) *
            (edge_response(disk_, p(4), d + kStep) - edge_response(disk_, p(4), d - kStep)) /
            (2.0 * kStep);
        Parameters row;
        row(0) = slope * (v * c - u * s);
        row(1) = -slope;
        row(2) = 1.0 - response;
        row(3) = response;
        row(4) = (p(3) - p(2)) *
                 (edge_response(disk_, p(4) + kStep, d) - edge_response(disk_, p(4), d)) / kStep;
        normal += row * row.transpose();
        right += row * (value - model(p, d));
      });
      bool improved = false;
      while (damping < 1e8) {
        Eigen::Matrix<double, 5, 5> damped = normal;
        damped.diagonal() *= 1.0 + damping;
        damped.diagonal().array() += 1e-12;
        Parameters next = p + damped.ldlt().solve(right);
        next(4) = std::clamp(next(4), 0.05, 20.0);
        const double value = squares(next);
        if (value < best) {
          improved = best - value > 1e-9 * best;
          best = value;
          p = next;
          damping = std::max(1e-9, damping / 5.0);
          break;
        }
        damping *= 5.0;
      }
      if (!improved) break;
    }
    return best;
  }

 private:
  double model(const Parameters& p, double d) const {
    return p(2) + (p(3) - p(2)) * edge_response(disk_, p(4), d);
  }
  template <typename Visit>
  void for_each(const Parameters& p, Visit&& visit) const {
    const double c = std::cos(p(0));
    const double s = std::sin(p(0));
    for (int y = 0; y < area_.height; ++y) {
      for (int x = 0; x < area_.width; ++x) {
        const double u = x - 0.5 * (area_.width - 1);
        const double v = y - 0.5 * (area_.height - 1);
        visit(area_.at(y, x), u, v, u * c + v * s - p(1));
      }
    }
  }

  const Picture& area_;
  bool disk_;
};

}  // namespace

Expected<EdgeFit> fit_edge(const Picture& area) {
  // The moments of the gradient give the normal and the position to start with.
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double gx_sum = 0.0;
  double gy_sum = 0.0;
  for (int y = 1; y + 1 < area.height; ++y) {
    for (int x = 1; x + 1 < area.width; ++x) {
      const double gx = 0.5 * (area.at(y, x + 1) - area.at(y, x - 1));
      const double gy = 0.5 * (area.at(y + 1, x) - area.at(y - 1, x));
      xx += gx * gx;
      xy += gx * gy;
      yy += gy * gy;
      gx_sum += gx;
      gy_sum += gy;
    }
  }
  Parameters start;
  start(0) = 0.5 * std::atan2(2.0 * xy, xx - yy);
  if (gx_sum * std::cos(start(0)) + gy_sum * std::sin(start(0)) < 0.0) start(0) += std::numbers::pi;
  const auto [low, high] = std::minmax_element(area.values.begin(), area.values.end());
  start(2) = *low;
  start(3) = *high;
  if (!(*high - *low > 0.0)) {
    return detail::invalid_argument("the area of the edge is constant; it must hold one edge");
  }
  start(4) = 1.5;
  // The offset with the smallest sum of squares.
  const EdgeModel gaussian(area, false);
  const double reach = 0.5 * std::hypot(area.width, area.height);
  double best = std::numeric_limits<double>::infinity();
  double offset = 0.0;
  for (double t = -reach; t <= reach; t += 1.0) {
    start(1) = t;
    const double value = gaussian.squares(start);
    if (value < best) {
      best = value;
      offset = t;
    }
  }
  start(1) = offset;

  Parameters a = start;
  const double gaussian_squares = gaussian.fit(a);
  const EdgeModel disk_model(area, true);
  Parameters b = a;
  b(4) = 2.0 * a(4);  // a disk of radius r has the variance r^2 / 4 in each direction
  const double disk_squares = disk_model.fit(b);

  EdgeFit fit;
  fit.disk = disk_squares < gaussian_squares;
  const Parameters& p = fit.disk ? b : a;
  fit.size = p(4);
  fit.angle = p(0);
  fit.contrast = p(3) - p(2);
  fit.noise = std::sqrt(std::min(gaussian_squares, disk_squares) /
                        static_cast<double>(area.values.size() - 5));
  const double explained = 1.0 - std::min(gaussian_squares, disk_squares) /
                                     (variance(area) * static_cast<double>(area.values.size()));
  if (!(explained > 0.7)) {
    return detail::invalid_argument(
        "a straight edge explains %.0f%% of the variance of the area; it must explain at least "
        "70%%, so the area must hold one straight edge and nothing else",
        100.0 * std::max(0.0, explained));
  }
  const double from_axis = std::min(std::fabs(std::sin(p(0))), std::fabs(std::cos(p(0))));
  if (from_axis * std::max(area.width, area.height) < 1.0) {
    return detail::invalid_argument(
        "the edge is %.1f degrees from the rows or columns; it must cross at least one pixel "
        "boundary within the area, so tilt it by about 5 degrees",
        std::asin(from_axis) * 180.0 / std::numbers::pi);
  }
  return fit;
}

}  // namespace ocellus::identify
