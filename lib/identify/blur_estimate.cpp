#include "identify/estimates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace ocellus::identify {
namespace {

// ---- linear regression of a degraded picture on displaced copies of a sharp one, with a prior of
// its coefficients that the evidence selects

// Coefficients whose prior standard deviation is below this part of the center's are left out.
constexpr double kPriorCut = 1e-5;
constexpr double kOffsetDeviation = 2.0 / 255.0;

/// A rectangle of pixels, without x1 and y1.
struct Block {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;

  double count() const { return static_cast<double>(x1 - x0) * (y1 - y0); }
};

/// Sums over pixels for the regression of `degraded` on the displaced copies of `sharp`.
struct Moments {
  double samples = 0.0;
  Eigen::MatrixXd gram;  // products of two regressors
  Eigen::VectorXd cross;
  Eigen::VectorXd regressors;
  double degraded = 0.0;
  double degraded_squares = 0.0;

  explicit Moments(int n)
      : gram(Eigen::MatrixXd::Zero(n, n)),
        cross(Eigen::VectorXd::Zero(n)),
        regressors(Eigen::VectorXd::Zero(n)) {}

  Moments& operator+=(const Moments& other) {
    samples += other.samples;
    gram += other.gram;
    cross += other.cross;
    regressors += other.regressors;
    degraded += other.degraded;
    degraded_squares += other.degraded_squares;
    return *this;
  }
};

/// The regression problem after elimination of the constant term.
struct Regression {
  int radius = 0;
  double samples = 0.0;
  Eigen::MatrixXd gram;
  Eigen::VectorXd cross;
  Eigen::VectorXd regressor_mean;
  double mean = 0.0;
  double total = 0.0;  // sum of squares of `degraded` about its mean
};

/// The posterior for one prior.
struct Posterior {
  double evidence = -std::numeric_limits<double>::infinity();
  double radius = 0.0;
  double variance = 0.0;
  double noise = 0.0;
  double explained = 0.0;     // part of the variance of `degraded`
  std::vector<int> used;      // coefficients that the prior does not fix at 0
  Eigen::VectorXd deviation;  // prior standard deviation of the used ones, in units of the noise
  Eigen::VectorXd solution;   // of the used ones
  Eigen::MatrixXd factor;     // Cholesky factor of I + S gram S, S = diag(deviation)
};

/// Sums over rectangles in constant time.
class SumTable {
 public:
  SumTable(int width, int height)
      : width_(width + 1),
        sums_(static_cast<std::size_t>(width + 1) * static_cast<std::size_t>(height + 1), 0.0) {}

  template <typename Value>
  void fill(int x0, int y0, int x1, int y1, Value&& value) {
    x0_ = x0;
    y0_ = y0;
    for (int x = 0; x <= x1 - x0; ++x) entry(0, x) = 0.0;
    for (int y = y0; y < y1; ++y) {
      double row = 0.0;
      entry(y - y0 + 1, 0) = 0.0;
      for (int x = x0; x < x1; ++x) {
        row += value(y, x);
        entry(y - y0 + 1, x - x0 + 1) = entry(y - y0, x - x0 + 1) + row;
      }
    }
  }

  double sum(int x0, int y0, int x1, int y1) const {
    return entry(y1 - y0_, x1 - x0_) - entry(y0 - y0_, x1 - x0_) - entry(y1 - y0_, x0 - x0_) +
           entry(y0 - y0_, x0 - x0_);
  }

 private:
  double& entry(int y, int x) {
    return sums_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                 static_cast<std::size_t>(x)];
  }
  double entry(int y, int x) const { return const_cast<SumTable*>(this)->entry(y, x); }

  int width_;
  int x0_ = 0;
  int y0_ = 0;
  std::vector<double> sums_;
};

/// The problem without the constant term.
Regression make_regression(Moments&& m, int radius) {
  Regression r;
  r.radius = radius;
  r.samples = m.samples;
  r.regressor_mean = m.regressors / m.samples;
  r.mean = m.degraded / m.samples;
  r.total = m.degraded_squares - m.samples * r.mean * r.mean;
  r.cross = m.cross - m.degraded * r.regressor_mean;
  r.gram = std::move(m.gram);
  r.gram.noalias() -= m.samples * r.regressor_mean * r.regressor_mean.transpose();
  return r;
}

/// Adds a prior of the constant term to the regression, with a standard deviation of 2 gray levels
/// of 8 bits. A fragment with few details does not tell gain and offset apart, and an offset is
/// usually small. The levels are the means that were taken off the pictures.
void add_offset_prior(Regression& r, double noise, double sharp_level, double degraded_level) {
  const double precision = noise / (kOffsetDeviation * kOffsetDeviation);
  const double weight = r.samples * precision / (r.samples + precision);
  const Eigen::VectorXd level = r.regressor_mean.array() + sharp_level;
  const double wanted = r.mean + degraded_level;
  r.gram.noalias() += weight * level * level.transpose();
  r.cross += weight * wanted * level;
  r.total += weight * wanted * wanted;
}

