#include "kernels/cortical_network/network.h"

#include <algorithm>

#include "cortical_network/network_arithmetic.h"

namespace ocellus::cuda {

void NetworkBase::layout(const detail::NetworkPlan& plan, detail::LayoutBuilder& device) noexcept {
  const detail::Hierarchy& h = plan.hierarchy;
  step = device.take<NetworkStep>(1);
  image = device.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                    static_cast<std::size_t>(h.height));
  wins = device.take<std::uint8_t>(h.minicolumns);
  winners = device.take<std::int32_t>(static_cast<std::size_t>(h.hypercolumns));
}

void NetworkBase::describe(const detail::NetworkPlan& plan) noexcept {
  const detail::Hierarchy& h = plan.hierarchy;
  levels = h.levels;
  level_count = h.level_count;
  hypercolumns = h.hypercolumns;
  width = h.width;
  height = h.height;
  lgn = plan.lgn;
  lgn_threshold = plan.lgn_threshold;
  threshold = plan.threshold;
  potentiation = plan.potentiation;
  depression = plan.depression;
  initial_weight = plan.initial_weight;
  // Weights below 0.5 move down to 0, others up to 1; see Minicolumn::settled.
  const int from = std::min(detail::largest_unchanged(depression) + 1, detail::kStrongWeight);
  const int until =
      std::max(kCorticalWeightOne - detail::largest_unchanged(potentiation), detail::kStrongWeight);
  moving_from = static_cast<unsigned>(from);
  moving_count = static_cast<unsigned>(until - from);
  stable_wins = plan.stable_wins;
  firing = plan.firing;
  seed = plan.seed;
}

void NetworkArguments::layout(const detail::NetworkPlan& plan,
                              detail::LayoutBuilder& device) noexcept {
  NetworkBase::layout(plan, device);
  weights = device.take<std::uint16_t>(plan.hierarchy.weights);
  strong = device.take<std::uint32_t>(plan.hierarchy.strong);
  const detail::LevelPlan& lowest = plan.hierarchy.level(0);
  patterns =
      device.take<std::uint8_t>(static_cast<std::size_t>(lowest.hypercolumns) * lowest.weights / 8);
  minicolumns = device.take<detail::Minicolumn>(plan.hierarchy.minicolumns);
  winner_responses =
      device.take<std::int64_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
  bytes = device.take<StepBytes>(1);
  arrived = device.take<unsigned>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
}

}  // namespace ocellus::cuda
