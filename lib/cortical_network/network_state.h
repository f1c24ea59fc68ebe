// The state of a cortical network on the CPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>

#include "core/layout_builder.h"
#include "core/process.h"
#include "core/scheduler.h"
#include "cortical_network/hypercolumn.h"
#include "cortical_network/network_work.h"
#include "ocellus/cortical_network.h"

namespace ocellus {

struct CorticalNetwork::State {
  struct LevelJob {
    State* state = nullptr;
    int level = 0;
  };

  CorticalNetworkConfig config;
  detail::NetworkPlan plan;
  detail::NetworkArrays arrays;
  detail::WorkerScratch scratch;
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t steps = 0;
  // The step in progress.
  const std::uint8_t* image = nullptr;
  std::ptrdiff_t image_stride = 0;
  bool learns = false;

  int workers = 1;
  std::array<LevelJob, kMaxCorticalLevels> level_jobs{};
  std::array<detail::JobStep, kMaxCorticalLevels> creation_steps{};    ///< random weights
  std::array<detail::JobStep, kMaxCorticalLevels> derivation_steps{};  ///< after weights were read
  std::array<detail::JobStep, kMaxCorticalLevels + 1> steps_of_a_step{};
  std::array<detail::JobStep, std::size_t{2} * kMaxCorticalLevels> feedback_steps{};  ///< a round
  detail::OwnerProcess process;
  detail::Scheduler scheduler;  // has no work when it ends

  ~State() {
    if (process.is_child()) scheduler.abandon();
    std::free(memory);
  }

  const detail::LevelPlan& level(int number) const noexcept { return plan.hierarchy.level(number); }

  /// Takes the memory and starts the workers. Weights and minicolumns are not initialized. Errors:
  /// those of CorticalNetwork::create.
  static Expected<std::unique_ptr<State>> create(const CorticalNetworkConfig& config) noexcept;

  void layout(detail::LayoutBuilder& builder) noexcept {
    const detail::Hierarchy& hierarchy = plan.hierarchy;
    const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
    arrays.cells =
        builder.take<std::uint8_t>(static_cast<std::size_t>(hierarchy.width) *
                                   static_cast<std::size_t>(hierarchy.height) * kLgnCells);
    arrays.weights = builder.take<std::uint16_t>(plan.layout.weights);
    arrays.strong = builder.take<std::uint32_t>(plan.layout.strong);
    arrays.minicolumns = builder.take<detail::Minicolumn>(hierarchy.minicolumns);
    arrays.wins = builder.take<std::uint8_t>(hierarchy.minicolumns);
    arrays.winners = builder.take<std::int32_t>(hypercolumns);
    arrays.winner_responses = builder.take<std::int64_t>(hypercolumns);
    arrays.hypotheses = builder.take<std::int32_t>(hypercolumns);
    scratch.layout(builder, hierarchy, workers);
  }

  // ---- parts of the work

  int parts(int number) const noexcept {
    return detail::parts_of(level(number).hypercolumns(), detail::kPartHypercolumns);
  }
  detail::PixelParts pixel_parts() const noexcept {
    return {{0, plan.hierarchy.height, 0, plan.hierarchy.width}};
  }

  void plan_jobs() noexcept {
    const detail::Hierarchy& hierarchy = plan.hierarchy;
    steps_of_a_step[0] = {.run = &State::lgn_part, .context = this, .parts = pixel_parts().count()};
    for (int i = 0; i < hierarchy.level_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      level_jobs[at] = {this, i};
      creation_steps[at] = {
          .run = &State::create_part, .context = &level_jobs[at], .parts = parts(i)};
      derivation_steps[at] = {
          .run = &State::derive_part, .context = &level_jobs[at], .parts = parts(i)};
      steps_of_a_step[at + 1] = {
          .run = &State::step_part, .context = &level_jobs[at], .parts = parts(i)};
      // Down, then up.
      const auto down = static_cast<std::size_t>(hierarchy.level_count - 1 - i);
      const auto up = static_cast<std::size_t>(hierarchy.level_count + i);
      feedback_steps[down] = {
          .run = &State::hypothesis_part, .context = &level_jobs[at], .parts = parts(i)};
      feedback_steps[up] = {
          .run = &State::expectation_part, .context = &level_jobs[at], .parts = parts(i)};
    }
  }

  static void lgn_part(void* context, int part, int) noexcept {
    State& state = *static_cast<State*>(context);
    detail::lgn_cells(state.plan, state.image, state.image_stride, state.pixel_parts().part(part),
                      state.arrays.cells);
  }

  static void create_part(void* context, int part, int) noexcept {
    for_part(context, part, &detail::initialize_hypercolumn);
  }
  static void derive_part(void* context, int part, int) noexcept {
    for_part(context, part, &detail::derive_hypercolumn);
  }
  template <typename Function>
  static void for_part(void* context, int part, const Function& function) noexcept {
    const auto [state, level] = *static_cast<const LevelJob*>(context);
    const int begin = part * detail::kPartHypercolumns;
    const int end = std::min(begin + detail::kPartHypercolumns, state->level(level).hypercolumns());
    for (int h = begin; h < end; ++h) function(state->plan, level, h, state->arrays);
  }

  static void step_part(void* context, int part, int worker) noexcept {
    const auto [state, level] = *static_cast<const LevelJob*>(context);
    const int begin = part * detail::kPartHypercolumns;
    const int end = std::min(begin + detail::kPartHypercolumns, state->level(level).hypercolumns());
    detail::step_hypercolumns(state->plan, level, begin, end, state->steps, state->learns,
                              state->arrays, state->scratch.of(worker));
  }

  static void hypothesis_part(void* context, int part, int worker) noexcept {
    feedback_part(context, part, worker, &detail::choose_hypotheses);
  }
  static void expectation_part(void* context, int part, int worker) noexcept {
    feedback_part(context, part, worker, &detail::respond_to_expectation);
  }
  template <typename Function>
  static void feedback_part(void* context, int part, int worker,
                            const Function& function) noexcept {
    const auto [state, level] = *static_cast<const LevelJob*>(context);
    const int begin = part * detail::kPartHypercolumns;
    const int end = std::min(begin + detail::kPartHypercolumns, state->level(level).hypercolumns());
    function(state->plan, level, begin, end, state->arrays, state->scratch.of(worker));
  }

  void run(std::span<const detail::JobStep> job_steps) noexcept {
    // A child process does not have the threads.
    if (workers == 1 || process.is_child()) {
      for (const detail::JobStep& step : job_steps)
        for (int part = 0; part < step.parts; ++part) step.run(step.context, part, 0);
      return;
    }
    detail::Job job;
    job.steps = job_steps.data();
    job.step_count = static_cast<int>(job_steps.size());
    scheduler.submit(job);
    scheduler.wait(job, Deadline::never());
  }
};

}  // namespace ocellus
