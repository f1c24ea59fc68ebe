// A cortical network in double precision, from the equations of ocellus/cortical_network.h: every
// sum over all inputs, nothing kept from step to step but the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/philox.h"
#include "ocellus/cortical_network.h"

namespace ocellus::test {

class ReferenceNetwork {
 public:
  struct Hypercolumn {
    std::vector<double> inputs;
    std::vector<std::vector<double>> weights;  ///< of each minicolumn
    std::vector<int> wins;
    std::vector<double> g;  ///< (2) as S - Omega (2 N + T), exact in double
    std::vector<double> f;  ///< (1) to (7), as they are written
    int winner = kSilent;
    int hypothesis = kSilent;
  };
  struct Level {
    CorticalLevel shape;
    int columns = 0;
    int rows = 0;
    std::vector<Hypercolumn> hypercolumns;
  };

  explicit ReferenceNetwork(const CorticalNetworkConfig& config) : config_(config) {
    int columns = config.width;
    int rows = config.height;
    int cells = 2;
    std::uint32_t number = 0;
    for (int i = 0; i < config.level_count; ++i) {
      Level level;
      level.shape = config.levels[static_cast<std::size_t>(i)];
      for (int y = 0; y + level.shape.window_height <= rows; y += level.shape.stride_y)
        ++level.rows;
      for (int x = 0; x + level.shape.window_width <= columns; x += level.shape.stride_x)
        ++level.columns;
      const int inputs = level.shape.window_width * level.shape.window_height * cells;
      for (int h = 0; h < level.columns * level.rows; ++h, ++number)
        level.hypercolumns.push_back(make(inputs, level.shape.minicolumns, number));
      columns = level.columns;
      rows = level.rows;
      cells = level.shape.minicolumns;
      levels.push_back(level);
    }
  }

  void step(const std::vector<std::uint8_t>& image, bool learn) {
    std::vector<std::vector<double>> below = lgn(image);
    int below_columns = config_.width;
    std::uint32_t number = 0;
    for (Level& level : levels) {
      std::vector<std::vector<double>> outputs;
      for (int h = 0; h < static_cast<int>(level.hypercolumns.size()); ++h, ++number) {
        Hypercolumn& hypercolumn = level.hypercolumns[static_cast<std::size_t>(h)];
        hypercolumn.inputs.clear();
        const int x0 = h % level.columns * level.shape.stride_x;
        const int y0 = h / level.columns * level.shape.stride_y;
        for (int y = 0; y < level.shape.window_height; ++y) {
          for (int x = 0; x < level.shape.window_width; ++x) {
            const auto& point = below[static_cast<std::size_t>((y0 + y) * below_columns + x0 + x)];
            hypercolumn.inputs.insert(hypercolumn.inputs.end(), point.begin(), point.end());
          }
        }
        run(hypercolumn, number, learn);
        std::vector<double> output(hypercolumn.weights.size(), 0.0);
        if (hypercolumn.winner != kSilent)
          output[static_cast<std::size_t>(hypercolumn.winner)] = 1.0;
        outputs.push_back(output);
      }
      below = outputs;
      below_columns = level.columns;
    }
    if (learn) {
      ++steps_;
      return;
    }
    for (int round = 0; round < config_.feedback_rounds; ++round) feed_back();
  }

  std::vector<Level> levels;

 private:
  static constexpr double kUnit = 1.0 / 32768.0;
  static double rounded(double value) { return std::floor(value / kUnit + 0.5) * kUnit; }

  Hypercolumn make(int inputs, int minicolumns, std::uint32_t number) const {
    Hypercolumn made;
    const double largest = rounded(static_cast<double>(config_.learning.initial_weight)) / kUnit;
    for (int m = 0; m < minicolumns; ++m) {
      std::vector<double> weights;
      for (int i = 0; i < inputs; ++i) {
        const double word = detail::philox(
            config_.seed, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(m / 4), number,
                           1u << 30})[static_cast<std::size_t>(m % 4)];
        weights.push_back(std::floor(word / 4294967296.0 * (largest + 1.0)) * kUnit);
      }
      made.weights.push_back(weights);
    }
    made.wins.assign(made.weights.size(), 0);
    made.g.assign(made.weights.size(), 0.0);
    made.f.assign(made.weights.size(), 0.5);
    return made;
  }

