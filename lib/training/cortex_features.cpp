// Features of a cortical classifier: competitive Hebbian learning in integers.
#include <algorithm>

#include "training/feature_learner.h"

namespace ocellus::detail {
namespace {

class HebbianLearner : private FeatureLearner {
 public:
  HebbianLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays)
      : FeatureLearner(learning, arrays),
        probability_(inputs_ * static_cast<std::size_t>(minicolumns())),
        wins_(static_cast<std::size_t>(minicolumns()), 1) {}

  void learn() {
    begin();
    const std::uint32_t least_rate = fixed_rate(learning_.training.least_rate);
    for (int step = 0; step < learning_.training.feature_images && goes_on(step); ++step) {
      const int count = show(static_cast<std::uint32_t>(step), 0, kNextImage);
      compete();
      const int winner = best_score(learning_.scratch.scores, minicolumns());
      const std::uint32_t wins = ++wins_[static_cast<std::size_t>(winner)];
      move_probabilities(probability_of(winner), static_cast<int>(inputs_), seen(), count,
                         std::max(kRateOne / wins, least_rate));
      refresh(winner);
      if (rewires_after(step + 1)) rewire_inputs();
    }
  }

 private:
  void begin() {
    const auto fixed = [](double p) { return static_cast<std::uint32_t>(p * kProbabilityOne); };
    for (int m = 0; m < minicolumns(); ++m) {
      const int count = show_first(m);
      std::uint32_t* const p = probability_of(m);
      std::fill_n(p, inputs_, fixed(first_inactive()));
      for (int i = 0; i < count; ++i) p[seen()[i]] = fixed(kFirstActive);
      refresh(m);
    }
  }

  /// (a) from P.
  void refresh(int m) {
    if (rows() == static_cast<int>(inputs_)) {
      derive_weights(learning_.tables, probability_of(m), rows(), plan_.stride, &weight(0, m),
                     bias_[m]);
      return;
    }
    field_probability_.resize(static_cast<std::size_t>(rows()));
    for (int i = 0; i < rows(); ++i)
      field_probability_[static_cast<std::size_t>(i)] = probability_of(m)[connected(i)];
    derive_weights(learning_.tables, field_probability_.data(), rows(), plan_.stride, &weight(0, m),
                   bias_[m]);
  }

  void rewire_inputs() {
    double all = 0.0;
    for (const std::uint32_t wins : wins_) all += static_cast<double>(wins);
    std::vector<double> active;
    std::vector<double> joint;
    for (int m = 0; m < minicolumns(); ++m) {
      active.push_back(static_cast<double>(wins_[static_cast<std::size_t>(m)]) / all);
      const std::uint32_t* const p = probability_of(m);
      for (std::size_t i = 0; i < inputs_; ++i)
        joint.push_back(active.back() * p[i] / static_cast<double>(kProbabilityOne));
    }
    rewire_field(active, joint);
    for (int m = 0; m < minicolumns(); ++m) refresh(m);
  }

  std::uint32_t* probability_of(int m) noexcept {
    return probability_.data() + static_cast<std::size_t>(m) * inputs_;
  }

  std::vector<std::uint32_t> probability_;  // P, [minicolumn][input that is seen]
  std::vector<std::uint32_t> field_probability_;
  std::vector<std::uint32_t> wins_;
};

}  // namespace

void learn_features(const LearningHypercolumn& learning, const FeatureArrays& arrays) {
  if (learning.training.rule == CortexRule::kBcpnn) {
    learn_bcpnn_features(learning, arrays);
    return;
  }
  HebbianLearner(learning, arrays).learn();
}

}  // namespace ocellus::detail
