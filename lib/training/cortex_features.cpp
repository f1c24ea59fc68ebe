// Features of a cortical classifier: competitive Hebbian learning in integers, and
// CortexRule::kBcpnn.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/philox.h"
#include "training/cortex_activity.h"

namespace ocellus::detail {
namespace {

/// Tries to find an image with an active input.
constexpr int kTries = 20;
/// Counters of random numbers, beside those of features, order and copies.
constexpr std::uint32_t kFields = 7u << 29;

double x_log_x(double x) noexcept {
  return x > 0.0 ? x * std::log(x) : 0.0;
}

}  // namespace

std::vector<double> mutual_information(std::span<const double> active,
                                       std::span<const double> joint) {
  const std::size_t inputs = joint.size() / active.size();
  std::vector<double> share(inputs, 0.0);  // P_i
  std::vector<double> information(inputs, 0.0);
  for (std::size_t m = 0; m < active.size(); ++m) {
    const double* const row = joint.data() + m * inputs;
    const double both = x_log_x(active[m]);
    for (std::size_t i = 0; i < inputs; ++i) {
      share[i] += row[i];
      // By rounding, P_im may be above P_m.
      const double off = std::max(active[m] - row[i], 0.0);
      information[i] += x_log_x(row[i]) + x_log_x(off) - both;
    }
  }
  for (std::size_t i = 0; i < inputs; ++i)
    information[i] -= x_log_x(share[i]) + x_log_x(std::max(1.0 - share[i], 0.0));
  return information;
}

int rewire(std::span<std::uint16_t> field, std::span<const double> information, int exchanges) {
  std::vector<bool> connected(information.size(), false);
  for (const std::uint16_t input : field) connected[input] = true;
  std::vector<std::uint16_t> least(field.begin(), field.end());
  std::vector<std::uint16_t> most;
  for (std::size_t i = 0; i < information.size(); ++i)
    if (!connected[i]) most.push_back(static_cast<std::uint16_t>(i));
  std::stable_sort(least.begin(), least.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] < information[b];
  });
  std::stable_sort(most.begin(), most.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] > information[b];
  });
  const std::size_t limit =
      std::min({static_cast<std::size_t>(exchanges), least.size(), most.size()});
  std::size_t done = 0;
  while (done < limit && information[most[done]] > information[least[done]]) {
    least[done] = most[done];
    ++done;
  }
  std::sort(least.begin(), least.end());
  std::copy(least.begin(), least.end(), field.begin());
  return static_cast<int>(done);
}

void draw_field(std::uint64_t seed, int hypercolumn, int inputs, std::span<std::uint16_t> field) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(inputs));
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::uint32_t word = philox(
        seed,
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(hypercolumn), 0, kFields})[0];
    std::swap(all[i], all[i + (std::uint64_t{word} * (all.size() - i) >> 32)]);
    field[i] = all[i];
  }
  std::sort(field.begin(), field.end());
}

namespace {

// ---- what the rules share: the images that a hypercolumn sees, its field and its rows of the
// model

/// A minicolumn begins with these probabilities of the active and the other inputs.
constexpr double kFirstActive = 0.9;
constexpr double kFirstInactive = 0.03;

class FeatureLearner {
 public:
  FeatureLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays);

 protected:
  int minicolumns() const noexcept { return plan_.minicolumns; }
  /// With which a minicolumn begins. The winner of a hypercolumn below is one of its minicolumns.
  double first_inactive() const noexcept {
    return learning_.level == 0 ? kFirstInactive : 0.5 / plan_.below_cells;
  }

  /// Loads random images for a minicolumn that begins, until one has an active input. Returns the
  /// number of active inputs, those outside of the field included: `seen()[0]`, ...
  int show_first(int minicolumn);
  const std::uint16_t* seen() const noexcept {
    return has_field() ? all_.data() : learning_.scratch.active;
  }

  /// Computes s of all minicolumns from the weights of the model. Then calls learn(step, active
  /// inputs) for random images, and rewire() where the field is to be rewired.
  template <typename Learn, typename Rewire>
  void for_each_image(const Learn& learn, const Rewire& rewire) {
    for (int step = 0; step < learning_.training.feature_images && goes_on(step); ++step) {
      const int count = show(static_cast<std::uint32_t>(step), 0, kNextImage);
      detail::compete(weights_, bias_, learning_.scratch.active, active_, plan_.padded,
                      learning_.scratch.scores);
      learn(step, count);
      if (rewires_after(step + 1)) rewire();
    }
  }
  /// (g), from P_m and P_im.
  void rewire_field(std::span<const double> active, std::span<const double> joint) {
    rewire(field_, mutual_information(active, joint), learning_.training.exchanges);
  }

  /// The rows of the model: row i has the weights of input connected(i) of those that are seen.
  int rows() const noexcept { return plan_.inputs; }
  std::size_t connected(int row) const noexcept {
    return has_field() ? field_[static_cast<std::size_t>(row)] : static_cast<std::size_t>(row);
  }
  std::int8_t& weight(int row, int minicolumn) const noexcept {
    return weights_[static_cast<std::ptrdiff_t>(row) * plan_.padded + minicolumn];
  }

  LearningHypercolumn learning_;
  const LevelPlan& plan_;
  std::size_t inputs_;  // that are seen: those of the window, or all pixels
  std::int8_t* weights_;
  std::int32_t* bias_;

