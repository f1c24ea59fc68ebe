#include "identify/estimates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "identify/fft.h"
#include "identify/filter_design.h"

namespace ocellus::identify {
namespace {

// ---- linear regression of a degraded picture on displaced copies of a sharp one, with a prior of
// its coefficients that the evidence selects

// Coefficients whose prior standard deviation is below this part of the center's are left out.
constexpr double kPriorCut = 1e-5;
constexpr double kOffsetDeviation = 2.0 / 255.0;

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

/// The regression of `degraded` on the displaced copies of `sharp`, for the pixels whose whole
/// neighborhood is known. The pictures' means should be 0, for accuracy.
Regression make_regression(const Picture& degraded, const Picture& sharp, int radius) {
  const int side = 2 * radius + 1;
  const int right = degraded.width - radius;
  const int bottom = degraded.height - radius;
  const auto index = [&](int dy, int dx) { return (dy + radius) * side + dx + radius; };
  SumTable table(degraded.width, degraded.height);
  const auto sum_at = [&](int dy, int dx) {
    return table.sum(radius - dx, radius - dy, right - dx, bottom - dy);
  };
  Regression r;
  r.radius = radius;
  r.samples = static_cast<double>(right - radius) * (bottom - radius);
  double squares = 0.0;
  for (int y = radius; y < bottom; ++y) {
    for (int x = radius; x < right; ++x) {
      r.mean += degraded.at(y, x) / r.samples;
      squares += degraded.at(y, x) * degraded.at(y, x);
    }
  }
  r.total = squares - r.samples * r.mean * r.mean;
  r.regressor_mean.resize(side * side);
  r.cross.resize(side * side);
  table.fill(0, 0, degraded.width, degraded.height, [&](int y, int x) { return sharp.at(y, x); });
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int k = index(dy, dx);
      r.regressor_mean(k) = sum_at(dy, dx) / r.samples;
      double sum = 0.0;
      for (int y = radius; y < bottom; ++y) {
        const double* const t = &degraded.values[static_cast<std::size_t>(y * degraded.width)];
        const double* const s = &sharp.values[static_cast<std::size_t>((y - dy) * sharp.width)];
        for (int x = radius; x < right; ++x) sum += t[x] * s[x - dx];
      }
      r.cross(k) = sum;
    }
  }
  r.cross -= r.samples * r.mean * r.regressor_mean;
  // sum s(p - k) s(p - k - lag) over the pixels p: for each lag, one table of products serves all
  // pairs of displacements.
  r.gram.resize(side * side, side * side);
  for (int ly = 0; ly < side; ++ly) {
    for (int lx = ly == 0 ? 0 : 1 - side; lx < side; ++lx) {
      table.fill(std::max(0, lx), ly, degraded.width + std::min(0, lx), degraded.height,
                 [&](int y, int x) { return sharp.at(y, x) * sharp.at(y - ly, x - lx); });
      for (int dy = -radius; dy + ly <= radius; ++dy) {
        for (int dx = std::max(-radius, -radius - lx); dx <= std::min(radius, radius - lx); ++dx) {
          const int k = index(dy, dx);
          const int l = index(dy + ly, dx + lx);
          r.gram(k, l) = r.gram(l, k) = sum_at(dy, dx);
        }
      }
    }
  }
  r.gram.noalias() -= r.samples * r.regressor_mean * r.regressor_mean.transpose();
  return r;
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

/// The variance of the transfer function at each frequency of the design grid: the transform of
/// the sums of the posterior covariance over pairs of coefficients with the same distance.
std::vector<double> transfer_variance(const Posterior& p, int radius) {
  const auto n = static_cast<Eigen::Index>(p.used.size());
  const Eigen::MatrixXd root =
      p.factor.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd(p.deviation.asDiagonal()));
  const Eigen::MatrixXd covariance = p.noise * (root.transpose() * root);
  const int side = 2 * radius + 1;
  const auto wrap = [](int k) { return (k + kDesignSide) % kDesignSide; };
  Spectrum sums(kDesignSide);
  for (Eigen::Index j = 0; j < n; ++j) {
    const int l = p.used[static_cast<std::size_t>(j)];
    for (Eigen::Index i = 0; i < n; ++i) {
      const int k = p.used[static_cast<std::size_t>(i)];
      sums.at(wrap(k / side - l / side), wrap(k % side - l % side)) += covariance(i, j);
    }
  }
  fourier_transform(sums);
  std::vector<double> variance(sums.values.size());
  std::transform(sums.values.begin(), sums.values.end(), variance.begin(),
                 [](Complex v) { return std::max(0.0, v.real()); });
  return variance;
}

