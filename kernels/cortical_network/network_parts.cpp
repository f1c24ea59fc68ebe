#include "kernels/cortical_network/network_parts.h"

#include "kernels/core/device_work.h"

namespace ocellus::cuda {
namespace {

/// Limits of the kernels of subtrees.
constexpr int kSubtreeInputs = 256;
constexpr int kSubtreeWords = 4;
constexpr int kSubtreeLanes = 32;

const detail::LevelPlan& level_at(const NetworkArguments& network, int level) noexcept {
  return network.levels[static_cast<std::size_t>(level)];
}

}  // namespace

bool fits_subtrees(const detail::LevelPlan& l) noexcept {
  const bool power_of_two = (l.words & (l.words - 1)) == 0;
  return l.inputs <= kSubtreeInputs && l.words <= kSubtreeWords &&
         (l.below_first >= 0 || power_of_two);
}

SubtreeArguments plan_subtrees(const NetworkArguments& network, const NetworkPart& part) noexcept {
  SubtreeArguments a{network, 0, {}, {}};
  const auto climbs = [&](int to) {
    return to < part.end_level && is_tree(level_at(network, to)) &&
           fits_subtrees(level_at(network, to)) &&
           level_at(network, to).window_width <= kSubtreeLanes;
  };
  int level = part.level;
  int arrived = 0;
  const auto of = [&](int number) -> SubtreeLevel& {
    return a.levels[static_cast<std::size_t>(number)];
  };
  of(level) = {part.begin, part.end, 1, 0};
  for (;;) {
    SubtreeTier& tier = a.tiers[static_cast<std::size_t>(a.tier_count++)];
    tier.level = level;
    tier.end_level = level + 1;
    int each = 1;
    const auto width_at = [&](int number) { return level_at(network, number).window_width; };
    const auto add_level = [&](int number) {
      const int width = width_at(number);
      const SubtreeLevel& below = of(number - 1);
      of(number) = {below.begin / width, below.end / width, 1,
                    static_cast<unsigned>((65536 + width - 1) / width)};
    };
    const int most = a.tier_count == 1 ? kSubtreeHypercolumns : kSubtreeLanes;
    while (climbs(tier.end_level) && each * width_at(tier.end_level) <= most) {
      add_level(tier.end_level);
      each *= width_at(tier.end_level);
      ++tier.end_level;
    }
    const bool goes_on = climbs(tier.end_level) && a.tier_count < kMostTiers;
    // Without a tier above, a block may compute several subtrees.
    if (!goes_on) each *= most / each;
    for (int number = level; number < tier.end_level; ++number) {
      if (number > level) each /= width_at(number);
      of(number).each = each;
    }
    if (a.tier_count > 1) {
      tier.below = width_at(level) * of(level).each;
      tier.roots = of(level - 1).end - of(level - 1).begin;
      tier.arrived_at = arrived;
      arrived += static_cast<int>(blocks_of(of(level).end - of(level).begin, of(level).each));
    }
    if (!goes_on) return a;
    level = tier.end_level;
    add_level(level);
  }
}

bool is_tree(const detail::LevelPlan& l) noexcept {
  return l.below_first >= 0 && l.hypercolumns == l.columns && l.window_height == 1 &&
         l.stride_x == l.window_width;
}

Expected<void> launch_part(DeviceWork& work, Scope& cuda, const NetworkArguments& network,
                           const NetworkPart& part, bool counts) noexcept {
  LaunchOrder order = LaunchOrder::kAfter;
  return for_each_kernel(
      network, part,
      [&](auto kernel, unsigned blocks, int threads, const auto& argument) {
        const LaunchOrder own = order;
        order = LaunchOrder::kOverlapping;
        return work.launch(cuda, kernel, dim3(blocks), dim3(static_cast<unsigned>(threads)), 0,
                           argument, own);
      },
      counts);
}

}  // namespace ocellus::cuda
