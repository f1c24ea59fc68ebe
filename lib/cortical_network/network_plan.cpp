#include <algorithm>
#include <cmath>

#include "core/failure.h"
#include "core/piece_map.h"
#include "cortical_network/hypercolumn.h"

namespace ocellus {
namespace detail {
namespace {

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
  for (const auto& share : shares) OCELLUS_TRY(check_share(share.name, share.value, share.high));
  return check_number("stable_wins", learning.stable_wins, 1, kMaxStableWins);
}

std::int32_t to_weight(float value) noexcept {
  return static_cast<std::int32_t>(
      std::floor(static_cast<double>(value) * kCorticalWeightOne + 0.5));
}

}  // namespace

Expected<Hierarchy> hierarchy_of(const CorticalNetworkConfig& config) noexcept {
  OCELLUS_TRY(check_number("level_count", config.level_count, 1, kMaxCorticalLevels));
  OCELLUS_TRY_ASSIGN(hierarchy, plan_hierarchy(config.width, config.height, kLgnCells,
                                               {config.levels.data(),
                                                static_cast<std::size_t>(config.level_count)}));
  hierarchy->weights = 0;
  for (int number = 0; number < hierarchy->level_count; ++number) {
    LevelPlan& level = hierarchy->levels[static_cast<std::size_t>(number)];
    level.pitch = padded_inputs(level.inputs);
    level.words = level.padded / kBitsOfWord;
    level.weights =
        static_cast<std::size_t>(level.minicolumns) * static_cast<std::size_t>(level.pitch);
    level.weights_at = hierarchy->weights;
    hierarchy->strong = align_up(hierarchy->strong, kStrongAlignment);
    level.strong_at = hierarchy->strong;
    const auto hypercolumns = static_cast<std::size_t>(level.hypercolumns);
    hierarchy->weights += hypercolumns * level.weights;
    hierarchy->strong += hypercolumns * level.strong_words();
  }
  return hierarchy;
}

Expected<void> check_feedback(int rounds, int tolerance) noexcept {
  OCELLUS_TRY(check_number("feedback_rounds", rounds, 0, 100));
  return check_number("feedback_tolerance", tolerance, 1, 1000);
}

Expected<void> make_network_plan(const CorticalNetworkConfig& config, NetworkPlan& plan) noexcept {
  OCELLUS_TRY(check_number("lgn", static_cast<int>(config.lgn), 0, 1));
  OCELLUS_TRY(check_number("lgn_threshold", config.lgn_threshold, 1, 255));
  OCELLUS_TRY(check_number("level_count", config.level_count, 1, kMaxCorticalLevels));
  OCELLUS_TRY(check_learning(config.learning));
  OCELLUS_TRY(check_feedback(config.feedback_rounds, config.feedback_tolerance));
  OCELLUS_TRY(check_number("workers", config.workers, 1, kMaxWorkers));

  plan = {};
  OCELLUS_TRY_ASSIGN(hierarchy, hierarchy_of(config));
  plan.hierarchy = *hierarchy;
  plan.lgn = config.lgn;
  plan.lgn_threshold = config.lgn_threshold;
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
  plan.feedback_rounds = config.feedback_rounds;
  plan.feedback_tolerance = config.feedback_tolerance;
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
