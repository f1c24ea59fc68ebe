// Linear regression of a degraded picture on displaced copies of a sharp one, with a prior of its
// coefficients that the evidence selects.
#pragma once

#include <Eigen/Core>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "identify/picture.h"

namespace ocellus::identify {

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

/// The problem without the constant term.
Regression make_regression(Moments&& moments, int radius);

/// Adds a prior of the constant term to the regression, with a standard deviation of 2 gray levels
/// of 8 bits. A fragment with few details does not tell gain and offset apart, and an offset is
/// usually small. The levels are the means that were taken off the pictures.
void add_offset_prior(Regression& regression, double noise, double sharp_level,
                      double degraded_level);

/// The moments of each block. The pictures' means should be 0, for accuracy.
std::vector<Moments> block_moments(const Picture& degraded, const Picture& sharp, int radius,
                                   const std::array<Block, 4>& blocks);

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

/// The posterior for a prior of this radius and of this variance at the center.
Posterior posterior(const Regression& regression, double radius, double variance);

/// Climbs the evidence over the radius and the variance of the prior, on a grid of factors.
Posterior best_posterior(const Regression& regression);

}  // namespace ocellus::identify
