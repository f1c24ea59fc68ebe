// The confidence of answers: a logistic function, fitted by Newton's method.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/failure.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus {
namespace {

using Three = std::array<double, 3>;

/// The negative logarithm of the likelihood and of a normal prior around `center`.
class Fit {
 public:
  struct Answer {
    Three inputs;  // 1, margin, similarity
    bool right;
  };

  Fit(std::vector<Answer> answers, const Three& center)
      : answers_(std::move(answers)), center_(center) {}

  double cost(const Three& c) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < c.size(); ++i)
      sum += 0.5 * std::pow((c[i] - center_[i]) / kDeviation[i], 2);
    for (const Answer& answer : answers_) {
      const double z = dot(c, answer.inputs);
      const double against = answer.right ? -z : z;
      sum += std::max(against, 0.0) + std::log1p(std::exp(-std::abs(against)));
    }
    return sum;
  }

  /// The step of Newton's method.
  Three step(const Three& c) const {
    std::array<Three, 3> a{};
    Three b{};
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double weight = 1.0 / (kDeviation[i] * kDeviation[i]);
      a[i][i] = weight;
      b[i] = -weight * (c[i] - center_[i]);
    }
    for (const Answer& answer : answers_) {
      const double p = 1.0 / (1.0 + std::exp(-dot(c, answer.inputs)));
      for (std::size_t i = 0; i < c.size(); ++i) {
        b[i] += ((answer.right ? 1.0 : 0.0) - p) * answer.inputs[i];
        for (std::size_t j = 0; j < c.size(); ++j)
          a[i][j] += p * (1.0 - p) * answer.inputs[i] * answer.inputs[j];
      }
    }
    return solve(a, b);
  }

 private:
  // Of the prior. With many mistakes it has no influence, with none the result is near its center.
  static constexpr Three kDeviation{10.0, 50.0, 10.0};

  static double dot(const Three& a, const Three& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }

  /// Elimination; `a` is positive definite.
  static Three solve(std::array<Three, 3> a, Three b) {
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t i = k + 1; i < 3; ++i) {
        const double factor = a[i][k] / a[k][k];
        for (std::size_t j = k; j < 3; ++j) a[i][j] -= factor * a[k][j];
        b[i] -= factor * b[k];
      }
    }
    for (std::size_t k = 3; k-- > 0;) {
      for (std::size_t j = k + 1; j < 3; ++j) b[k] -= a[k][j] * b[j];
      b[k] /= a[k][k];
    }
    return b;
  }

  std::vector<Answer> answers_;
  Three center_;
};

}  // namespace

Expected<ConfidenceCalibration> fit_confidence(const std::vector<CharacterScores>& scores,
                                               const std::vector<int>& classes,
                                               const ConfidenceCalibration& prior) noexcept {
  if (scores.size() != classes.size()) {
    return detail::invalid_argument("confidence: there are %zu scores and %zu classes",
                                    scores.size(), classes.size());
  }
  std::vector<Fit::Answer> answers;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i].best < 0) continue;  // no ink, no answer
    answers.push_back(
        {{1.0, static_cast<double>(scores[i].margin), static_cast<double>(scores[i].similarity)},
         scores[i].best == classes[i]});
  }
  Three c{static_cast<double>(prior.offset), static_cast<double>(prior.per_margin),
          static_cast<double>(prior.per_similarity)};
  const Fit fit(std::move(answers), c);
  double cost = fit.cost(c);
  for (int i = 0; i < 100; ++i) {
    Three step = fit.step(c);
    Three next = c;
    double least = cost;
    // The cost is convex: a short enough step lowers it until the minimum is reached.
    for (int halved = 0; halved < 30 && !(least < cost); ++halved) {
      for (std::size_t k = 0; k < c.size(); ++k) next[k] = c[k] + step[k];
      least = fit.cost(next);
      for (double& value : step) value *= 0.5;
    }
    if (!(least < cost)) break;
    const bool done = cost - least < 1e-9 * cost;
    c = next;
    cost = least;
    if (done) break;
  }
  constexpr double kMost = 1e4;
  for (double& value : c) value = std::clamp(value, -kMost, kMost);
  return ConfidenceCalibration{static_cast<float>(c[0]), static_cast<float>(c[1]),
                               static_cast<float>(c[2])};
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
