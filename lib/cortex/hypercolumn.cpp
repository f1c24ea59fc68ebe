#include "cortex/hypercolumn.h"

#include <algorithm>

#include "cortex/network_arithmetic.h"

namespace ocellus::detail {
namespace {

/// The minicolumn with the largest g > 0, or kSilent.
int responding(const std::int64_t* responses, int count) noexcept {
  int best = kSilent;
  std::int64_t most = 0;
  for (int m = 0; m < count; ++m) {
    if (responses[m] <= most) continue;
    most = responses[m];
    best = m;
  }
  return best;
}

/// The minicolumn with the largest g of those that fire at random, or kSilent.
int firing_at_random(const NetworkPlan& plan, int count, std::uint32_t hypercolumn,
                     std::uint64_t step, const std::int64_t* responses,
                     const std::uint8_t* wins) noexcept {
  int best = kSilent;
  std::array<std::uint32_t, 4> words{};
  for (int m = 0; m < count; ++m) {
    if (m % 4 == 0) {
      words = firing_words(plan.seed, step, hypercolumn, static_cast<std::uint32_t>(m / 4));
    }
    const std::uint32_t probability = wins[m] < plan.stable_wins ? plan.firing[wins[m]] : 0;
    if (words[static_cast<std::size_t>(m % 4)] >= probability) continue;
    if (best == kSilent || responses[m] > responses[best]) best = m;
  }
  return best;
}

/// Weights of one minicolumn: long-term potentiation of active inputs, depression of the others.
void learn(const NetworkPlan& plan, const LevelPlan& level, std::uint16_t* weights,
           std::int32_t& omega, const std::uint16_t* active, int count) noexcept {
  const auto stride = static_cast<std::size_t>(level.stride);
  int next = 0;
  std::int32_t sum = 0;
  for (int i = 0; i < level.inputs; ++i) {
    std::uint16_t& at = weights[static_cast<std::size_t>(i) * stride];
    const std::int32_t old = at;
    std::int32_t weight = 0;
    if (next < count && active[next] == i) {
      ++next;
      weight = potentiated(old, plan.potentiation);
    } else {
      weight = depressed(old, plan.depression);
    }
    sum += counted(weight);
    at = static_cast<std::uint16_t>(weight);
  }
  omega = sum;
}

}  // namespace

void lgn_cells(const NetworkPlan& plan, const std::uint8_t* image, std::ptrdiff_t stride, int begin,
               int end, std::uint8_t* cells) noexcept {
  for (int y = begin; y < end; ++y) {
    const std::uint8_t* const row = image + y * stride;
    std::uint8_t* const to =
        cells + static_cast<std::ptrdiff_t>(y) * plan.hierarchy.width * kLgnCells;
    if (plan.lgn == LgnTransform::kLevel) {
      for (int x = 0; x < plan.hierarchy.width; ++x) {
        to[kLgnCells * x] = row[x] >= plan.lgn_threshold;
        to[kLgnCells * x + 1] = row[x] < plan.lgn_threshold;
      }
      continue;
    }
    const std::uint8_t* const above = image + std::max(y - 1, 0) * stride;
    const std::uint8_t* const below = image + std::min(y + 1, plan.hierarchy.height - 1) * stride;
    for (int x = 0; x < plan.hierarchy.width; ++x) {
      const int left = std::max(x - 1, 0);
      const int right = std::min(x + 1, plan.hierarchy.width - 1);
      const int neighbors = above[left] + above[x] + above[right] + row[left] + row[right] +
                            below[left] + below[x] + below[right];
      const int contrast = 8 * row[x] - neighbors;
      to[kLgnCells * x] = contrast > 8 * plan.lgn_threshold;
      to[kLgnCells * x + 1] = -contrast > 8 * plan.lgn_threshold;
    }
  }
}

void initialize_hypercolumn(const NetworkPlan& plan, int level, int hypercolumn,
                            const NetworkArrays& arrays) noexcept {
  const LevelPlan& l = plan.hierarchy.level(level);
  const auto stride = static_cast<std::size_t>(l.stride);
  std::uint16_t* const weights = arrays.weights + plan.hierarchy.weights_of(level, hypercolumn);
  const std::size_t minicolumns = plan.hierarchy.minicolumns_of(level, hypercolumn);
  std::fill_n(arrays.omega + minicolumns, stride, 0);
  std::fill_n(arrays.wins + minicolumns, stride, std::uint8_t{0});
  std::fill_n(arrays.responses + minicolumns, stride, std::int64_t{0});
  arrays.winners[l.first + hypercolumn] = kSilent;
  for (int i = 0; i < l.inputs; ++i) {
    std::uint16_t* const row = weights + static_cast<std::size_t>(i) * stride;
    std::fill_n(row, stride, std::uint16_t{0});
    std::array<std::uint32_t, 4> words{};
    for (int m = 0; m < l.shape.minicolumns; ++m) {
      if (m % 4 == 0) {
        words = initial_words(plan.seed, static_cast<std::uint32_t>(i),
                              static_cast<std::uint32_t>(l.first + hypercolumn),
                              static_cast<std::uint32_t>(m / 4));
      }
      row[m] = static_cast<std::uint16_t>(
          initial_weight(words[static_cast<std::size_t>(m % 4)], plan.initial_weight));
      arrays.omega[minicolumns + static_cast<std::size_t>(m)] += counted(row[m]);
    }
  }
}

void step_hypercolumn(const NetworkPlan& plan, int level, int hypercolumn, std::uint64_t step,
                      bool learns, const NetworkArrays& arrays, std::uint16_t* active) noexcept {
  const LevelPlan& l = plan.hierarchy.level(level);
  const auto stride = static_cast<std::size_t>(l.stride);
  const std::size_t minicolumns = plan.hierarchy.minicolumns_of(level, hypercolumn);
  std::int64_t* const responses = arrays.responses + minicolumns;
  std::int32_t& winner = arrays.winners[l.first + hypercolumn];
  const int count =
      active_inputs(plan.hierarchy, level, hypercolumn, arrays.cells, arrays.winners, active);
  if (count == 0) {
    std::fill_n(responses, stride, std::int64_t{0});
    winner = kSilent;
    return;
  }
  std::uint16_t* const weights = arrays.weights + plan.hierarchy.weights_of(level, hypercolumn);
  std::int32_t* const omega = arrays.omega + minicolumns;
  respond(weights, omega, active, count, l.stride, plan.threshold, responses);
  winner = responding(responses, l.shape.minicolumns);
  if (!learns) return;
  std::uint8_t* const wins = arrays.wins + minicolumns;
  if (winner != kSilent) {
    wins[winner] = static_cast<std::uint8_t>(std::min(wins[winner] + 1, plan.stable_wins));
  } else {
    winner =
        firing_at_random(plan, l.shape.minicolumns,
                         static_cast<std::uint32_t>(l.first + hypercolumn), step, responses, wins);
    if (winner == kSilent) return;
  }
  learn(plan, l, weights + winner, omega[winner], active, count);
}

}  // namespace ocellus::detail
