// Logistic regression.
#pragma once

#include <Eigen/Core>

namespace ocellus::detail {

/// The weights w for which p = 1 / (1 + exp(-w . x)) explains `targets` (0 or 1) best, under a
/// normal prior of w. A row of `inputs` is an x. Newton's method.
Eigen::VectorXd fit_logistic(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& targets,
                             const Eigen::VectorXd& center, const Eigen::VectorXd& deviation);

}  // namespace ocellus::detail
