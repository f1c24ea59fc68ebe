#include "identify/filter_design.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "restoration/stability.h"

namespace ocellus::identify {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kG = kDesignSide;
// The sign of the delay in rows and in columns of each quadrant.
constexpr std::array<std::array<int, 2>, 4> kSign{{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}};
// A penalty on the squares of the coefficients, relative to the power of the weighted target. It
// keeps quadrants from canceling each other with large coefficients, which single precision could
// not hold.
constexpr double kRidge = 1e-7;
constexpr int kRootAngles = 64;
constexpr int kProofAngles = 512;

int wrap(int k, int side) {
  return k < 0 ? k + side : k;
}

/// The spectrum of support x support coefficients of a quadrant.
template <typename Values>
Spectrum spectrum_of(const Values& values, int support, std::array<int, 2> sign, int side) {
  Spectrum s(side);
  for (int k1 = 0; k1 < support; ++k1) {
    for (int k2 = 0; k2 < support; ++k2) {
      s.at(wrap(sign[0] * k1, side), wrap(sign[1] * k2, side)) =
          static_cast<double>(values[static_cast<std::size_t>(k1 * support + k2)]);
    }
  }
  fourier_transform(s);
  return s;
}

/// Coefficients of one design problem. a has m x m values per quadrant, b has n x n.
struct Coefficients {
  int m = 0;
  int n = 0;
  std::array<std::vector<double>, 4> a;
  std::array<std::vector<double>, 4> b;
};

struct Spectra {
  std::array<Spectrum, 4> numerator;
  std::array<Spectrum, 4> inverse;  // 1 / D
  Spectrum total{kG};
};

Spectra evaluate(const Coefficients& c) {
  Spectra s;
  for (std::size_t q = 0; q < 4; ++q) {
    s.numerator[q] = spectrum_of(c.a[q], c.m, kSign[q], kG);
    s.inverse[q] = spectrum_of(c.b[q], c.n, kSign[q], kG);
    for (std::size_t w = 0; w < s.total.values.size(); ++w) {
      s.inverse[q].values[w] = 1.0 / (1.0 - s.inverse[q].values[w]);
      s.total.values[w] += product(s.numerator[q].values[w], s.inverse[q].values[w]);
    }
  }
  return s;
}

/// Scales b(k1,k2) by powers of a factor until the largest root is at most `bound`. Returns whether
/// that was necessary.
bool restrict_roots(std::vector<double>& b, int n, double bound, int angles = kRootAngles) {
  bool changed = false;
  for (int i = 0; i < 200; ++i) {
    const double root = detail::test_roots(b.data(), n, angles).largest_root;
    if (root <= bound) return changed;
    changed = true;
    const double factor = std::clamp(0.9995 * bound / root, 0.5, 0.9995);
    for (int k1 = 0; k1 < n; ++k1) {
      for (int k2 = 0; k2 < n; ++k2) {
        b[static_cast<std::size_t>(k1 * n + k2)] *= std::pow(factor, k1 + k2);
      }
    }
  }
  std::fill(b.begin(), b.end(), 0.0);
  return true;
}

/// The denominator of each quadrant by Shanks' method. The response w of the target is divided
/// among the quadrants, which share their axes. Outside of the feed-forward part, w(i,j) = sum
/// b(k1,k2) w(i-k1,j-k2), which is solved by least squares.
void start_from_shanks(const DesignTarget& target, double bound, Coefficients& c) {
  constexpr int kSide = 32;
  const int n = c.n;
  const int unknowns = n * n - 1;
  if (unknowns == 0) return;
  Spectrum w = target.response;
  fourier_transform(w, true);
  for (std::size_t q = 0; q < 4; ++q) {
    const auto response = [&](int i, int j) {
      if (i < 0 || j < 0) return 0.0;
      const double share = (i == 0 ? 0.5 : 1.0) * (j == 0 ? 0.5 : 1.0);
      return share * w.at(wrap(kSign[q][0] * i, kG), wrap(kSign[q][1] * j, kG)).real();
    };
    MatrixXd rows = MatrixXd::Zero(kSide * kSide, unknowns);
    VectorXd right = VectorXd::Zero(kSide * kSide);
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        if (i < n && j < n) continue;
        const Eigen::Index row = i * kSide + j;
        right(row) = response(i, j);
        for (int k = 1; k <= unknowns; ++k) rows(row, k - 1) = response(i - k / n, j - k % n);
      }
    }
    MatrixXd normal = rows.transpose() * rows;
    const double ridge = 1e-2 * normal.trace() / unknowns;
    normal.diagonal().array() += ridge > 0.0 ? ridge : 1.0;
    const VectorXd solution = normal.llt().solve(rows.transpose() * right);
    for (int k = 1; k <= unknowns; ++k) c.b[q][static_cast<std::size_t>(k)] = solution(k - 1);
    restrict_roots(c.b[q], n, 0.95 * bound);
  }
}

