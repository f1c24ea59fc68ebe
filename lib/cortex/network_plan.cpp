#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/failure.h"
#include "cortex/hypercolumn.h"

namespace ocellus {
namespace detail {
namespace {

Expected<void> check_number(const char* name, long long value, long long low,
                            long long high) noexcept {
  if (value >= low && value <= high) return {};
  return invalid_argument("%s is %lld; it must be %lld to %lld", name, value, low, high);
}

Expected<void> check_share(const char* name, float value, float high) noexcept {
  // Comparisons with NaN are false.
  if (value >= 0.0f && value <= high) return {};
  return invalid_argument("%s is %g; it must be 0 to %g", name, static_cast<double>(value),
                          static_cast<double>(high));
}

Expected<void> check_learning(const HebbianLearning& learning) noexcept {
  const struct {
    const char* name;
    float value;
    float high;
  } shares[] = {
      {"threshold", learning.threshold, 1.0f},
      {"potentiation", learning.potentiation, 1.0f},
      {"depression", learning.depression, 1.0f},
      {"initial_weight", learning.initial_weight, 0.2f},
      {"random_firing", learning.random_firing, 1.0f},
      {"firing_decay", learning.firing_decay, 1.0f},
  };
  for (const auto& share : shares)
    if (Expected<void> c = check_share(share.name, share.value, share.high); !c) return c;
  return check_number("stable_wins", learning.stable_wins, 1, kMaxStableWins);
}

Expected<void> check_shape(const CorticalLevel& shape, int number) noexcept {
  char name[48];
  const auto check = [&](const char* member, int value, int low, int high) {
    std::snprintf(name, sizeof(name), "%s of level %d", member, number);
    return check_number(name, value, low, high);
  };
  if (auto c = check("window_width", shape.window_width, 1, kMaxLgnSide); !c) return c;
  if (auto c = check("window_height", shape.window_height, 1, kMaxLgnSide); !c) return c;
  if (auto c = check("stride_x", shape.stride_x, 1, kMaxLgnSide); !c) return c;
  if (auto c = check("stride_y", shape.stride_y, 1, kMaxLgnSide); !c) return c;
  return check("minicolumns", shape.minicolumns, kLeastMinicolumns, kMaxMinicolumns);
}

std::int32_t to_weight(float value) noexcept {
  return static_cast<std::int32_t>(
      std::floor(static_cast<double>(value) * kCorticalWeightOne + 0.5));
}

/// The level over a grid of columns x rows points with `cells` inputs each.
Expected<LevelPlan> plan_level(const CorticalLevel& shape, int number, int columns, int rows,
                               int cells) noexcept {
  if (Expected<void> c = check_shape(shape, number); !c) return tl::unexpected(c.error());
  if (shape.window_width > columns || shape.window_height > rows) {
    return invalid_argument("the window of level %d is %dx%d; the grid below it has %dx%d points",
                            number, shape.window_width, shape.window_height, columns, rows);
  }
  LevelPlan level;
  level.shape = shape;
  level.columns = (columns - shape.window_width) / shape.stride_x + 1;
  level.rows = (rows - shape.window_height) / shape.stride_y + 1;
  level.below_columns = columns;
  level.below_cells = cells;
  level.stride = padded_minicolumns(shape.minicolumns);
  const double inputs = static_cast<double>(shape.window_width) * shape.window_height * cells;
  if (inputs > kMaxHypercolumnInputs) {
    return invalid_argument("a hypercolumn of level %d has %.0f inputs; it must have 1 to %d",
                            number, inputs, kMaxHypercolumnInputs);
  }
  level.inputs = static_cast<int>(inputs);
  const double below = static_cast<double>(columns) * rows;
  const double here = static_cast<double>(level.columns) * level.rows;
  // One point below needs no second level.
  if (number > 1 && here >= below) {
    return invalid_argument(
        "level %d has %.0f hypercolumns over %.0f; the hierarchy must converge: each level must "
        "have fewer than the one below",
        number, here, below);
  }
  if (here > kMaxHypercolumns) {
    return invalid_argument("level %d has %.0f hypercolumns; a network must have 1 to %d", number,
                            here, kMaxHypercolumns);
  }
  return level;
}

}  // namespace

Expected<void> make_network_plan(const CorticalNetworkConfig& config, NetworkPlan& plan) noexcept {
  if (auto c = check_number("width", config.width, 1, kMaxLgnSide); !c) return c;
  if (auto c = check_number("height", config.height, 1, kMaxLgnSide); !c) return c;
  if (auto c = check_number("width * height", std::int64_t{config.width} * config.height, 1,
                            kMaxLgnPixels);
      !c)
    return c;
  if (auto c = check_number("lgn", static_cast<int>(config.lgn), 0, 1); !c) return c;
  if (auto c = check_number("lgn_threshold", config.lgn_threshold, 1, 255); !c) return c;
  if (auto c = check_number("level_count", config.level_count, 1, kMaxCorticalLevels); !c) return c;
  if (auto c = check_learning(config.learning); !c) return c;

  plan = {};
  plan.width = config.width;
  plan.height = config.height;
  plan.lgn = config.lgn;
  plan.lgn_threshold = config.lgn_threshold;
  plan.level_count = config.level_count;
  int columns = config.width;
  int rows = config.height;
  int cells = kLgnCells;
  for (int i = 0; i < config.level_count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const Expected<LevelPlan> made = plan_level(config.levels[index], i + 1, columns, rows, cells);
    if (!made) return tl::unexpected(made.error());
    LevelPlan& level = plan.levels[index];
    level = *made;
    level.first = plan.hypercolumns;
    level.weights_at = plan.weights;
    level.minicolumns_at = plan.minicolumns;
    const auto hypercolumns = static_cast<std::size_t>(level.hypercolumns());
    const auto stride = static_cast<std::size_t>(level.stride);
    plan.hypercolumns += level.hypercolumns();
    plan.weights += hypercolumns * static_cast<std::size_t>(level.inputs) * stride;
    plan.minicolumns += hypercolumns * stride;
    plan.most_inputs = std::max(plan.most_inputs, level.inputs);
    columns = level.columns;
    rows = level.rows;
    cells = level.shape.minicolumns;
  }
  if (auto c = check_number("hypercolumns of all levels", plan.hypercolumns, 1, kMaxHypercolumns);
      !c)
    return c;
  const HebbianLearning& learning = config.learning;
  plan.threshold = to_weight(learning.threshold);
  plan.potentiation = to_weight(learning.potentiation);
  plan.depression = to_weight(learning.depression);
  plan.initial_weight = to_weight(learning.initial_weight);
  plan.stable_wins = learning.stable_wins;
  double probability = static_cast<double>(learning.random_firing);
  for (int i = 0; i < learning.stable_wins; ++i) {
    plan.firing[static_cast<std::size_t>(i)] =
        static_cast<std::uint32_t>(std::min(std::floor(probability * 4294967296.0), 4294967295.0));
    probability *= static_cast<double>(learning.firing_decay);
  }
  plan.seed = config.seed;
  return {};
}

}  // namespace detail

CorticalNetworkConfig binary_tree(int leaves, int minicolumns) noexcept {
  CorticalNetworkConfig config;
  config.width = static_cast<int>(
      std::min<std::int64_t>(std::int64_t{leaves} * minicolumns, kMaxLgnPixels + 1));
  config.height = 1;
  config.levels[0] = {minicolumns, 1, minicolumns, 1, minicolumns};
  config.level_count = 1;
  for (int count = leaves; count > 1 && config.level_count < kMaxCorticalLevels; count /= 2)
    config.levels[static_cast<std::size_t>(config.level_count++)] = {2, 1, 2, 1, minicolumns};
  return config;
}

}  // namespace ocellus
