// Features of a cortical classifier by CortexRule::kBcpnn.
#include <algorithm>
#include <cmath>

#include "training/feature_learner.h"

namespace ocellus::detail {
namespace {

/// P_m in the logarithm of (f), at least: a minicolumn that never wins keeps a bias.
constexpr double kLeastActivity = 1e-6;

class BcpnnLearner : private FeatureLearner {
 public:
  BcpnnLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays)
      : FeatureLearner(learning, arrays),
        active_(static_cast<std::size_t>(minicolumns())),
        given_(active_.size() * inputs_),
        sums_(active_.size()),
        products_(given_.size()),
        off_sums_(active_.size()) {}

  void learn() {
    begin();
    const CortexTraining& training = learning_.training;
    int batch = 0;
    for (int step = 0; step < training.feature_images && goes_on(step); ++step) {
      const int count = show(static_cast<std::uint32_t>(step), 0, kNextImage);
      compete();
      add(count);
      if (++batch == training.batch || step + 1 == training.feature_images) {
        move_traces(batch);
        batch = 0;
      }
      if (rewires_after(step + 1)) rewire_inputs();
    }
  }

 private:
  void begin() {
    std::fill(active_.begin(), active_.end(), 1.0 / minicolumns());
    for (int m = 0; m < minicolumns(); ++m) {
      const int count = show_first(m);
      double* const given = given_of(m);
      std::fill_n(given, inputs_, first_inactive());
      for (int i = 0; i < count; ++i) given[seen()[i]] = kFirstActive;
      refresh_weights(m);
      refresh_bias(m);
    }
  }

  /// Adds the activities of an image to the sums of the batch.
  void add(int count) {
    CortexActivity activity;
    share_activity(learning_.shape, minicolumns(), learning_.scratch.scores, activity);
    for (std::size_t k = 0; k < static_cast<std::size_t>(learning_.shape.parameters.competitors);
         ++k) {
      const std::int32_t share = activity.share[k];
      if (share == 0) continue;
      const std::size_t m = activity.minicolumn[k];
      sums_[m] += share;
      std::int32_t* const products = products_.data() + m * inputs_;
      for (int i = 0; i < count; ++i) products[seen()[i]] += share;
    }
  }

  /// (e). P_m and P_im / P_m are kept: the quotient of a minicolumn without activity in the batch
  /// does not change.
  void move_traces(int batch) {
    const auto rate = static_cast<double>(learning_.training.trace_rate);
    const double unit = rate / (static_cast<double>(kCortexActivityOne) * batch);
    for (int m = 0; m < minicolumns(); ++m) {
      const auto at = static_cast<std::size_t>(m);
      const double before = active_[at] * (1.0 - rate);
      active_[at] = before + unit * sums_[at];
      if (sums_[at] != 0) {
        double* const given = given_of(m);
        std::int32_t* const products = products_.data() + at * inputs_;
        for (std::size_t i = 0; i < inputs_; ++i)
          given[i] = (before * given[i] + unit * products[i]) / active_[at];
        std::fill_n(products, inputs_, 0);
        sums_[at] = 0;
        refresh_weights(m);
      }
      refresh_bias(m);
    }
  }

  /// w of (f).
  void refresh_weights(int m) {
    const double* const given = given_of(m);
    double off_sum = 0.0;
    for (int i = 0; i < rows(); ++i) {
      const double p = std::clamp(given[connected(i)], kLeastProbability, 1.0 - kLeastProbability);
      double w = std::log(p);
      if (learning_.training.off_cells) {
        const double off = std::log(1.0 - p);
        w -= off;
        off_sum += off;
      }
      weight(i, m) = static_cast<std::int8_t>(std::lround(kCortexWeightScale * w));
    }
    off_sums_[static_cast<std::size_t>(m)] = off_sum;
  }

  /// b of (f).
  void refresh_bias(int m) {
    const auto at = static_cast<std::size_t>(m);
    const double prior = static_cast<double>(learning_.training.bias_gain) *
                         std::log(std::max(active_[at], kLeastActivity));
    bias_[m] = static_cast<std::int32_t>(std::lround(kCortexWeightScale * (prior + off_sums_[at])));
  }

  void rewire_inputs() {
    std::vector<double> joint(given_);
    for (std::size_t m = 0; m < active_.size(); ++m)
      for (std::size_t i = 0; i < inputs_; ++i) joint[m * inputs_ + i] *= active_[m];
    rewire_field(active_, joint);
    for (int m = 0; m < minicolumns(); ++m) {
      refresh_weights(m);
      refresh_bias(m);
    }
  }

  double* given_of(int m) noexcept { return given_.data() + static_cast<std::size_t>(m) * inputs_; }

  std::vector<double> active_;          // P_m
  std::vector<double> given_;           // P_im / P_m, [minicolumn][input]
  std::vector<std::int32_t> sums_;      // of the batch, in units of 1 / kCortexActivityOne
  std::vector<std::int32_t> products_;  // with the inputs, [minicolumn][input]
  std::vector<double> off_sums_;        // terms of the off-on cells in b
};

}  // namespace

void learn_bcpnn_features(const LearningHypercolumn& learning, const FeatureArrays& arrays) {
  BcpnnLearner(learning, arrays).learn();
}

}  // namespace ocellus::detail