/// The normal equations of the linearized problem. Unknowns: for each quadrant a, then b without
/// b(0,0).
class NormalEquations {
 public:
  /// The derivatives are delays of one spectrum per quadrant and kind: 1/D for a, A/D^2 for b.
  NormalEquations(const Spectra& s, const DesignTarget& target, const std::vector<double>& weight) {
    std::array<std::vector<Complex>, 8> basis;
    const std::size_t size = weight.size();
    for (std::size_t q = 0; q < 4; ++q) {
      basis[2 * q] = s.inverse[q].values;
      basis[2 * q + 1].resize(size);
      for (std::size_t w = 0; w < size; ++w) {
        basis[2 * q + 1][w] = product(s.numerator[q].values[w],
                                      product(s.inverse[q].values[w], s.inverse[q].values[w]));
      }
    }
    // Two real results per transform: one in the real part, one in the imaginary part.
    std::vector<std::pair<int, int>> pairs;
    for (int p = 0; p < 8; ++p) {
      for (int r = p; r <= 8; ++r) pairs.emplace_back(p, r);
    }
    std::vector<Complex> error(size);
    for (std::size_t w = 0; w < size; ++w) error[w] = target.response.values[w] - s.total.values[w];
    const auto spectrum = [&](int k) -> const std::vector<Complex>& {
      return k == 8 ? error : basis[static_cast<std::size_t>(k)];
    };
    for (std::size_t k = 0; k < pairs.size(); k += 2) {
      const bool two = k + 1 < pairs.size();
      const auto& p0 = spectrum(pairs[k].first);
      const auto& r0 = spectrum(pairs[k].second);
      const auto& p1 = spectrum(two ? pairs[k + 1].first : pairs[k].first);
      const auto& r1 = spectrum(two ? pairs[k + 1].second : pairs[k].second);
      Spectrum x(kG);
      for (std::size_t w = 0; w < size; ++w) {
        const Complex u = weight[w] * product(std::conj(p0[w]), r0[w]);
        const Complex v = weight[w] * product(std::conj(p1[w]), r1[w]);
        x.values[w] = {u.real() - v.imag(), u.imag() + v.real()};
      }
      fourier_transform(x, true);
      auto& first = table(pairs[k]);
      first.resize(size);
      for (std::size_t w = 0; w < size; ++w) first[w] = x.values[w].real() * kG * kG;
      if (!two) continue;
      auto& second = table(pairs[k + 1]);
      second.resize(size);
      for (std::size_t w = 0; w < size; ++w) second[w] = x.values[w].imag() * kG * kG;
    }
  }

  /// Unknowns of one kind: `with_feedback` false leaves b out.
  struct Unknown {
    int basis;
    int row;  // signed delay
    int column;
    double* value;
  };

  static std::vector<Unknown> unknowns(Coefficients& c, bool with_feedback) {
    std::vector<Unknown> list;
    for (int q = 0; q < 4; ++q) {
      const auto sign = kSign[static_cast<std::size_t>(q)];
      for (int kind = 0; kind < (with_feedback ? 2 : 1); ++kind) {
        const int side = kind == 0 ? c.m : c.n;
        auto& values =
            kind == 0 ? c.a[static_cast<std::size_t>(q)] : c.b[static_cast<std::size_t>(q)];
        for (int k = kind; k < side * side; ++k) {
          list.push_back({2 * q + kind, sign[0] * (k / side), sign[1] * (k % side),
                          &values[static_cast<std::size_t>(k)]});
        }
      }
    }
    return list;
  }