 private:
  // Purposes of random images: counters of random numbers, beside those of CorticalNetwork.
  static constexpr std::uint32_t kFirstImage = 2u << 30;
  static constexpr std::uint32_t kNextImage = 3u << 30;

  /// Loads a random image. Returns the number of active inputs.
  int show(std::uint32_t a, std::uint32_t b, std::uint32_t purpose);
  /// Whether learning may go on after this number of images.
  bool goes_on(int images) const {
    return images % kImagesBetweenProgress != 0 ||
           learning_.go_on(static_cast<double>(images) / learning_.training.feature_images);
  }
  bool rewires_after(int images) const noexcept;
  bool has_field() const noexcept { return !field_.empty(); }

  std::span<std::uint16_t> field_;
  std::vector<std::uint16_t> all_;  // active pixels
  int active_ = 0;                  // of the field, in scratch.active
};

FeatureLearner::FeatureLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays)
    : learning_(learning),
      plan_(learning.shape.hierarchy.level(learning.level)),
      inputs_(static_cast<std::size_t>(plan_.inputs)),
      weights_(arrays.weights +
               learning.shape.hierarchy.weights_of(learning.level, learning.hypercolumn)),
      bias_(arrays.bias +
            learning.shape.hierarchy.minicolumns_of(learning.level, learning.hypercolumn)) {
  if (learning.level > 0 || learning.shape.parameters.fields == 0) return;
  field_ = {arrays.fields + static_cast<std::size_t>(learning.hypercolumn) * inputs_, inputs_};
  inputs_ = static_cast<std::size_t>(learning.shape.pixels());
  all_.resize(inputs_);
  draw_field(learning.training.seed, learning.hypercolumn, static_cast<int>(inputs_), field_);
}

int FeatureLearner::show(std::uint32_t a, std::uint32_t b, std::uint32_t purpose) {
  const CortexScratch& scratch = learning_.scratch;
  const std::uint32_t word =
      philox(learning_.training.seed,
             {a, b, static_cast<std::uint32_t>(plan_.first + learning_.hypercolumn), purpose})[0];
  const std::size_t image = std::uint64_t{word} * learning_.activities.count() >> 32;
  learning_.activities.load(image, learning_.level, scratch);
  if (!has_field()) {
    active_ = active_inputs(learning_.shape.hierarchy, learning_.level, learning_.hypercolumn,
                            scratch.cells, scratch.winners, scratch.active);
    return active_;
  }
  active_ =
      active_inputs(field_.data(), static_cast<int>(field_.size()), scratch.cells, scratch.active);
  int count = 0;
  for (std::size_t i = 0; i < inputs_; ++i) {
    all_[static_cast<std::size_t>(count)] = static_cast<std::uint16_t>(i);
    count += scratch.cells[i];
  }
  return count;
}

int FeatureLearner::show_first(int minicolumn) {
  int count = 0;
  for (std::uint32_t i = 0; i < kTries && count == 0; ++i)
    count = show(static_cast<std::uint32_t>(minicolumn), i, kFirstImage);
  return count;
}

bool FeatureLearner::rewires_after(int images) const noexcept {
  if (!has_field()) return false;
  const auto steps = [&](std::int64_t n) {
    return n * (learning_.training.rewirings + 1) / learning_.training.feature_images;
  };
  return images < learning_.training.feature_images && steps(images) > steps(images - 1);
}

// ---- CortexRule::kHebb

class HebbianLearner : private FeatureLearner {
 public:
  HebbianLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays)
      : FeatureLearner(learning, arrays),
        probability_(inputs_ * static_cast<std::size_t>(minicolumns())),
        wins_(static_cast<std::size_t>(minicolumns()), 1) {}

  void learn() {
    begin();
    const std::uint32_t least_rate = fixed_rate(learning_.training.least_rate);
    for_each_image(
        [&](int, int count) {
          const int winner = best_score(learning_.scratch.scores, minicolumns());
          const std::uint32_t wins = ++wins_[static_cast<std::size_t>(winner)];
          move_probabilities(probability_of(winner), static_cast<int>(inputs_), seen(), count,
                             std::max(kRateOne / wins, least_rate));
          refresh(winner);
        },
        [this] { rewire_inputs(); });
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
      derive_weights(learning_.tables, probability_of(m), rows(), plan_.padded, &weight(0, m),
                     bias_[m]);
      return;
    }
    field_probability_.resize(static_cast<std::size_t>(rows()));
    for (int i = 0; i < rows(); ++i)
      field_probability_[static_cast<std::size_t>(i)] = probability_of(m)[connected(i)];
    derive_weights(learning_.tables, field_probability_.data(), rows(), plan_.padded, &weight(0, m),
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

// ---- CortexRule::kBcpnn

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
    for_each_image(
        [&](int step, int count) {
          add(count);
          if (++batch < training.batch && step + 1 < training.feature_images) return;
          move_traces(std::exchange(batch, 0));
        },
        [this] { rewire_inputs(); });
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

void learn_features(const LearningHypercolumn& learning, const FeatureArrays& arrays) {
  if (learning.training.rule == CortexRule::kBcpnn)
    BcpnnLearner(learning, arrays).learn();
  else
    HebbianLearner(learning, arrays).learn();
}

}  // namespace ocellus::detail
