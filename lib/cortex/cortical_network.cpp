#include "ocellus/cortical_network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "core/failure.h"
#include "core/layout_builder.h"
#include "core/process.h"
#include "core/scheduler.h"
#include "cortex/hypercolumn.h"

namespace ocellus {

namespace {

/// Hypercolumns and pixels of a part of the work that one worker takes.
constexpr int kPartHypercolumns = 4 * detail::kHypercolumnBatch;
constexpr int kPartPixels = 1 << 16;

int parts_of(int count, int size) noexcept {
  return (count + size - 1) / size;
}

}  // namespace

struct CorticalNetwork::State {
  struct LevelJob {
    State* state = nullptr;
    int level = 0;
  };

  detail::NetworkPlan plan;
  detail::NetworkArrays arrays;
  std::uint16_t* active = nullptr;
  std::uint8_t* patterns = nullptr;
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t steps = 0;
  // The step in progress.
  const std::uint8_t* image = nullptr;
  std::ptrdiff_t image_stride = 0;
  bool learns = false;

  int workers = 1;
  std::array<LevelJob, kMaxCorticalLevels> level_jobs{};
  std::array<detail::JobStep, kMaxCorticalLevels> creation_steps{};
  std::array<detail::JobStep, kMaxCorticalLevels + 1> steps_of_a_step{};
  detail::OwnerProcess process;
  detail::Scheduler scheduler;  // has no work when it ends

  ~State() {
    if (process.is_child()) scheduler.abandon();
    std::free(memory);
  }

  const detail::LevelPlan& level(int number) const noexcept { return plan.hierarchy.level(number); }

  void layout(detail::LayoutBuilder& builder) noexcept {
    const detail::Hierarchy& hierarchy = plan.hierarchy;
    const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
    const auto scratch = static_cast<std::size_t>(workers);
    arrays.cells =
        builder.take<std::uint8_t>(static_cast<std::size_t>(hierarchy.width) *
                                   static_cast<std::size_t>(hierarchy.height) * kLgnCells);
    arrays.weights = builder.take<std::uint16_t>(plan.layout.weights);
    arrays.strong = builder.take<std::uint32_t>(plan.layout.strong);
    arrays.minicolumns = builder.take<detail::Minicolumn>(hierarchy.minicolumns);
    arrays.wins = builder.take<std::uint8_t>(hierarchy.minicolumns);
    arrays.winners = builder.take<std::int32_t>(hypercolumns);
    arrays.winner_responses = builder.take<std::int64_t>(hypercolumns);
    active = builder.take<std::uint16_t>(scratch * active_of_a_worker());
    patterns = builder.take<std::uint8_t>(scratch * pattern_of_a_worker());
  }

  std::size_t active_of_a_worker() const noexcept {
    return static_cast<std::size_t>(plan.hierarchy.most_inputs) * detail::kHypercolumnBatch;
  }
  std::size_t pattern_of_a_worker() const noexcept {
    return detail::align_up(
        static_cast<std::size_t>(detail::padded_inputs(plan.hierarchy.most_inputs)),
        kMemoryAlignment);
  }
  detail::StepScratch scratch(int worker) const noexcept {
    const auto number = static_cast<std::size_t>(worker);
    return {active + number * active_of_a_worker(), patterns + number * pattern_of_a_worker()};
  }

  // ---- parts of the work

  int parts(int number) const noexcept {
    return parts_of(level(number).hypercolumns(), kPartHypercolumns);
  }
  int columns_of_a_part() const noexcept { return std::min(plan.hierarchy.width, kPartPixels); }
  int rows_of_a_part() const noexcept { return std::max(kPartPixels / plan.hierarchy.width, 1); }