  /// Solves for the step of the unknowns with Marquardt's damping. The lower triangle of `matrix`
  /// is written.
  VectorXd solve(const std::vector<Unknown>& list, double damping, MatrixXd& matrix) const {
    const auto count = static_cast<Eigen::Index>(list.size());
    matrix.resize(count, count);
    VectorXd right(count);
    for (Eigen::Index c = 0; c < count; ++c) {
      const Unknown& u = list[static_cast<std::size_t>(c)];
      right(c) = table_at(table({u.basis, 8}), u.row, u.column) - kRidge * *u.value;
      for (Eigen::Index r = c; r < count; ++r) {
        const Unknown& v = list[static_cast<std::size_t>(r)];
        // v's basis is not before u's.
        matrix(r, c) = table_at(table({u.basis, v.basis}), u.row - v.row, u.column - v.column);
      }
      matrix(c, c) = (matrix(c, c) + kRidge) * (1.0 + damping);
    }
    // In place: the matrix of a large support has more than 100 MB.
    Eigen::LLT<Eigen::Ref<MatrixXd>> llt(matrix);
    return llt.solve(right);
  }

 private:
  static double table_at(const std::vector<double>& values, int row, int column) {
    return values[static_cast<std::size_t>(wrap(row, kG) * kG + wrap(column, kG))];
  }
  std::vector<double>& table(std::pair<int, int> p) {
    return tables_[static_cast<std::size_t>(p.first * 9 + p.second)];
  }
  const std::vector<double>& table(std::pair<int, int> p) const {
    return tables_[static_cast<std::size_t>(p.first * 9 + p.second)];
  }

  std::array<std::vector<double>, 81> tables_;
};

class Designer {
 public:
  explicit Designer(const DesignTarget& target) : target_(target) {
    const std::size_t size = target.input_power.size();
    double sum = 0.0;
    for (double p : target.input_power) sum += p;
    weight_.resize(size);
    for (std::size_t w = 0; w < size; ++w) weight_[w] = target.input_power[w] / sum;
    // The mean of the picture is far larger than its variance.
    weight_[0] *= 2.0;
  }

  double cost(const Coefficients& c, const Spectra& s) const {
    double sum = 0.0;
    for (std::size_t w = 0; w < weight_.size(); ++w) {
      sum += weight_[w] * std::norm(target_.response.values[w] - s.total.values[w]);
    }
    for (std::size_t q = 0; q < 4; ++q) {
      for (double a : c.a[q]) sum += kRidge * a * a;
      for (double b : c.b[q]) sum += kRidge * b * b;
    }
    return sum;
  }

  /// The best numerators for the denominators of `c`: a linear problem.
  void fit_numerators(Coefficients& c) {
    const Spectra s = evaluate(c);
    const NormalEquations equations(s, target_, weight_);
    Coefficients next = c;
    const auto list = NormalEquations::unknowns(next, false);
    const VectorXd step = equations.solve(list, 0.0, matrix_);
    for (std::size_t k = 0; k < list.size(); ++k)
      *list[k].value += step(static_cast<Eigen::Index>(k));
    // A large problem is so ill-conditioned that rounding errors can spoil the solution.
    if (cost(next, evaluate(next)) < cost(c, s)) c = std::move(next);
  }

  /// Levenberg-Marquardt over all coefficients. Returns the cost.
  double refine(Coefficients& c, double bound, int max_iterations, int& iterations) {
    Spectra s = evaluate(c);
    double best = cost(c, s);
    double damping = 1e-3;
    int slow = 0;
    for (int i = 0; i < max_iterations && slow < 2; ++i) {
      const NormalEquations equations(s, target_, weight_);
      bool improved = false;
      while (damping < 1e6) {
        Coefficients next = c;
        const auto list = NormalEquations::unknowns(next, true);
        const VectorXd step = equations.solve(list, damping, matrix_);
        if (step.allFinite()) {
          for (std::size_t k = 0; k < list.size(); ++k) {
            *list[k].value += step(static_cast<Eigen::Index>(k));
          }
          bool restricted = false;
          for (auto& b : next.b) restricted = restrict_roots(b, next.n, bound) || restricted;
          // After b was moved, a does not fit any more.
          if (restricted) fit_numerators(next);
          Spectra spectra = evaluate(next);
          const double value = cost(next, spectra);
          if (value < best) {
            slow = best - value < 1e-3 * best ? slow + 1 : 0;
            best = value;
            c = std::move(next);
            s = std::move(spectra);
            improved = true;
            break;
          }
        }
        damping *= 5.0;
      }
      ++iterations;
      if (!improved) break;
      damping = std::max(damping / 4.0, 1e-9);
    }
    return best;
  }