// ---- a shape of the kernel

constexpr double kLeastSize = 0.3;  // pixels
constexpr double kLargestDisplacement = 3.0;

struct Shift {
  int x = 0;
  int y = 0;
};

/// The least-squares fit of a kernel, given but for its gain.
struct ShapeFit {
  BlurShape shape;
  std::vector<double> kernel;
  double noise = std::numeric_limits<double>::infinity();
};

ShapeFit fit_gain(const Regression& r, const BlurShape& shape) {
  ShapeFit fit;
  fit.shape = shape;
  fit.kernel = draw(shape, r.radius);
  std::vector<Eigen::Index> used;
  for (std::size_t k = 0; k < fit.kernel.size(); ++k)
    if (fit.kernel[k] > 0.0) used.push_back(static_cast<Eigen::Index>(k));
  double cross = 0.0;
  double square = 0.0;
  for (Eigen::Index l : used) {
    const double h = fit.kernel[static_cast<std::size_t>(l)];
    cross += h * r.cross(l);
    for (Eigen::Index k : used)
      square += h * fit.kernel[static_cast<std::size_t>(k)] * r.gram(k, l);
  }
  const double gain = cross / std::max(square, 1e-300);
  for (double& value : fit.kernel) value *= gain;
  fit.noise = std::max(r.total - gain * cross, 1e-14 * r.total) / r.samples;
  return fit;
}

double largest_size(BlurShape::Kind kind, int radius) {
  switch (kind) {
    case BlurShape::Kind::kGaussian:
      return 0.4 * radius;
    case BlurShape::Kind::kDisk:
      return radius;
    default:
      return 2.0 * radius;
  }
}

/// Improves a shape by a pattern search over size, angle of a motion and, if wanted, displacement.
void improve(const Regression& r, bool displace, ShapeFit& best) {
  const BlurShape::Kind kind = best.shape.kind;
  const auto better = [&](const BlurShape& shape) {
    if (shape.size < kLeastSize || shape.size > largest_size(kind, r.radius)) return false;
    if (std::max(std::fabs(shape.x), std::fabs(shape.y)) > kLargestDisplacement) return false;
    ShapeFit fit = fit_gain(r, shape);
    if (!(fit.noise < best.noise)) return false;
    best = std::move(fit);
    return true;
  };
  for (double step = 0.4; step > 0.005; step *= 0.5) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const double s : {step, -step}) {
        BlurShape next = best.shape;
        next.size += s;
        moved = better(next) || moved;
        if (kind == BlurShape::Kind::kMotion) {
          next = best.shape;
          // The ends of the motion move by s.
          next.angle += s / (0.5 * next.size) * 180.0 / std::numbers::pi;
          moved = better(next) || moved;
        }
        if (!displace) continue;
        next = best.shape;
        next.x += s;
        moved = better(next) || moved;
        next = best.shape;
        next.y += s;
        moved = better(next) || moved;
      }
    }
  }
}