/// The moments of each block. The pictures' means should be 0, for accuracy.
std::vector<Moments> block_moments(const Picture& degraded, const Picture& sharp, int radius,
                                   const std::array<Block, 4>& blocks) {
  const int side = 2 * radius + 1;
  std::vector<Moments> moments(blocks.size(), Moments(side * side));
  const auto index = [&](int dy, int dx) { return (dy + radius) * side + dx + radius; };
  SumTable table(degraded.width, degraded.height);
  table.fill(0, 0, degraded.width, degraded.height, [&](int y, int x) { return sharp.at(y, x); });
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Block& block = blocks[b];
    Moments& m = moments[b];
    m.samples = block.count();
    for (int y = block.y0; y < block.y1; ++y) {
      for (int x = block.x0; x < block.x1; ++x) {
        const double t = degraded.at(y, x);
        m.degraded += t;
        m.degraded_squares += t * t;
      }
    }
    for (int dy = -radius; dy <= radius; ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        const int k = index(dy, dx);
        m.regressors(k) = table.sum(block.x0 - dx, block.y0 - dy, block.x1 - dx, block.y1 - dy);
        double sum = 0.0;
        for (int y = block.y0; y < block.y1; ++y) {
          const double* const t = &degraded.values[static_cast<std::size_t>(y * degraded.width)];
          const double* const s = &sharp.values[static_cast<std::size_t>((y - dy) * sharp.width)];
          for (int x = block.x0; x < block.x1; ++x) sum += t[x] * s[x - dx];
        }
        m.cross(k) = sum;
      }
    }
  }
  // sum s(p - k) s(p - k - lag) over the pixels p: for each lag, one table of products serves all
  // pairs of displacements and all blocks.
  for (int ly = 0; ly < side; ++ly) {
    for (int lx = ly == 0 ? 0 : 1 - side; lx < side; ++lx) {
      const int left = std::max(0, lx);
      const int right = degraded.width + std::min(0, lx);
      table.fill(left, ly, right, degraded.height,
                 [&](int y, int x) { return sharp.at(y, x) * sharp.at(y - ly, x - lx); });
      for (int dy = -radius; dy + ly <= radius; ++dy) {
        for (int dx = std::max(-radius, -radius - lx); dx <= std::min(radius, radius - lx); ++dx) {
          const int k = index(dy, dx);
          const int l = index(dy + ly, dx + lx);
          for (std::size_t b = 0; b < blocks.size(); ++b) {
            const Block& block = blocks[b];
            const double sum =
                table.sum(block.x0 - dx, block.y0 - dy, block.x1 - dx, block.y1 - dy);
            moments[b].gram(k, l) = sum;
            moments[b].gram(l, k) = sum;
          }
        }
      }
    }
  }
  return moments;
}

/// The posterior for a prior of this radius and of this variance at the center.
Posterior posterior(const Regression& r, double radius, double variance) {
  Posterior p;
  p.radius = radius;
  p.variance = variance;
  const int side = 2 * r.radius + 1;
  for (int k = 0; k < side * side; ++k) {
    const double distance = std::hypot(k / side - r.radius, k % side - r.radius);
    if (std::exp(-0.5 * distance * distance / (radius * radius)) > kPriorCut) p.used.push_back(k);
  }
  const auto n = static_cast<Eigen::Index>(p.used.size());
  p.deviation.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const int k = p.used[static_cast<std::size_t>(i)];
    const double distance = std::hypot(k / side - r.radius, k % side - r.radius);
    p.deviation(i) = std::sqrt(variance) * std::exp(-0.5 * distance * distance / (radius * radius));
  }
  p.factor.resize(n, n);
  Eigen::VectorXd right(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const int l = p.used[static_cast<std::size_t>(j)];
    right(j) = p.deviation(j) * r.cross(l);
    for (Eigen::Index i = j; i < n; ++i) {
      p.factor(i, j) =
          p.deviation(i) * r.gram(p.used[static_cast<std::size_t>(i)], l) * p.deviation(j);
    }
    p.factor(j, j) += 1.0;
  }
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(p.factor);
  if (llt.info() != Eigen::Success) return p;
  const Eigen::VectorXd half = llt.matrixL().solve(right);
  p.noise = std::max(r.total - half.squaredNorm(), 1e-14 * r.total) / r.samples;
  p.explained = 1.0 - p.noise * r.samples / std::max(r.total, 1e-300);
  p.evidence = -0.5 * r.samples * std::log(p.noise) - p.factor.diagonal().array().log().sum();
  p.solution = p.deviation.cwiseProduct(Eigen::VectorXd(llt.matrixU().solve(half)));
  return p;
}

/// Climbs the evidence over the radius and the variance of the prior, on a grid of factors.
Posterior best_posterior(const Regression& r) {
  constexpr std::array<double, 7> kRadius = {0.7, 1.0, 1.5, 2.5, 4.0, 7.0, 12.0};
  constexpr int kVariances = 10;
  const auto variance = [](int k) { return std::pow(10.0, k - 2); };
  int i = 2;
  int j = 4;
  Posterior best = posterior(r, kRadius[static_cast<std::size_t>(i)], variance(j));
  const auto better = [&](int next_i, int next_j) {
    if (next_i < 0 || next_i >= static_cast<int>(kRadius.size()) || next_j < 0 ||
        next_j >= kVariances) {
      return false;
    }
    Posterior p = posterior(r, kRadius[static_cast<std::size_t>(next_i)], variance(next_j));
    if (!(p.evidence > best.evidence)) return false;
    best = std::move(p);
    i = next_i;
    j = next_j;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    while (better(i, j + 1)) moved = true;
    while (better(i, j - 1)) moved = true;
    // A wider prior usually needs a smaller variance.
    if (better(i + 1, j) || better(i + 1, j - 1) || better(i - 1, j) || better(i - 1, j + 1)) {
      moved = true;
    }
  }
  return best;
}

// ---- the estimate

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
