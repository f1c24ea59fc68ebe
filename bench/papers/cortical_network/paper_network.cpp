#include "bench/papers/cortical_network/paper_network.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/failure.h"
#include "cortical_network/network_arithmetic.h"

namespace ocellus::paper {
namespace {

constexpr double kUnit = 1.0 / kCorticalWeightOne;

double rounded(double value) noexcept {
  return std::floor(value / kUnit + 0.5) * kUnit;
}

void lgn(const CorticalNetworkConfig& config, const std::uint8_t* image, float* cells) noexcept {
  const auto pixel = [&](int x, int y) {
    x = std::clamp(x, 0, config.width - 1);
    y = std::clamp(y, 0, config.height - 1);
    return static_cast<int>(image[static_cast<std::ptrdiff_t>(y) * config.width + x]);
  };
  for (int y = 0; y < config.height; ++y) {
    for (int x = 0; x < config.width; ++x, cells += kLgnCells) {
      const int p = pixel(x, y);
      int on_off = p - config.lgn_threshold;
      int off_on = config.lgn_threshold - 1 - p;
      if (config.lgn == LgnTransform::kContrast) {
        int sum = -p;
        for (int v = -1; v <= 1; ++v)
          for (int u = -1; u <= 1; ++u) sum += pixel(x + u, y + v);
        on_off = 8 * p - sum - 8 * config.lgn_threshold - 1;
        off_on = sum - 8 * p - 8 * config.lgn_threshold - 1;
      }
      cells[0] = on_off >= 0 ? 1.0f : 0.0f;
      cells[1] = off_on >= 0 ? 1.0f : 0.0f;
    }
  }
}

}  // namespace

Expected<DenseCorticalNetwork> DenseCorticalNetwork::create(const CorticalNetworkConfig& config) {
  OCELLUS_TRY_ASSIGN(
      hierarchy,
      detail::plan_hierarchy(config.width, config.height, kLgnCells,
                             {config.levels.data(), static_cast<std::size_t>(config.level_count)}));
  DenseCorticalNetwork network(config);
  const auto largest = static_cast<std::int32_t>(
      rounded(static_cast<double>(config.learning.initial_weight)) / kUnit);
  for (int l = 0; l < hierarchy->level_count; ++l) {
    Level level;
    level.plan = hierarchy->level(l);
    const auto hypercolumns = static_cast<std::size_t>(level.plan.hypercolumns);
    const auto minicolumns = static_cast<std::size_t>(level.plan.minicolumns);
    const auto inputs = static_cast<std::size_t>(level.plan.inputs);
    level.weights.resize(hypercolumns * minicolumns * inputs);
    level.wins.resize(hypercolumns * minicolumns);
    level.winners.assign(hypercolumns, kSilent);
    for (std::size_t h = 0; h < hypercolumns; ++h) {
      for (std::size_t m = 0; m < minicolumns; ++m) {
        for (std::size_t i = 0; i < inputs; ++i) {
          const std::uint32_t word = detail::initial_words(
              config.seed, static_cast<std::uint32_t>(i),
              static_cast<std::uint32_t>(level.plan.first) + static_cast<std::uint32_t>(h),
              static_cast<std::uint32_t>(m / 4))[m % 4];
          level.weights[(h * minicolumns + m) * inputs + i] =
              static_cast<float>(detail::initial_weight(word, largest) * kUnit);
        }
      }
    }
    network.levels_.push_back(std::move(level));
  }
  network.cells_.resize(static_cast<std::size_t>(config.width) *
                        static_cast<std::size_t>(config.height) * kLgnCells);
  network.inputs_.resize(1, std::vector<float>(static_cast<std::size_t>(hierarchy->most_inputs)));
  double probability = static_cast<double>(config.learning.random_firing);
  for (int i = 0; i < config.learning.stable_wins; ++i) {
    network.firing_.push_back(std::min(std::floor(probability * 4294967296.0), 4294967295.0));
    probability *= static_cast<double>(config.learning.firing_decay);
  }
  network.firing_.push_back(0.0);
  OCELLUS_TRY(network.set_threads(1));
  return network;
}

Expected<void> DenseCorticalNetwork::set_threads(int threads) noexcept {
  OCELLUS_TRY_ASSIGN(team, detail::ThreadTeam::create(threads));
  team_ = std::move(*team);
  inputs_.resize(static_cast<std::size_t>(team_->threads()), inputs_.front());
  return {};
}

void DenseCorticalNetwork::step(const std::uint8_t* image) noexcept {
  using Clock = std::chrono::steady_clock;
  lgn(config_, image, cells_.data());
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const Clock::time_point begun = Clock::now();
    team_->for_all(levels_[l].winners.size(), [&](std::size_t h, int thread) {
      std::vector<float>& inputs = inputs_[static_cast<std::size_t>(thread)];
      gather_inputs(static_cast<int>(l), static_cast<int>(h), inputs.data());
      step_hypercolumn(levels_[l], static_cast<int>(h), inputs.data());
    });
    levels_[l].ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
  }
  ++steps_;
}

