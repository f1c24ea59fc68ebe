// Features of a cortical classifier: competitive Hebbian learning in integers.
#include <algorithm>
#include <array>
#include <cmath>

#include "cortex/philox.h"
#include "training/cortex_activity.h"

namespace ocellus::detail {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 31;  // of a probability
constexpr int kTableBits = 12;
constexpr int kBiasScale = 256;  // units of a term of b in a unit of b
/// Probabilities in (a) keep this distance from 0 and 1, so that no single input decides.
constexpr double kLeastProbability = 0.01;
/// A minicolumn begins with these probabilities of the active and the other inputs.
constexpr double kFirstActive = 0.9;
constexpr double kFirstInactive = 0.03;
/// Tries to find an image with an active input.
constexpr int kTries = 20;

// Counters of random numbers, beside those of CorticalNetwork.
constexpr std::uint32_t kFirstImage = 2u << 30;
constexpr std::uint32_t kNextImage = 3u << 30;

/// w and the terms of b for a probability, by its upper bits.
struct LogTables {
  std::array<std::int8_t, (1 << kTableBits) + 1> weight{};
  std::array<std::int32_t, (1 << kTableBits) + 1> bias{};

  LogTables() {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double p = std::clamp(static_cast<double>(i) / (1 << kTableBits), kLeastProbability,
                                  1.0 - kLeastProbability);
      weight[i] = static_cast<std::int8_t>(std::lround(kCortexWeightScale * std::log(p / (1 - p))));
      bias[i] =
          static_cast<std::int32_t>(std::lround(kCortexWeightScale * kBiasScale * std::log(1 - p)));
    }
  }
  static std::size_t index(std::int64_t p) noexcept {
    return static_cast<std::size_t>((p + (kOne >> (kTableBits + 1))) >> (31 - kTableBits));
  }
};

class Learner {
 public:
  Learner(const CortexShape& shape, int level, int hypercolumn, const CortexActivities& activities,
          const CortexTraining& training, const CortexScratch& scratch, std::int8_t* weights,
          std::int32_t* bias)
      : shape_(shape),
        l_(shape.hierarchy.level(level)),
        level_(level),
        hypercolumn_(hypercolumn),
        activities_(activities),
        training_(training),
        scratch_(scratch),
        weights_(weights + shape.hierarchy.weights_of(level, hypercolumn)),
        bias_(bias + shape.hierarchy.minicolumns_of(level, hypercolumn)),
        inputs_(static_cast<std::size_t>(l_.inputs)),
        probability_(inputs_ * static_cast<std::size_t>(l_.shape.minicolumns)),
        wins_(static_cast<std::size_t>(l_.shape.minicolumns), 1) {}

  void learn() {
    begin();
    const auto least_rate =
        static_cast<std::int64_t>(std::lround(static_cast<double>(training_.least_rate) * 65536.0));
    for (int step = 0; step < training_.feature_images; ++step) {
      const int count = show(static_cast<std::uint32_t>(step), 0, kNextImage);
      compete(weights_, bias_, scratch_.active, count, l_.stride, scratch_.scores);
      const int winner = best_score(scratch_.scores, l_.shape.minicolumns);
      const std::int64_t wins = ++wins_[static_cast<std::size_t>(winner)];
      move(winner, count, std::max(65536 / wins, least_rate));
    }
  }

 private:
  /// Loads a random image. Returns the number of active inputs.
  int show(std::uint32_t a, std::uint32_t b, std::uint32_t purpose) {
    const std::uint32_t word = philox(
        training_.seed, {a, b, static_cast<std::uint32_t>(l_.first + hypercolumn_), purpose})[0];
    const std::size_t image = std::uint64_t{word} * activities_.count() >> 32;
    activities_.load(image, level_, scratch_);
    return active_inputs(shape_.hierarchy, level_, hypercolumn_, scratch_.cells, scratch_.winners,
                         scratch_.active);
  }

  void begin() {
    // The winner of a hypercolumn below is one of its minicolumns.
    const double inactive = level_ == 0 ? kFirstInactive : 0.5 / l_.below_cells;
    for (int m = 0; m < l_.shape.minicolumns; ++m) {
      int count = 0;
      for (std::uint32_t i = 0; i < kTries && count == 0; ++i)
        count = show(static_cast<std::uint32_t>(m), i, kFirstImage);
      std::uint32_t* const p = probability_.data() + static_cast<std::size_t>(m) * inputs_;
      std::fill_n(p, inputs_, static_cast<std::uint32_t>(inactive * static_cast<double>(kOne)));
      for (int i = 0; i < count; ++i)
        p[scratch_.active[i]] =
            static_cast<std::uint32_t>(kFirstActive * static_cast<double>(kOne));
      refresh(m);
    }
  }

  void move(int m, int count, std::int64_t rate) {
    std::uint32_t* const p = probability_.data() + static_cast<std::size_t>(m) * inputs_;
    for (std::size_t i = 0; i < inputs_; ++i)
      p[i] -= static_cast<std::uint32_t>(p[i] * static_cast<std::uint64_t>(rate) >> 16);
    for (int i = 0; i < count; ++i)
      p[scratch_.active[i]] += static_cast<std::uint32_t>(kOne * rate >> 16);
    refresh(m);
  }

  /// (a) from P.
  void refresh(int m) {
    static const LogTables kTables;
    const std::uint32_t* const p = probability_.data() + static_cast<std::size_t>(m) * inputs_;
    const auto stride = static_cast<std::size_t>(l_.stride);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < inputs_; ++i) {
      const std::size_t entry = LogTables::index(p[i]);
      weights_[i * stride + static_cast<std::size_t>(m)] = kTables.weight[entry];
      sum += kTables.bias[entry];
    }
    bias_[m] = static_cast<std::int32_t>((sum - kBiasScale / 2) / kBiasScale);
  }

  const CortexShape& shape_;
  const LevelPlan& l_;
  int level_;
  int hypercolumn_;
  const CortexActivities& activities_;
  const CortexTraining& training_;
  const CortexScratch& scratch_;
  std::int8_t* weights_;
  std::int32_t* bias_;
  std::size_t inputs_;
  std::vector<std::uint32_t> probability_;  // P, [minicolumn][input], in units of 2^-31
  std::vector<std::int64_t> wins_;
};

}  // namespace

void learn_features(const CortexShape& shape, int level, int hypercolumn,
                    const CortexActivities& activities, const CortexTraining& training,
                    const CortexScratch& scratch, std::int8_t* weights, std::int32_t* bias) {
  Learner(shape, level, hypercolumn, activities, training, scratch, weights, bias).learn();
}

}  // namespace ocellus::detail
