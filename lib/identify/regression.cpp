#include "identify/regression.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::identify {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Coefficients whose prior standard deviation is below this part of the center's are left out.
constexpr double kPriorCut = 1e-5;
constexpr double kOffsetDeviation = 2.0 / 255.0;

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

}  // namespace

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

void add_offset_prior(Regression& r, double noise, double sharp_level, double degraded_level) {
  const double precision = noise / (kOffsetDeviation * kOffsetDeviation);
  const double weight = r.samples * precision / (r.samples + precision);
  const VectorXd level = r.regressor_mean.array() + sharp_level;
  const double wanted = r.mean + degraded_level;
  r.gram.noalias() += weight * level * level.transpose();
  r.cross += weight * wanted * level;
  r.total += weight * wanted * wanted;
}

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
  VectorXd right(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const int l = p.used[static_cast<std::size_t>(j)];
    right(j) = p.deviation(j) * r.cross(l);
    for (Eigen::Index i = j; i < n; ++i) {
      p.factor(i, j) =
          p.deviation(i) * r.gram(p.used[static_cast<std::size_t>(i)], l) * p.deviation(j);
    }
    p.factor(j, j) += 1.0;
  }
  Eigen::LLT<Eigen::Ref<MatrixXd>> llt(p.factor);
  if (llt.info() != Eigen::Success) return p;
  const VectorXd half = llt.matrixL().solve(right);
  p.noise = std::max(r.total - half.squaredNorm(), 1e-14 * r.total) / r.samples;
  p.explained = 1.0 - p.noise * r.samples / std::max(r.total, 1e-300);
  p.evidence = -0.5 * r.samples * std::log(p.noise) - p.factor.diagonal().array().log().sum();
  p.solution = p.deviation.cwiseProduct(VectorXd(llt.matrixU().solve(half)));
  return p;
}

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

}  // namespace ocellus::identify
