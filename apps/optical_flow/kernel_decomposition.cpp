#include "apps/optical_flow/kernel_decomposition.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace ocellus::app {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Columns are terms: the factors along x, y and time.
using Factors = std::array<MatrixXd, 3>;

constexpr int kMostSteps = 300;
constexpr int kRandomStarts = 3;
/// An error that single precision cannot represent.
constexpr double kExact = 1e-7;
/// Improvement of the error in a step, relative to it, below which the steps end.
constexpr double kSmallestStep = 1e-5;

/// Terms that almost cancel each other make the system singular. This fraction of its trace on the
/// diagonal keeps them finite.
constexpr double kRidge = 1e-12;

}  // namespace

struct KernelDecomposer::Solver {
  Solver(int nx, int ny, int nt, int terms) : sizes{nx, ny, nt}, rank(terms) {}

  std::array<Index, 3> sizes;
  Index rank;
  /// The kernel, unfolded along each axis: a row for each tap of the axis. In the columns, the
  /// first of the other axes changes fastest.
  std::array<MatrixXd, 3> unfolded;
  double norm = 0.0;
  Factors last;  // of the last kernel; empty for the first one

  static constexpr std::array<std::array<std::size_t, 2>, 3> kOthers = {{{1, 2}, {0, 2}, {0, 1}}};

  void set(const float* taps) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto& [a, b] = kOthers[axis];
      unfolded[axis].resize(sizes[axis], sizes[a] * sizes[b]);
    }
    for (Index t = 0; t < sizes[2]; ++t)
      for (Index y = 0; y < sizes[1]; ++y)
        for (Index x = 0; x < sizes[0]; ++x) {
          const auto value = static_cast<double>(*taps++);
          unfolded[0](x, t * sizes[1] + y) = value;
          unfolded[1](y, t * sizes[0] + x) = value;
          unfolded[2](t, y * sizes[0] + x) = value;
        }
    norm = unfolded[0].norm();
  }

  /// The products of the other two factors: a row for each column of the unfolded kernel.
  MatrixXd products(const Factors& f, std::size_t axis) const {
    const auto& [a, b] = kOthers[axis];
    MatrixXd all(sizes[a] * sizes[b], rank);
    for (Index r = 0; r < rank; ++r)
      for (Index j = 0; j < sizes[b]; ++j)
        all.col(r).segment(j * sizes[a], sizes[a]) = f[b](j, r) * f[a].col(r);
    return all;
  }

  double error_of(const Factors& f) const {
    return (unfolded[0] - f[0] * products(f, 0).transpose()).norm() / norm;
  }

  double improve(Factors& f) const {
    double error = std::numeric_limits<double>::infinity();
    for (int step = 0; step < kMostSteps; ++step) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const MatrixXd others = products(f, axis);
        MatrixXd gram = others.transpose() * others;
        gram.diagonal().array() += kRidge * gram.trace() + std::numeric_limits<double>::min();
        f[axis] = gram.ldlt().solve((unfolded[axis] * others).transpose()).transpose();
        if (axis == 2) break;
        // Equal norms of the terms keep the next system well conditioned.
        for (Index r = 0; r < rank; ++r)
          if (const double length = f[axis].col(r).norm(); length > 0.0) f[axis].col(r) /= length;
      }
      const double before = error;
      error = error_of(f);
      if (error <= kExact || before - error <= kSmallestStep * error) break;
    }
    return error;
  }

  /// The first singular vectors along each axis; random ones beyond the number of taps.
  Factors singular_vectors(std::mt19937& random) const {
    Factors f = random_factors(random);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(unfolded[axis] *
                                                           unfolded[axis].transpose());
      const Index count = std::min(rank, sizes[axis]);
      f[axis].leftCols(count) = solver.eigenvectors().rightCols(count).rowwise().reverse();
    }
    return f;
  }

  /// The terms themselves of a kernel that has no more of them than taps along two axes, by
  /// simultaneous diagonalization: two random sums of its slices along the third axis are
  /// A D1 B^T and A D2 B^T with diagonal D1 and D2, so the columns of A are the eigenvectors of the
  /// one times the inverse of the other. `f`: the singular vectors.
  Factors diagonalized(Factors f, std::mt19937& random) const {
    const std::size_t slices =
        static_cast<std::size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    const auto& [a, b] = kOthers[slices];
    const Factors weights = random_factors(random);
    const auto sum = [&](Index column) {
      const VectorXd whole = unfolded[slices].transpose() * weights[slices].col(column);
      return MatrixXd(f[a].transpose() * whole.reshaped(sizes[a], sizes[b]) * f[b]);
    };
    const MatrixXd first = sum(0);
    const MatrixXd second = sum(1);
    const MatrixXd vectors = Eigen::EigenSolver<MatrixXd>(
                                 first * second.completeOrthogonalDecomposition().pseudoInverse())
                                 .eigenvectors()
                                 .real();
    f[b] = f[b] * (vectors.completeOrthogonalDecomposition().pseudoInverse() * second).transpose();
    f[a] = f[a] * vectors;
    f[slices] = products(f, slices)
                    .completeOrthogonalDecomposition()
                    .solve(unfolded[slices].transpose())
                    .transpose();
    return f;
  }

  Factors random_factors(std::mt19937& random) const {
    Factors f;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      f[axis].resize(sizes[axis], rank);
      for (double& value : f[axis].reshaped())
        value = static_cast<double>(random()) / 2147483648.0 - 1.0;
    }
    return f;
  }

  Factors best() {
    std::mt19937 random(1);
    Factors best_factors;
    double best_error = std::numeric_limits<double>::infinity();
    const auto try_from = [&](Factors start) {
      const double error = improve(start);
      if (!(error < best_error)) return;
      best_error = error;
      best_factors = std::move(start);
    };
    if (last[0].size() > 0) try_from(last);
    const Factors singular = singular_vectors(random);
    if (best_error > kExact) try_from(singular);
    if (best_error > kExact && rank > 1) try_from(diagonalized(singular, random));
    for (int i = 0; i < kRandomStarts && best_error > kExact; ++i) try_from(random_factors(random));
    return best_factors;
  }
};

