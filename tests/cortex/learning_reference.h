// Equation (e) of ocellus/cortex_model.h in plain numbers, and w and b from it: what an operator
// has learned, from the LGN cells of its patches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cortex/classifier_reference.h"
#include "ocellus/cortex_training.h"

namespace ocellus::test {

class ReferenceLearner {
 public:
  using Cells = std::vector<int>;  ///< of a patch, [pixel]

  ReferenceLearner(const TrainedCortex& model, double rate)
      : model_(model), fixed_rate_(std::llround(rate * 65536.0)) {
    if (!model_.probabilities.empty()) return;
    for_each_minicolumn([&](const Minicolumn& m) {
      for (std::size_t i = 0; i < m.inputs; ++i) {
        const double w = model_.weights[m.weight(i)] / static_cast<double>(kCortexWeightScale);
        model_.probabilities[m.probability(i)] =
            static_cast<std::uint32_t>(std::llround(kOne / (1.0 + std::exp(-w))));
      }
    });
    for (const std::uint32_t p : model_.probabilities) exact_.push_back(p / kOne);
  }

  /// What is saved now.
  const TrainedCortex& model() const { return model_; }
  /// P of a computation without rounding; only if the model had no P.
  const std::vector<double>& exact() const { return exact_; }

  /// Returns the evidence of the patches of a frame, then learns them.
  std::vector<std::vector<double>> frame(const std::vector<Cells>& patches) {
    const detail::CortexArrays arrays{model_.weights.data(), model_.bias.data(),
                                      model_.read_out.data(), model_.class_bias.data()};
    ReferenceClassifier classifier(model_.parameters, static_cast<int>(model_.names.size()),
                                   arrays);
    std::vector<std::vector<double>> evidence;
    std::vector<std::vector<int>> winners;
    for (const Cells& cells : patches) {
      evidence.push_back(classifier.evidence(cells));
      winners.push_back(classifier.winners);
    }
    for (std::size_t p = 0; p < patches.size(); ++p)
      if (std::count(patches[p].begin(), patches[p].end(), 1) > 0) learn(patches[p], winners[p]);
    for_each_minicolumn([&](const Minicolumn& m) { derive(m); });
    return evidence;
  }

 private:
  static constexpr double kOne = 2147483648.0;  // 2^31

  /// Where a minicolumn is in the arrays.
  struct Minicolumn {
    int level = 0;
    int hypercolumn = 0;   ///< of the level
    std::size_t number{};  ///< of the hypercolumn, counted over all levels
    std::size_t m{};
    std::size_t padded{};
    std::size_t inputs{};
    std::size_t begin{};  ///< of the weights of the hypercolumn
    std::size_t first{};  ///< minicolumn of the hypercolumn, padded, counted over all levels

    std::size_t weight(std::size_t i) const { return begin + i * padded + m; }
    std::size_t probability(std::size_t i) const { return begin + m * inputs + i; }
    std::size_t bias() const { return first + m; }
  };

  template <typename Body>
  void for_each_minicolumn(const Body& body) {
    const CortexParameters& p = model_.parameters;
    int columns = p.width;
    int rows = p.height;
    std::size_t below = 1;
    Minicolumn at;
    if (model_.probabilities.empty()) model_.probabilities.assign(model_.weights.size(), 0);
    for (at.level = 0; at.level < p.level_count; ++at.level) {
      const CorticalLevel& l = p.levels[static_cast<std::size_t>(at.level)];
      columns = (columns - l.window_width) / l.stride_x + 1;
      rows = (rows - l.window_height) / l.stride_y + 1;
      at.padded = static_cast<std::size_t>((l.minicolumns + 31) / 32 * 32);
      at.inputs = static_cast<std::size_t>(l.window_width * l.window_height) * below;
      for (at.hypercolumn = 0; at.hypercolumn < columns * rows; ++at.hypercolumn) {
        for (at.m = 0; at.m < static_cast<std::size_t>(l.minicolumns); ++at.m) body(at);
        at.first += at.padded;
        at.begin += at.padded * at.inputs;
        ++at.number;
      }
      below = static_cast<std::size_t>(l.minicolumns);
    }
  }

  /// x of the inputs of a hypercolumn.
  std::vector<int> inputs_of(const Minicolumn& m, const Cells& cells,
                             const std::vector<int>& winners) const {
    const CortexParameters& p = model_.parameters;
    int columns = p.width;
    int rows = p.height;
    std::size_t first = 0;  // of the level below
    for (int level = 0; level < m.level; ++level) {
      if (level > 0) first += static_cast<std::size_t>(columns * rows);
      const CorticalLevel& l = p.levels[static_cast<std::size_t>(level)];
      columns = (columns - l.window_width) / l.stride_x + 1;
      rows = (rows - l.window_height) / l.stride_y + 1;
    }
    const CorticalLevel& l = p.levels[static_cast<std::size_t>(m.level)];
    const int wide = (columns - l.window_width) / l.stride_x + 1;
    std::vector<int> x;
    for (int v = 0; v < l.window_height; ++v) {
      for (int u = 0; u < l.window_width; ++u) {
        const auto point =
            static_cast<std::size_t>((m.hypercolumn / wide * l.stride_y + v) * columns +
                                     m.hypercolumn % wide * l.stride_x + u);
        if (m.level == 0) {
          x.push_back(cells[point]);
          continue;
        }
        const int below = p.levels[static_cast<std::size_t>(m.level - 1)].minicolumns;
        for (int k = 0; k < below; ++k) x.push_back(winners[first + point] == k ? 1 : 0);
      }
    }
    return x;
  }

  void learn(const Cells& cells, const std::vector<int>& winners) {
    for_each_minicolumn([&](const Minicolumn& m) {
      if (winners[m.number] != static_cast<int>(m.m)) return;
      const std::vector<int> x = inputs_of(m, cells, winners);
      for (std::size_t i = 0; i < m.inputs; ++i) {
        std::uint32_t& p = model_.probabilities[m.probability(i)];
        const std::int64_t old = p;
        p = static_cast<std::uint32_t>(old - old * fixed_rate_ / 65536 +
                                       x[i] * ((std::int64_t{1} << 31) * fixed_rate_ / 65536));
        if (exact_.empty()) continue;
        double& e = exact_[m.probability(i)];
        e += static_cast<double>(fixed_rate_) / 65536.0 * (x[i] - e);
      }
      learned_.resize(model_.bias.size());
      learned_[m.bias()] = true;
    });
  }

  /// (a), with P rounded to multiples of 2^-12 and limited to 0.01 to 0.99.
  void derive(const Minicolumn& m) {
    if (learned_.empty() || !learned_[m.bias()]) return;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < m.inputs; ++i) {
      const double p = std::clamp(
          std::floor(model_.probabilities[m.probability(i)] / kOne * 4096.0 + 0.5) / 4096.0, 0.01,
          0.99);
      model_.weights[m.weight(i)] =
          static_cast<std::int8_t>(std::lround(kCortexWeightScale * std::log(p / (1.0 - p))));
      sum += std::lround(kCortexWeightScale * 256.0 * std::log(1.0 - p));
    }
    model_.bias[m.bias()] = static_cast<std::int32_t>((sum - 128) / 256);
  }

  TrainedCortex model_;
  std::int64_t fixed_rate_;
  std::vector<double> exact_;
  std::vector<bool> learned_;  // minicolumns that have won
};

}  // namespace ocellus::test