  void plan_jobs() noexcept {
    const detail::Hierarchy& hierarchy = plan.hierarchy;
    steps_of_a_step[0] = {.run = &State::lgn_part,
                          .context = this,
                          .parts = parts_of(hierarchy.width, columns_of_a_part()) *
                                   parts_of(hierarchy.height, rows_of_a_part())};
    for (int i = 0; i < hierarchy.level_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      level_jobs[at] = {this, i};
      creation_steps[at] = {
          .run = &State::create_part, .context = &level_jobs[at], .parts = parts(i)};
      steps_of_a_step[at + 1] = {
          .run = &State::step_part, .context = &level_jobs[at], .parts = parts(i)};
    }
  }

  static void lgn_part(void* context, int part, int) noexcept {
    State& state = *static_cast<State*>(context);
    const detail::Hierarchy& hierarchy = state.plan.hierarchy;
    const int columns = state.columns_of_a_part();
    const int rows = state.rows_of_a_part();
    const int across = parts_of(hierarchy.width, columns);
    const int x = part % across * columns;
    const int y = part / across * rows;
    detail::lgn_cells(
        state.plan, state.image, state.image_stride,
        {y, std::min(y + rows, hierarchy.height), x, std::min(x + columns, hierarchy.width)},
        state.arrays.cells);
  }

  static void create_part(void* context, int part, int) noexcept {
    const auto [state, level] = *static_cast<const LevelJob*>(context);
    const int begin = part * kPartHypercolumns;
    const int end = std::min(begin + kPartHypercolumns, state->level(level).hypercolumns());
    for (int h = begin; h < end; ++h)
      detail::initialize_hypercolumn(state->plan, level, h, state->arrays);
  }

  static void step_part(void* context, int part, int worker) noexcept {
    const auto [state, level] = *static_cast<const LevelJob*>(context);
    const int begin = part * kPartHypercolumns;
    const int end = std::min(begin + kPartHypercolumns, state->level(level).hypercolumns());
    detail::step_hypercolumns(state->plan, level, begin, end, state->steps, state->learns,
                              state->arrays, state->scratch(worker));
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

Expected<CorticalNetwork> CorticalNetwork::create(const CorticalNetworkConfig& config) noexcept {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return detail::no_memory_for_operator();
  if (Expected<void> made = state->process.create(); !made) return tl::unexpected(made.error());
  if (Expected<void> made = detail::make_network_plan(config, state->plan); !made)
    return tl::unexpected(made.error());
  state->workers = config.workers;
  detail::LayoutBuilder sizes;
  state->layout(sizes);
  state->bytes = sizes.bytes();
  state->memory = std::aligned_alloc(kMemoryAlignment, state->bytes);
  if (state->memory == nullptr) return detail::no_memory_for_operator();
  detail::LayoutBuilder places(state->memory);
  state->layout(places);
  std::fill_n(state->patterns,
              static_cast<std::size_t>(state->workers) * state->pattern_of_a_worker(),
              std::uint8_t{0});
  std::fill_n(state->active, static_cast<std::size_t>(state->workers) * state->active_of_a_worker(),
              std::uint16_t{0});
  std::fill_n(state->arrays.cells,
              static_cast<std::size_t>(state->plan.hierarchy.width) *
                  static_cast<std::size_t>(state->plan.hierarchy.height) * kLgnCells,
              std::uint8_t{0});
  if (state->workers > 1) {
    if (Expected<void> started = state->scheduler.start({}, state->workers); !started)
      return tl::unexpected(started.error());
  }
  state->plan_jobs();
  const auto levels = static_cast<std::size_t>(state->plan.hierarchy.level_count);
  state->run({state->creation_steps.data(), levels});
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
  state.image = image;
  state.image_stride = stride;
  state.learns = learn;
  const auto levels = static_cast<std::size_t>(state.plan.hierarchy.level_count);
  state.run({state.steps_of_a_step.data(), levels + 1});
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

void CorticalNetwork::responses(int level, int hypercolumn,
                                std::span<std::int64_t> g) const noexcept {
  detail::responses_of(state_->plan, level, hypercolumn, state_->arrays, state_->scratch(0), g);
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