KernelDecomposer::KernelDecomposer(int nx, int ny, int nt, int rank)
    : solver_(std::make_unique<Solver>(nx, ny, nt, rank)) {}
KernelDecomposer::~KernelDecomposer() = default;

Decomposition KernelDecomposer::decompose(const float* taps) {
  Solver& s = *solver_;
  s.set(taps);
  Factors f;
  for (std::size_t axis = 0; axis < 3; ++axis) f[axis].setZero(s.sizes[axis], s.rank);
  if (s.norm > 0.0) s.last = f = s.best();

  std::vector<double> sizes(static_cast<std::size_t>(s.rank));
  for (Index r = 0; r < s.rank; ++r) {
    double& size = sizes[static_cast<std::size_t>(r)];
    size = f[0].col(r).norm() * f[1].col(r).norm() * f[2].col(r).norm();
    // The same norm along each axis.
    for (MatrixXd& factor : f)
      if (size > 0.0) factor.col(r) *= std::cbrt(size) / factor.col(r).norm();
  }
  std::vector<Index> order(sizes.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return sizes[static_cast<std::size_t>(a)] > sizes[static_cast<std::size_t>(b)];
  });

  Decomposition result;
  Factors rounded = f;
  for (const Index r : order) {
    SeparableTerm& term = result.terms.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::vector<float>& to = axis == 0 ? term.x : axis == 1 ? term.y : term.t;
      for (Index i = 0; i < s.sizes[axis]; ++i) {
        to.push_back(static_cast<float>(f[axis](i, r)));
        rounded[axis](i, r) = static_cast<double>(to.back());
      }
    }
  }
  if (s.norm > 0.0) result.error = s.error_of(rounded);
  return result;
}

}  // namespace ocellus::app
