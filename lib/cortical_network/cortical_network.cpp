#include "ocellus/cortical_network.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "core/failure.h"
#include "cortical_network/network_state.h"

namespace ocellus {

Expected<std::unique_ptr<CorticalNetwork::State>> CorticalNetwork::State::create(
    const CorticalNetworkConfig& config) noexcept {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return detail::no_memory_for_operator();
  OCELLUS_TRY(state->process.create());
  OCELLUS_TRY(detail::make_network_plan(config, state->plan));
  state->config = config;
  state->workers = config.workers;
  detail::LayoutBuilder sizes;
  state->layout(sizes);
  state->bytes = sizes.bytes();
  state->memory = std::aligned_alloc(kMemoryAlignment, state->bytes);
  if (state->memory == nullptr) return detail::no_memory_for_operator();
  detail::LayoutBuilder places(state->memory);
  state->layout(places);
  state->scratch.clear();
  std::fill_n(state->arrays.cells,
              static_cast<std::size_t>(state->plan.hierarchy.width) *
                  static_cast<std::size_t>(state->plan.hierarchy.height) * kLgnCells,
              std::uint8_t{0});
  if (state->workers > 1) {
    if (Expected<void> started = state->scheduler.start({}, state->workers); !started)
      return tl::unexpected(started.error());
  }
  state->plan_jobs();
  return state;
}

Expected<CorticalNetwork> CorticalNetwork::create(const CorticalNetworkConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(made, State::create(config));
  State& state = **made;
  state.run(
      {state.creation_steps.data(), static_cast<std::size_t>(state.plan.hierarchy.level_count)});
  return CorticalNetwork(made->release());
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
  state.image = image;
  state.image_stride = stride;
  state.learns = learn;
  const auto levels = static_cast<std::size_t>(state.plan.hierarchy.level_count);
  state.run({state.steps_of_a_step.data(), levels + 1});
  if (learn) {
    ++state.steps;
    return;
  }
  for (int round = 0; round < state.plan.feedback_rounds; ++round)
    state.run({state.feedback_steps.data(), 2 * levels});
}

Expected<void> CorticalNetwork::set_feedback(int rounds, int tolerance) noexcept {
  OCELLUS_TRY(detail::check_feedback(rounds, tolerance));
  state_->config.feedback_rounds = rounds;
  state_->config.feedback_tolerance = tolerance;
  state_->plan.feedback_rounds = rounds;
  state_->plan.feedback_tolerance = tolerance;
  return {};
}

const CorticalNetworkConfig& CorticalNetwork::config() const noexcept {
  return state_->config;
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

void CorticalNetwork::responses(int level, int hypercolumn,
                                std::span<std::int64_t> g) const noexcept {
  detail::responses_of(state_->plan, level, hypercolumn, state_->arrays, state_->scratch.of(0), g);
}

int CorticalNetwork::weight(int level, int hypercolumn, int input, int minicolumn) const noexcept {
  return state_->arrays.weights[state_->plan.layout.weights_of(level, hypercolumn, minicolumn) +
                                static_cast<std::size_t>(input)];
}

std::uint64_t CorticalNetwork::steps() const noexcept {
  return state_->steps;
}

std::size_t CorticalNetwork::memory() const noexcept {
  return state_->bytes;
}

}  // namespace ocellus
