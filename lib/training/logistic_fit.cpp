#include "training/logistic_fit.h"

#include <Eigen/Cholesky>

namespace ocellus::detail {

Eigen::VectorXd fit_logistic(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets,
                             const Eigen::VectorXd& center, const Eigen::VectorXd& deviation) {
  const Eigen::VectorXd precision = deviation.array().square().inverse();
  // The negative logarithm of the likelihood and of the prior.
  const auto cost_of = [&](const Eigen::VectorXd& w) {
    const Eigen::ArrayXd z = inputs * w;
    const Eigen::ArrayXd against = (targets.array() > 0.5).select(-z, z);
    return against.max(0.0).sum() + (-against.abs()).exp().log1p().sum() +
           0.5 * (w - center).cwiseAbs2().dot(precision);
  };
  Eigen::VectorXd w = center;
  double cost = cost_of(w);
  for (int i = 0; i < 100; ++i) {
    const Eigen::ArrayXd p = (1.0 + (-(inputs * w).array()).exp()).inverse();
    Eigen::MatrixXd hessian = inputs.transpose() * (p * (1.0 - p)).matrix().asDiagonal() * inputs;
    hessian.diagonal() += precision;
    Eigen::VectorXd step = hessian.ldlt().solve(
        inputs.transpose() * (targets.array() - p).matrix() - precision.cwiseProduct(w - center));
    // The cost is convex: a short enough step lowers it until the minimum is reached.
    double least = cost_of(w + step);
    for (int halved = 1; halved < 30 && !(least < cost); ++halved) {
      step *= 0.5;
      least = cost_of(w + step);
    }
    if (!(least < cost)) break;
    const bool done = cost - least < 1e-9 * cost;
    w += step;
    cost = least;
    if (done) break;
  }
  return w;
}

}  // namespace ocellus::detail