/// The shape with the largest evidence, or kNone if that of the free kernel is larger. A pair
/// without displacement, where the shape is displaced by -`shift`, is a model of its own: most
/// pairs are aligned, and a fragment with few details does not determine a displacement.
BlurShape best_shape(const Regression& r, Shift shift, double evidence) {
  BlurShape best;
  const auto compare = [&](BlurShape::Kind kind, bool displace, double x, double y) {
    const bool motion = kind == BlurShape::Kind::kMotion;
    ShapeFit fit;
    for (double size = 0.5; size <= largest_size(kind, r.radius); size *= 1.5) {
      for (double angle = 0.0; angle < (motion ? 180.0 : 1.0); angle += 22.5) {
        ShapeFit start = fit_gain(r, {kind, size, angle, x, y});
        if (start.noise < fit.noise) fit = std::move(start);
      }
    }
    improve(r, displace, fit);
    // Size and gain; the motion's angle; the displacement.
    const double parameters = 2.0 + (motion ? 1.0 : 0.0) + (displace ? 2.0 : 0.0);
    const double value =
        -0.5 * r.samples * std::log(fit.noise) - 0.5 * parameters * std::log(r.samples);
    if (value > evidence) {
      evidence = value;
      best = fit.shape;
    }
  };
  const bool near = std::max(std::abs(shift.x), std::abs(shift.y)) <= kLargestDisplacement;
  for (const auto kind :
       {BlurShape::Kind::kGaussian, BlurShape::Kind::kDisk, BlurShape::Kind::kMotion}) {
    compare(kind, true, 0.0, 0.0);
    if (near) compare(kind, false, -shift.x, -shift.y);
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

/// The values of a posterior, without those that the prior fixes at 0.
std::vector<double> kernel_of(const Posterior& p, int radius) {
  const int side = 2 * radius + 1;
  std::vector<double> kernel(static_cast<std::size_t>(side * side), 0.0);
  for (Eigen::Index i = 0; i < p.solution.size(); ++i)
    kernel[static_cast<std::size_t>(p.used[static_cast<std::size_t>(i)])] = p.solution(i);
  return kernel;
}

/// What the kernel and the constant term leave of the pixels whose whole neighborhood is known.
Picture residual(const Picture& degraded, const Picture& sharp, const std::vector<double>& kernel,
                 int radius, double constant) {
  Picture result(degraded.width - 2 * radius, degraded.height - 2 * radius);
  const int side = 2 * radius + 1;
  for (int y = 0; y < result.height; ++y) {
    for (int x = 0; x < result.width; ++x)
      result.at(y, x) = degraded.at(y + radius, x + radius) - constant;
    for (int k = 0; k < side * side; ++k) {
      const double h = kernel[static_cast<std::size_t>(k)];
      if (h == 0.0) continue;
      for (int x = 0; x < result.width; ++x)
        result.at(y, x) -= h * sharp.at(y - k / side + 2 * radius, x - k % side + 2 * radius);
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
  Regression r = make_regression(d, s, radius);
  const Posterior without_prior = best_posterior(r);
  BlurEstimate e;
  e.shift_x = shift.x;
  e.shift_y = shift.y;
  e.radius = radius;
  e.explained = without_prior.explained;
  e.shape = best_shape(r, shift, without_prior.evidence);
  add_offset_prior(r, without_prior.noise, sharp_level, degraded_level);
  if (e.shape.kind != BlurShape::Kind::kNone) {
    const ShapeFit fit = fit_gain(r, e.shape);
    e.kernel = fit.kernel;
    e.noise_variance = fit.noise;
    e.transfer_variance.assign(static_cast<std::size_t>(kDesignSide) * kDesignSide, 0.0);
  } else {
    const Posterior p = posterior(r, without_prior.radius, without_prior.variance);
    e.kernel = kernel_of(p, radius);
    e.noise_variance = p.noise;
    e.prior_radius = p.radius;
    e.prior_variance = p.variance;
    e.transfer_variance = transfer_variance(p, radius);
  }
  const int side = 2 * radius + 1;
  double constant = r.mean;
  e.gain = 0.0;
  for (int k = 0; k < side * side; ++k) {
    const double h = e.kernel[static_cast<std::size_t>(k)];
    constant -= h * r.regressor_mean(k);
    e.gain += h;
    e.centroid_x += h * (k % side - radius);
    const int row = k / side;
    e.centroid_y += h * (row - radius);
  }
  if (e.gain > 0.0) {
    e.centroid_x /= e.gain;
    e.centroid_y /= e.gain;
  }
  e.offset = constant + degraded_level - e.gain * sharp_level;
  e.residual = residual(d, s, e.kernel, radius, constant);
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
  if (estimate.explained >= 0.5 && !(estimate.gain > 0.05)) {
    return tl::unexpected(make_error(
        Status::kInvalidArgument,
        "the degraded fragment is %.3g times the sharp one; it must be at least 0.05 times: one of "
        "them may be a negative",
        estimate.gain));
  }
  if (!(estimate.explained >= 0.5)) {
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