  std::vector<std::vector<double>> lgn(const std::vector<std::uint8_t>& image) const {
    std::vector<std::vector<double>> cells;
    const auto pixel = [&](int x, int y) {
      x = std::min(std::max(x, 0), config_.width - 1);
      y = std::min(std::max(y, 0), config_.height - 1);
      return static_cast<double>(image[static_cast<std::size_t>(y * config_.width + x)]);
    };
    for (int y = 0; y < config_.height; ++y) {
      for (int x = 0; x < config_.width; ++x) {
        const double p = pixel(x, y);
        if (config_.lgn == LgnTransform::kLevel) {
          const bool on = p >= config_.lgn_threshold;
          cells.push_back({on ? 1.0 : 0.0, on ? 0.0 : 1.0});
          continue;
        }
        double sum = 0.0;
        for (int v = -1; v <= 1; ++v)
          for (int u = -1; u <= 1; ++u)
            if (u != 0 || v != 0) sum += pixel(x + u, y + v);
        const double contrast = p - sum / 8.0;
        cells.push_back({contrast > config_.lgn_threshold ? 1.0 : 0.0,
                         -contrast > config_.lgn_threshold ? 1.0 : 0.0});
      }
    }
    return cells;
  }

  void run(Hypercolumn& hypercolumn, std::uint32_t number, bool learn) const {
    const HebbianLearning& learning = config_.learning;
    const double threshold = rounded(static_cast<double>(learning.threshold));
    const std::vector<double>& x = hypercolumn.inputs;
    const std::size_t count = hypercolumn.weights.size();
    hypercolumn.winner = kSilent;
    hypercolumn.g.assign(count, 0.0);
    hypercolumn.f.assign(count, 0.5);
    double active = 0.0;
    for (const double value : x) active += value;
    if (active == 0.0) return;
    for (std::size_t m = 0; m < count; ++m) {
      const std::vector<double>& w = hypercolumn.weights[m];
      double omega = 0.0;
      for (const double weight : w)
        if (weight > 0.2) omega += weight;
      double theta = 0.0;
      double strong = 0.0;
      double weak = 0.0;
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double normalized = omega > 0.0 ? w[i] / omega : 0.0;
        theta += x[i] == 1.0 && w[i] < 0.5 ? -2.0 : x[i] * normalized;
        if (x[i] == 1.0 && w[i] >= 0.5) strong += w[i];
        if (x[i] == 1.0 && w[i] < 0.5) weak += 1.0;
      }
      hypercolumn.g[m] = strong - omega * (2.0 * weak + threshold);
      hypercolumn.f[m] = 1.0 / (1.0 + std::exp(-omega * (theta - threshold)));
    }
    double most = 0.0;
    for (std::size_t m = 0; m < count; ++m) {
      if (hypercolumn.g[m] <= most) continue;
      most = hypercolumn.g[m];
      hypercolumn.winner = static_cast<int>(m);
    }
    if (!learn) return;
    if (hypercolumn.winner != kSilent) {
      int& wins = hypercolumn.wins[static_cast<std::size_t>(hypercolumn.winner)];
      wins = std::min(wins + 1, learning.stable_wins);
    } else {
      fire_at_random(hypercolumn, number);
      if (hypercolumn.winner == kSilent) return;
    }
    const double ltp = rounded(static_cast<double>(learning.potentiation));
    const double ltd = rounded(static_cast<double>(learning.depression));
    std::vector<double>& w = hypercolumn.weights[static_cast<std::size_t>(hypercolumn.winner)];
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] += x[i] == 1.0 ? rounded(ltp * (1.0 - w[i])) : -rounded(ltd * w[i]);
  }

  void fire_at_random(Hypercolumn& hypercolumn, std::uint32_t number) const {
    const HebbianLearning& learning = config_.learning;
    for (std::size_t m = 0; m < hypercolumn.weights.size(); ++m) {
      if (hypercolumn.wins[m] >= learning.stable_wins) continue;
      double probability = static_cast<double>(learning.random_firing);
      for (int i = 0; i < hypercolumn.wins[m]; ++i)
        probability *= static_cast<double>(learning.firing_decay);
      const double word =
          detail::philox(config_.seed, {static_cast<std::uint32_t>(steps_),
                                        static_cast<std::uint32_t>(steps_ >> 32), number,
                                        static_cast<std::uint32_t>(m / 4)})[m % 4];
      if (word >= std::floor(probability * 4294967296.0)) continue;
      if (hypercolumn.winner == kSilent ||
          hypercolumn.g[m] > hypercolumn.g[static_cast<std::size_t>(hypercolumn.winner)])
        hypercolumn.winner = static_cast<int>(m);
    }
  }

  // ---- feedback, (a) and (b)

  /// E of all minicolumns: every window of the level above is searched for the hypercolumn.
  std::vector<double> expectation(std::size_t l, int h) const {
    const Level& here = levels[l];
    const auto minicolumns = static_cast<std::size_t>(here.shape.minicolumns);
    std::vector<double> expected(minicolumns, 0.0);
    if (l + 1 == levels.size()) return expected;
    const Level& above = levels[l + 1];
    for (std::size_t p = 0; p < above.hypercolumns.size(); ++p) {
      const Hypercolumn& parent = above.hypercolumns[p];
      if (parent.hypothesis == kSilent) continue;
      const int x0 = static_cast<int>(p) % above.columns * above.shape.stride_x;
      const int y0 = static_cast<int>(p) / above.columns * above.shape.stride_y;
      std::size_t input = 0;
      for (int y = 0; y < above.shape.window_height; ++y) {
        for (int x = 0; x < above.shape.window_width; ++x) {
          for (std::size_t m = 0; m < minicolumns; ++m, ++input) {
            const double weight =
                parent.weights[static_cast<std::size_t>(parent.hypothesis)][input];
            if ((y0 + y) * here.columns + x0 + x == h) expected[m] = std::max(expected[m], weight);
          }
        }
      }
    }
    return expected;
  }

  struct Sums {
    double omega = 0.0;
    double strong = 0.0;
    double weak = 0.0;
    double active = 0.0;
  };
  static Sums sums_of(const std::vector<double>& w, const std::vector<double>& x) {
    Sums sums;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (w[i] > 0.2) sums.omega += w[i];
      if (x[i] == 1.0 && w[i] >= 0.5) sums.strong += w[i];
      if (x[i] == 1.0 && w[i] < 0.5) sums.weak += 1.0;
      sums.active += x[i];
    }
    return sums;
  }

  void feed_back() {
    const double threshold = rounded(static_cast<double>(config_.learning.threshold));
    const double tolerance = config_.feedback_tolerance;
    for (std::size_t l = levels.size(); l-- > 0;) {
      for (std::size_t h = 0; h < levels[l].hypercolumns.size(); ++h) {
        Hypercolumn& of = levels[l].hypercolumns[h];
        const std::vector<double> expected = expectation(l, static_cast<int>(h));
        of.hypothesis = kSilent;
        double most = 0.0;
        for (std::size_t m = 0; m < expected.size(); ++m) {
          const Sums sums = sums_of(of.weights[m], of.inputs);
          if (sums.omega == 0.0 || sums.weak > tolerance * expected[m]) continue;
          if (sums.strong == 0.0 && expected[m] == 0.0) continue;
          const double g = sums.strong - sums.omega * (2.0 * sums.weak + threshold -
                                                       2.0 * tolerance * expected[m]);
          if (of.hypothesis != kSilent && g <= most) continue;
          most = g;
          of.hypothesis = static_cast<int>(m);
        }
      }
    }
    for (std::size_t l = 0; l < levels.size(); ++l) {
      for (std::size_t h = 0; h < levels[l].hypercolumns.size(); ++h) {
        Hypercolumn& of = levels[l].hypercolumns[h];
        if (l > 0) of.inputs = inputs_from_winners(l, static_cast<int>(h));
        const std::vector<double> expected = expectation(l, static_cast<int>(h));
        of.winner = kSilent;
        double most = 0.0;
        for (std::size_t m = 0; m < expected.size(); ++m) {
          const Sums sums = sums_of(of.weights[m], of.inputs);
          of.g[m] =
              sums.active == 0.0 ? 0.0 : sums.strong - sums.omega * (2.0 * sums.weak + threshold);
          of.f[m] = 1.0 / (1.0 + std::exp(-of.g[m]));
          const double g = of.g[m] + 2.0 * tolerance * sums.omega * expected[m];
          if (sums.active == 0.0 || g <= most) continue;
          most = g;
          of.winner = static_cast<int>(m);
        }
      }
    }
  }

  std::vector<double> inputs_from_winners(std::size_t l, int h) const {
    const Level& below = levels[l - 1];
    const Level& level = levels[l];
    std::vector<double> inputs;
    for (int y = 0; y < level.shape.window_height; ++y) {
      for (int x = 0; x < level.shape.window_width; ++x) {
        const int point = (h / level.columns * level.shape.stride_y + y) * below.columns +
                          h % level.columns * level.shape.stride_x + x;
        const int winner = below.hypercolumns[static_cast<std::size_t>(point)].winner;
        for (int m = 0; m < below.shape.minicolumns; ++m) inputs.push_back(m == winner ? 1.0 : 0.0);
      }
    }
    return inputs;
  }

  CorticalNetworkConfig config_;
  std::uint64_t steps_ = 0;
};

}  // namespace ocellus::test