void DenseCorticalNetwork::gather_inputs(int level, int hypercolumn, float* to) const noexcept {
  const detail::LevelPlan& plan = levels_[static_cast<std::size_t>(level)].plan;
  const int x0 = hypercolumn % plan.columns * plan.stride_x;
  const int y0 = hypercolumn / plan.columns * plan.stride_y;
  for (int y = y0; y < y0 + plan.window_height; ++y) {
    for (int x = x0; x < x0 + plan.window_width; ++x, to += plan.below_cells) {
      const std::ptrdiff_t point = static_cast<std::ptrdiff_t>(y) * plan.below_columns + x;
      if (level == 0) {
        std::copy_n(cells_.begin() + point * kLgnCells, kLgnCells, to);
        continue;
      }
      std::fill_n(to, plan.below_cells, 0.0f);
      const std::int32_t winner =
          levels_[static_cast<std::size_t>(level) - 1].winners[static_cast<std::size_t>(point)];
      if (winner != kSilent) to[winner] = 1.0f;
    }
  }
}

void DenseCorticalNetwork::step_hypercolumn(Level& level, int hypercolumn,
                                            const float* x) noexcept {
  const auto h = static_cast<std::size_t>(hypercolumn);
  const auto minicolumns = static_cast<std::size_t>(level.plan.minicolumns);
  const auto inputs = static_cast<std::size_t>(level.plan.inputs);
  float* const weights = level.weights.data() + h * minicolumns * inputs;
  std::uint8_t* const wins = level.wins.data() + h * minicolumns;
  std::int32_t& winner = level.winners[h];
  winner = kSilent;
  float active = 0.0f;
  for (std::size_t i = 0; i < inputs; ++i) active += x[i];
  if (active == 0.0f) return;

  const double threshold = rounded(static_cast<double>(config_.learning.threshold));
  std::int32_t fired = kSilent;
  double most = 0.0;
  double most_fired = 0.0;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t m = 0; m < minicolumns; ++m) {
    const float* const w = weights + m * inputs;
    float omega = 0.0f;
    float strong = 0.0f;
    float weak = 0.0f;
    for (std::size_t i = 0; i < inputs; ++i) {
      omega += w[i] > 0.2f ? w[i] : 0.0f;
      strong += w[i] >= 0.5f ? x[i] * w[i] : 0.0f;
      weak += w[i] >= 0.5f ? 0.0f : x[i];
    }
    const double g = static_cast<double>(strong) -
                     static_cast<double>(omega) * (2.0 * static_cast<double>(weak) + threshold);
    if (g > most) {
      most = g;
      winner = static_cast<std::int32_t>(m);
    }
    if (m % 4 == 0) {
      words = detail::firing_words(
          config_.seed, steps_,
          static_cast<std::uint32_t>(level.plan.first) + static_cast<std::uint32_t>(h),
          static_cast<std::uint32_t>(m / 4));
    }
    if (words[m % 4] < firing_[wins[m]] && (fired == kSilent || g > most_fired)) {
      most_fired = g;
      fired = static_cast<std::int32_t>(m);
    }
  }
  if (winner != kSilent) {
    std::uint8_t& count = wins[winner];
    count = static_cast<std::uint8_t>(std::min(count + 1, config_.learning.stable_wins));
  } else {
    winner = fired;
  }
  if (winner != kSilent) learn(weights + static_cast<std::size_t>(winner) * inputs, x, inputs);
}

void DenseCorticalNetwork::learn(float* weights, const float* x, std::size_t count) const noexcept {
  const double potentiation = rounded(static_cast<double>(config_.learning.potentiation));
  const double depression = rounded(static_cast<double>(config_.learning.depression));
  for (std::size_t i = 0; i < count; ++i) {
    const double w = static_cast<double>(weights[i]);
    const double change =
        x[i] == 1.0f ? rounded(potentiation * (1.0 - w)) : -rounded(depression * w);
    weights[i] = static_cast<float>(w + change);
  }
}

std::span<const std::int32_t> DenseCorticalNetwork::winners(int level) const noexcept {
  return levels_[static_cast<std::size_t>(level)].winners;
}

float DenseCorticalNetwork::weight(int level, int hypercolumn, int input,
                                   int minicolumn) const noexcept {
  const Level& l = levels_[static_cast<std::size_t>(level)];
  return l.weights[(static_cast<std::size_t>(hypercolumn) *
                        static_cast<std::size_t>(l.plan.minicolumns) +
                    static_cast<std::size_t>(minicolumn)) *
                       static_cast<std::size_t>(l.plan.inputs) +
                   static_cast<std::size_t>(input)];
}

}  // namespace ocellus::paper