  double excess(const Coefficients& c) const {
    const Spectra s = evaluate(c);
    double sum = 0.0;
    for (std::size_t w = 0; w < weight_.size(); ++w) {
      sum += target_.input_power[w] * std::norm(target_.response.values[w] - s.total.values[w]);
    }
    return sum / static_cast<double>(weight_.size());
  }

 private:
  const DesignTarget& target_;
  std::vector<double> weight_;
  MatrixXd matrix_;
};

Coefficients zeros(int m, int n) {
  Coefficients c;
  c.m = m;
  c.n = n;
  for (std::size_t q = 0; q < 4; ++q) {
    c.a[q].assign(static_cast<std::size_t>(m * m), 0.0);
    c.b[q].assign(static_cast<std::size_t>(n * n), 0.0);
  }
  return c;
}

std::vector<double> enlarged(const std::vector<double>& values, int from, int to) {
  std::vector<double> result(static_cast<std::size_t>(to * to), 0.0);
  for (int i = 0; i < from; ++i) {
    std::copy_n(values.begin() + i * from, from, result.begin() + i * to);
  }
  return result;
}

RestorationFilter rounded(const Coefficients& c) {
  RestorationFilter filter;
  filter.support = c.m;
  const auto round = [](const std::vector<double>& values, RestorationFilter::Taps& taps) {
    std::transform(values.begin(), values.end(), taps.begin(),
                   [](double value) { return static_cast<float>(value); });
  };
  for (std::size_t q = 0; q < 4; ++q) {
    round(c.a[q], filter.feedforward[q]);
    round(enlarged(c.b[q], c.n, c.m), filter.feedback[q]);
  }
  return filter;
}

}  // namespace

Spectrum transfer_function(const RestorationFilter& filter, int side) {
  Spectrum total(side);
  for (std::size_t q = 0; q < 4; ++q) {
    const Spectrum a = spectrum_of(filter.feedforward[q], filter.support, kSign[q], side);
    const Spectrum b = spectrum_of(filter.feedback[q], filter.support, kSign[q], side);
    for (std::size_t w = 0; w < total.values.size(); ++w) {
      total.values[w] += a.values[w] / (1.0 - b.values[w]);
    }
  }
  return total;
}

Design design_filter(const DesignTarget& target, int support, int feedback_support,
                     double largest_root) {
  Designer designer(target);
  Design design;
  // A large filter starts from a smaller one, whose iterations are much cheaper.
  const int small = std::min(support, std::max(9, feedback_support));
  Coefficients c = zeros(small, feedback_support);
  start_from_shanks(target, largest_root, c);
  designer.fit_numerators(c);
  double cost = designer.refine(c, largest_root, 40, design.iterations);
  // Where the result is not close to the target, the descent may have ended at the bound of the
  // roots. Another start may do better, or one that meets smaller bounds first.
  for (const bool slowly : {false, true}) {
    if (designer.excess(c) <= 0.01 * target.ideal_error || feedback_support == 1) break;
    Coefficients other = zeros(small, feedback_support);
    designer.fit_numerators(other);
    if (slowly) {
      for (const double part : {0.8, 0.9})
        designer.refine(other, part * largest_root, 8, design.iterations);
    }
    const double other_cost = designer.refine(other, largest_root, 40, design.iterations);
    if (other_cost < cost) {
      c = std::move(other);
      cost = other_cost;
    }
  }
  if (small < support) {
    for (auto& a : c.a) a = enlarged(a, small, support);
    c.m = support;
    designer.fit_numerators(c);
    designer.refine(c, largest_root, 6, design.iterations);
  }
  // More angles than during the descent, in case a root hid between two of them.
  bool restricted = false;
  for (auto& b : c.b) restricted = restrict_roots(b, c.n, largest_root, kProofAngles) || restricted;
  if (restricted) designer.fit_numerators(c);
  design.excess = designer.excess(c);
  design.filter = rounded(c);
  return design;
}

}  // namespace ocellus::identify
