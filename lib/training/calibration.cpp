// The confidence of answers, a logistic function.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/failure.h"
#include "ocellus/neocognitron_training.h"
#include "training/logistic_fit.h"

namespace ocellus {
Expected<ConfidenceCalibration> fit_confidence(const std::vector<CharacterScores>& scores,
                                               const std::vector<int>& classes,
                                               const ConfidenceCalibration& prior) noexcept {
  if (scores.size() != classes.size()) {
    return detail::invalid_argument("confidence: there are %zu scores and %zu classes",
                                    scores.size(), classes.size());
  }
  // Of the prior. With many mistakes it has no influence, with none the result is near its center.
  const Eigen::Vector3d deviation(10.0, 50.0, 10.0);
  const Eigen::Vector3d center(prior.offset, prior.per_margin, prior.per_similarity);
  Eigen::MatrixXd inputs(scores.size(), 3);
  Eigen::VectorXd right(scores.size());
  Eigen::Index answers = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i].best < 0) continue;  // no ink, no answer
    inputs.row(answers) << 1.0, scores[i].lead(), scores[i].similarity;
    right[answers++] = scores[i].best == classes[i] ? 1.0 : 0.0;
  }
  constexpr double kMost = 1e4;
  const Eigen::Vector3f c =
      detail::fit_logistic(inputs.topRows(answers), right.head(answers), center, deviation)
          .cwiseMin(kMost)
          .cwiseMax(-kMost)
          .cast<float>();
  return ConfidenceCalibration{c[0], c[1], c[2]};
}

std::vector<int> classes_of(const TrainedNeocognitron& network,
                            const LabeledImages& images) noexcept {
  std::vector<int> classes;
  classes.reserve(images.count());
  for (const std::uint16_t label : images.labels) {
    const std::string name =
        label < images.names.size() ? images.names[label] : std::to_string(label);
    const auto found = std::find(network.names.begin(), network.names.end(), name);
    classes.push_back(
        found == network.names.end() ? kNoClass : static_cast<int>(found - network.names.begin()));
  }
  return classes;
}

}  // namespace ocellus
