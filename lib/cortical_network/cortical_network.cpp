#include "ocellus/cortical_network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "core/failure.h"
#include "core/process.h"
#include "cortical_network/cpu_levels.h"
#include "cortical_network/network_file.h"

namespace ocellus {

using detail::CpuLevels;
using detail::JobStep;
using detail::NetworkArrays;
using detail::NetworkRun;

struct CorticalNetwork::State final : detail::NetworkStore {
  CorticalNetworkConfig config;
  detail::NetworkPiece whole;
  CpuLevels levels;
  void* memory = nullptr;
  std::size_t bytes = 0;
  detail::OwnerProcess process;
  detail::Scheduler scheduler;  // has no work when it ends

  ~State() override {
    if (process.is_child()) scheduler.abandon();
    std::free(memory);
  }

  const detail::NetworkPlan& plan() const noexcept { return levels.plan; }
  const detail::LevelPlan& level(int number) const noexcept {
    return plan().hierarchy.level(number);
  }

  /// Takes the memory and starts the workers. Weights and minicolumns are not initialized. Errors:
  /// those of CorticalNetwork::create.
  static Expected<std::unique_ptr<State>> create(const CorticalNetworkConfig& config) noexcept {
    std::unique_ptr<State> state(new (std::nothrow) State);
    if (state == nullptr) return detail::no_memory_for_operator();
    OCELLUS_TRY(state->process.create());
    detail::NetworkPlan& plan = state->levels.plan;
    OCELLUS_TRY(detail::make_network_plan(config, plan));
    state->config = config;
    detail::LayoutBuilder sizes;
    state->layout(sizes);
    state->bytes = sizes.bytes();
    state->memory = std::aligned_alloc(kMemoryAlignment, state->bytes);
    if (state->memory == nullptr) return detail::no_memory_for_operator();
    detail::LayoutBuilder places(state->memory);
    state->layout(places);
    state->levels.scratch.clear();
    // `responses` may be called before the first step.
    std::fill_n(state->levels.arrays.cells,
                static_cast<std::size_t>(plan.hierarchy.width) *
                    static_cast<std::size_t>(plan.hierarchy.height) * kLgnCells,
                std::uint8_t{0});
    const int top = plan.hierarchy.level_count - 1;
    state->whole =
        detail::NetworkPiece(plan, {0, top + 1, 0, plan.hierarchy.level(top).hypercolumns});
    state->levels.prepare(state->whole);
    if (config.workers > 1) OCELLUS_TRY(state->scheduler.start({}, config.workers));
    return state;
  }

  void layout(detail::LayoutBuilder& builder) noexcept {
    const detail::Hierarchy& hierarchy = plan().hierarchy;
    const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
    NetworkArrays& arrays = levels.arrays;
    arrays.cells =
        builder.take<std::uint8_t>(static_cast<std::size_t>(hierarchy.width) *
                                   static_cast<std::size_t>(hierarchy.height) * kLgnCells);
    arrays.place(builder, hierarchy.weights, hierarchy.strong, hierarchy.minicolumns);
    arrays.winners = builder.take<std::int32_t>(hypercolumns);
    arrays.winner_responses = builder.take<std::int64_t>(hypercolumns);
    arrays.hypotheses = builder.take<std::int32_t>(hypercolumns);
    levels.scratch.layout(builder, hierarchy, config.workers);
  }

  void run(std::span<const JobStep> steps) noexcept {
    // A child process does not have the threads.
    if (config.workers == 1 || process.is_child()) return detail::run_here(steps);
    detail::Job job;
    job.steps = steps.data();
    job.step_count = static_cast<int>(steps.size());
    scheduler.submit(job);
    scheduler.wait(job, Deadline::never());
  }
  template <CpuLevels::Body kBody>
  void run_on_each_level() noexcept {
    levels.on_each_level<kBody>([this](std::span<const JobStep> steps) { run(steps); });
  }

