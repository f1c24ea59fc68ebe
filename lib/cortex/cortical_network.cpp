#include "ocellus/cortical_network.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "core/failure.h"
#include "core/layout_builder.h"
#include "cortex/hypercolumn.h"

namespace ocellus {

struct CorticalNetwork::State {
  detail::NetworkPlan plan;
  detail::NetworkArrays arrays;
  std::uint16_t* active = nullptr;
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t steps = 0;

  ~State() { std::free(memory); }

  const detail::LevelPlan& level(int number) const noexcept { return plan.hierarchy.level(number); }
  void layout(detail::LayoutBuilder& builder) noexcept {
    arrays.cells =
        builder.take<std::uint8_t>(static_cast<std::size_t>(plan.hierarchy.width) *
                                   static_cast<std::size_t>(plan.hierarchy.height) * kLgnCells);
    arrays.weights = builder.take<std::uint16_t>(plan.hierarchy.weights);
    arrays.omega = builder.take<std::int32_t>(plan.hierarchy.minicolumns);
    arrays.wins = builder.take<std::uint8_t>(plan.hierarchy.minicolumns);
    arrays.responses = builder.take<std::int64_t>(plan.hierarchy.minicolumns);
    arrays.winners =
        builder.take<std::int32_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
    active = builder.take<std::uint16_t>(static_cast<std::size_t>(plan.hierarchy.most_inputs));
  }
};

Expected<CorticalNetwork> CorticalNetwork::create(const CorticalNetworkConfig& config) noexcept {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return detail::no_memory_for_operator();
  if (Expected<void> made = detail::make_network_plan(config, state->plan); !made)
    return tl::unexpected(made.error());
  detail::LayoutBuilder sizes;
  state->layout(sizes);
  state->bytes = sizes.bytes();
  state->memory = std::aligned_alloc(kMemoryAlignment, state->bytes);
  if (state->memory == nullptr) return detail::no_memory_for_operator();
  detail::LayoutBuilder places(state->memory);
  state->layout(places);
  for (int level = 0; level < state->plan.hierarchy.level_count; ++level)
    for (int h = 0; h < state->level(level).hypercolumns(); ++h)
      detail::initialize_hypercolumn(state->plan, level, h, state->arrays);
  return CorticalNetwork(state.release());
}

CorticalNetwork::CorticalNetwork(CorticalNetwork&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}

CorticalNetwork& CorticalNetwork::operator=(CorticalNetwork&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

CorticalNetwork::~CorticalNetwork() {
  delete state_;
}

void CorticalNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept {
  State& state = *state_;
  detail::lgn_cells(state.plan, image, stride, 0, state.plan.hierarchy.height, state.arrays.cells);
  for (int level = 0; level < state.plan.hierarchy.level_count; ++level)
    for (int h = 0; h < state.level(level).hypercolumns(); ++h)
      detail::step_hypercolumn(state.plan, level, h, state.steps, learn, state.arrays,
                               state.active);
  if (learn) ++state.steps;
}

int CorticalNetwork::levels() const noexcept {
  return state_->plan.hierarchy.level_count;
}

ImageSize CorticalNetwork::grid(int level) const noexcept {
  return {state_->level(level).columns, state_->level(level).rows};
}

int CorticalNetwork::inputs(int level) const noexcept {
  return state_->level(level).inputs;
}

int CorticalNetwork::minicolumns(int level) const noexcept {
  return state_->level(level).shape.minicolumns;
}

std::span<const std::int32_t> CorticalNetwork::winners(int level) const noexcept {
  const detail::LevelPlan& l = state_->level(level);
  return {state_->arrays.winners + l.first, static_cast<std::size_t>(l.hypercolumns())};
}

std::span<const std::int64_t> CorticalNetwork::responses(int level,
                                                         int hypercolumn) const noexcept {
  return {state_->arrays.responses + state_->plan.hierarchy.minicolumns_of(level, hypercolumn),
          static_cast<std::size_t>(minicolumns(level))};
}

int CorticalNetwork::weight(int level, int hypercolumn, int input, int minicolumn) const noexcept {
  const detail::LevelPlan& l = state_->level(level);
  return state_->arrays
      .weights[state_->plan.hierarchy.weights_of(level, hypercolumn) +
               static_cast<std::size_t>(input) * static_cast<std::size_t>(l.stride) +
               static_cast<std::size_t>(minicolumn)];
}

std::uint64_t CorticalNetwork::steps() const noexcept {
  return state_->steps;
}

std::size_t CorticalNetwork::memory() const noexcept {
  return state_->bytes;
}

}  // namespace ocellus
