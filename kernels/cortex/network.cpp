#include "kernels/cortex/network.h"

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
  for (int i = 0; i < h.level_count; ++i) {
    const detail::LevelLayout& layout = plan.layout.level(i);
    levels[static_cast<std::size_t>(i)] = {grid_level(h, i),
                                           layout.pitch,
                                           layout.words,
                                           static_cast<std::int64_t>(h.level(i).minicolumns_at),
                                           static_cast<std::int64_t>(layout.weights_at),
                                           static_cast<std::int64_t>(layout.strong_at)};
  }
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
  stable_wins = plan.stable_wins;
  firing = plan.firing;
  seed = plan.seed;
}

void NetworkArguments::layout(const detail::NetworkPlan& plan,
                              detail::LayoutBuilder& device) noexcept {
  NetworkBase::layout(plan, device);
  weights = device.take<std::uint16_t>(plan.layout.weights);
  strong = device.take<std::uint32_t>(plan.layout.strong);
  minicolumns = device.take<detail::Minicolumn>(plan.hierarchy.minicolumns);
  winner_responses =
      device.take<std::int64_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
}

}  // namespace ocellus::cuda
