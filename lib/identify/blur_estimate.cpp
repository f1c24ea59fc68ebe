#include "identify/estimates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "identify/regression.h"

namespace ocellus::identify {
namespace {

constexpr int kLargestRadius = 15;

/// Differences to the next pixel in x and y: they make the peak of a correlation of photographs
/// narrow.
std::array<Picture, 2> differences(const Picture& p) {
  std::array<Picture, 2> d{Picture(p.width - 1, p.height - 1), Picture(p.width - 1, p.height - 1)};
  for (int y = 0; y + 1 < p.height; ++y) {
    for (int x = 0; x + 1 < p.width; ++x) {
      d[0].at(y, x) = p.at(y, x + 1) - p.at(y, x);
      d[1].at(y, x) = p.at(y + 1, x) - p.at(y, x);
    }
  }
  return d;
}

struct Shift {
  int x = 0;
  int y = 0;
};

/// The shift with the largest normalized correlation of the differences.
Shift best_shift(const Picture& degraded, const Picture& sharp, int max_shift) {
  const auto a = differences(degraded);
  const auto b = differences(sharp);
  Shift best;
  double largest = -std::numeric_limits<double>::infinity();
  for (int dy = -max_shift; dy <= max_shift; ++dy) {
    for (int dx = -max_shift; dx <= max_shift; ++dx) {
      double ab = 0.0;
      double aa = 0.0;
      double bb = 0.0;
      for (std::size_t k = 0; k < 2; ++k) {
        for (int y = std::max(0, dy); y < std::min(a[k].height, a[k].height + dy); ++y) {
          for (int x = std::max(0, dx); x < std::min(a[k].width, a[k].width + dx); ++x) {
            const double u = a[k].at(y, x);
            const double v = b[k].at(y - dy, x - dx);
            ab += u * v;
            aa += u * u;
            bb += v * v;
          }
        }
      }
      const double correlation = ab / std::sqrt(std::max(aa * bb, 1e-300));
      if (correlation > largest) {
        largest = correlation;
        best = {dx, dy};
      }
    }
  }
  return best;
}

/// A kernel and the constant term of one regression.
struct Fit {
  std::vector<double> kernel;
  double constant = 0.0;
};

Fit make_fit(const Regression& r, const Posterior& p) {
  Fit fit;
  const int side = 2 * r.radius + 1;
  fit.kernel.assign(static_cast<std::size_t>(side * side), 0.0);
  fit.constant = r.mean;
  for (Eigen::Index i = 0; i < p.solution.size(); ++i) {
    const int k = p.used[static_cast<std::size_t>(i)];
    fit.kernel[static_cast<std::size_t>(k)] = p.solution(i);
    fit.constant -= p.solution(i) * r.regressor_mean(k);
  }
  return fit;
}

Picture residual(const Picture& degraded, const Picture& sharp, const Fit& fit, int radius,
                 const Block& block) {
  Picture result(block.x1 - block.x0, block.y1 - block.y0);
  const int side = 2 * radius + 1;
  for (int y = block.y0; y < block.y1; ++y) {
    for (int x = block.x0; x < block.x1; ++x) {
      result.at(y - block.y0, x - block.x0) = degraded.at(y, x) - fit.constant;
    }
    for (int k = 0; k < side * side; ++k) {
      const double h = fit.kernel[static_cast<std::size_t>(k)];
      if (h == 0.0) continue;
      for (int x = block.x0; x < block.x1; ++x) {
        result.at(y - block.y0, x - block.x0) -=
            h * sharp.at(y - k / side + radius, x - k % side + radius);
      }
    }
  }
  return result;
}

void subtract(Picture& picture, double level) {
  for (double& v : picture.values) v -= level;
}

BlurEstimate estimate_at(const Picture& degraded, const Picture& sharp, Shift shift, int radius) {
  const int width = degraded.width - std::abs(shift.x);
  const int height = degraded.height - std::abs(shift.y);
  Picture d = crop(degraded, std::max(0, shift.x), std::max(0, shift.y), width, height);
  Picture s = crop(sharp, std::max(0, -shift.x), std::max(0, -shift.y), width, height);
  const double degraded_level = mean(d);
  const double sharp_level = mean(s);
  subtract(d, degraded_level);
  subtract(s, sharp_level);
  // Only pixels whose whole neighborhood is known.
  const std::array<int, 3> xs{radius, width / 2, width - radius};
  const std::array<int, 3> ys{radius, height / 2, height - radius};
  std::array<Block, 4> blocks;
  for (std::size_t b = 0; b < 4; ++b) {
    blocks[b] = {xs[b % 2], ys[b / 2], xs[b % 2 + 1], ys[b / 2 + 1]};
  }
  const std::vector<Moments> moments = block_moments(d, s, radius, blocks);
  const int side = 2 * radius + 1;
  const auto regression_without = [&](std::size_t left_out) {
    Moments sum(side * side);
    for (std::size_t b = 0; b < 4; ++b) {
      if (b != left_out) sum += moments[b];
    }
    return make_regression(std::move(sum), radius);
  };
  Regression all = regression_without(4);
  const Posterior without_prior = best_posterior(all);
  add_offset_prior(all, without_prior.noise, sharp_level, degraded_level);
  const Posterior p = posterior(all, without_prior.radius, without_prior.variance);
  const Fit fit = make_fit(all, p);

  BlurEstimate e;
  e.shift_x = shift.x;
  e.shift_y = shift.y;
  e.radius = radius;
  e.kernel = fit.kernel;
  e.prior_radius = p.radius;
  e.prior_variance = p.variance;
  e.noise_variance = p.noise;
  e.gain = 0.0;
  for (int k = 0; k < side * side; ++k) {
    const double h = fit.kernel[static_cast<std::size_t>(k)];
    e.gain += h;
    e.centroid_x += h * (k % side - radius);
    const int row = k / side;
    e.centroid_y += h * (row - radius);
  }
  if (e.gain > 0.0) {
    e.centroid_x /= e.gain;
    e.centroid_y /= e.gain;
  }
  e.offset = fit.constant + degraded_level - e.gain * sharp_level;
  e.explained = without_prior.explained;
  if (!(e.explained > 0.0)) return e;
  // What a kernel from three blocks leaves of the fourth one. It contains the noise, the error of
  // the kernel and differences of the blur within the picture.
  for (std::size_t b = 0; b < 4; ++b) {
    Regression rest = regression_without(b);
    add_offset_prior(rest, p.noise, sharp_level, degraded_level);
    const Posterior other = posterior(rest, p.radius, p.variance);
    e.residuals.push_back(residual(d, s, make_fit(rest, other), radius, blocks[b]));
  }
  return e;
}

}  // namespace

Expected<BlurEstimate> estimate_blur(const Picture& degraded, const Picture& sharp, int max_shift) {
  Shift shift = best_shift(degraded, sharp, max_shift);
  BlurEstimate estimate;
  // The kernel's window is centered on its centroid; a skew kernel needs a second round.
  for (int round = 0; round < 3; ++round) {
    const int shortest =
        std::min(degraded.width - std::abs(shift.x), degraded.height - std::abs(shift.y));
    const int radius = std::min(kLargestRadius, shortest / 6);
    estimate = estimate_at(degraded, sharp, shift, radius);
    if (!(estimate.explained >= 0.5)) break;  // for NaN, too
    const int dx = static_cast<int>(std::lround(estimate.centroid_x));
    const int dy = static_cast<int>(std::lround(estimate.centroid_y));
    if (dx == 0 && dy == 0) break;
    shift = {std::clamp(shift.x + dx, -2 * max_shift, 2 * max_shift),
             std::clamp(shift.y + dy, -2 * max_shift, 2 * max_shift)};
  }
  if (!(estimate.explained >= 0.5) || !(estimate.gain > 0.05)) {
    return tl::unexpected(make_error(
        Status::kInvalidArgument,
        "the sharp fragment, blurred, explains %.0f%% of the variance of the degraded one; it must "
        "explain 50%%: both must show the same scene, at most %d pixels apart, with details above "
        "the noise",
        100.0 * std::max(0.0, estimate.explained), max_shift));
  }
  return estimate;
}

}  // namespace ocellus::identify