  /// For files: a whole level is one run, in the arrays of the network. The workers derive it
  /// together.
  Expected<NetworkRun> open(int number, int, unsigned) noexcept override {
    return detail::whole_level(plan(), levels.arrays, number);
  }

  /// Rounds of feedback: down, then up.
  void give_feedback() noexcept {
    const int count = plan().hierarchy.level_count;
    std::array<JobStep, std::size_t{2} * kMaxCorticalLevels> steps;
    for (int l = 0; l < count; ++l) {
      steps[static_cast<std::size_t>(count - 1 - l)] =
          levels.level_step<&detail::choose_hypotheses>(l);
      steps[static_cast<std::size_t>(count + l)] =
          levels.level_step<&detail::respond_to_expectation>(l);
    }
    for (int round = 0; round < plan().feedback_rounds; ++round)
      run({steps.data(), 2 * static_cast<std::size_t>(count)});
  }
};

Expected<CorticalNetwork> CorticalNetwork::create(const CorticalNetworkConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(made, State::create(config));
  (*made)->run_on_each_level<&detail::initialize_hypercolumns>();
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
  CpuLevels& levels = state_->levels;
  levels.image = image;
  levels.stride = stride;
  levels.learns = learn;
  state_->run(levels.steps());
  if (learn)
    ++levels.step;
  else if (levels.plan.feedback_rounds > 0)
    state_->give_feedback();
}

Expected<void> CorticalNetwork::set_feedback(int rounds, int tolerance) noexcept {
  OCELLUS_TRY(detail::check_feedback(rounds, tolerance));
  state_->config.feedback_rounds = state_->levels.plan.feedback_rounds = rounds;
  state_->config.feedback_tolerance = state_->levels.plan.feedback_tolerance = tolerance;
  return {};
}

const CorticalNetworkConfig& CorticalNetwork::config() const noexcept {
  return state_->config;
}

int CorticalNetwork::levels() const noexcept {
  return state_->plan().hierarchy.level_count;
}

ImageSize CorticalNetwork::grid(int level) const noexcept {
  return {state_->level(level).columns, state_->level(level).rows};
}

int CorticalNetwork::inputs(int level) const noexcept {
  return state_->level(level).inputs;
}

int CorticalNetwork::minicolumns(int level) const noexcept {
  return state_->level(level).minicolumns;
}

std::span<const std::int32_t> CorticalNetwork::winners(int level) const noexcept {
  const detail::LevelPlan& l = state_->level(level);
  return {state_->levels.arrays.winners + l.first, static_cast<std::size_t>(l.hypercolumns)};
}

void CorticalNetwork::responses(int level, int hypercolumn,
                                std::span<std::int64_t> g) const noexcept {
  const CpuLevels& levels = state_->levels;
  detail::responses_of(levels.plan, level, hypercolumn, levels.arrays, levels.scratch.of(0), g);
}

int CorticalNetwork::weight(int level, int hypercolumn, int input, int minicolumn) const noexcept {
  return state_->levels.arrays
      .weights[state_->plan().hierarchy.weights_of(level, hypercolumn, minicolumn) +
               static_cast<std::size_t>(input)];
}

std::uint64_t CorticalNetwork::steps() const noexcept {
  return state_->levels.step;
}

std::size_t CorticalNetwork::memory() const noexcept {
  return state_->bytes;
}

Expected<void> CorticalNetwork::save_file(const char* path,
                                          const CorticalReadOut& read_out) const noexcept {
  return detail::save_network(path, state_->config, steps(), state_->plan(), *state_, read_out);
}

Expected<CorticalNetwork> CorticalNetwork::load_file(const char* path, int workers) noexcept {
  detail::NetworkReader file;
  OCELLUS_TRY(file.open(path, workers));
  OCELLUS_TRY_ASSIGN(made, State::create(file.config()));
  State& state = **made;
  state.levels.step = file.steps();
  OCELLUS_TRY(file.read(state));
  state.run_on_each_level<&detail::derive_hypercolumns>();
  return CorticalNetwork(made->release());
}

}  // namespace ocellus
