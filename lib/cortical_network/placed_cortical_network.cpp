#include "ocellus/placed_cortical_network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "core/backend.h"
#include "core/engine_state.h"
#include "core/failure.h"
#include "cortical_network/cpu_levels.h"
#include "cortical_network/network_arithmetic.h"
#include "cortical_network/network_file.h"
#include "cortical_network/placed_plan.h"

namespace ocellus {
namespace detail {
namespace {

struct CpuArrays {
  std::uint8_t* cells = nullptr;
  HypercolumnArrays split;
  HypercolumnArrays top;
};

CpuArrays place(const PlacedPlan& plan, int device, LayoutBuilder& builder) noexcept {
  CpuArrays arrays;
  const int split = plan.split_part(device);
  const bool has_pixels = split != PlacedPlan::kNone || plan.cpu_level == 0;
  const Hierarchy& h = plan.hierarchy();
  if (has_pixels) {
    arrays.cells = builder.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                              static_cast<std::size_t>(h.height) * kLgnCells);
  }
  if (split != PlacedPlan::kNone)
    arrays.split = plan.part(split).piece(0).place(builder, PlacementKind::kCpu);
  if (plan.top_part != PlacedPlan::kNone)
    arrays.top = plan.part(plan.top_part).piece(0).place(builder, PlacementKind::kCpu);
  return arrays;
}

/// Winners of the whole network; the same for all parts of the host.
struct PlacedWinners {
  std::int32_t* winners = nullptr;
  std::int64_t* responses = nullptr;
};

/// The parts on the CPU.
class PlacedCpu {
 public:
  PlacedCpu() noexcept = default;
  ~PlacedCpu() {
    if (engine_) engine_->give_back(MemorySpace::kHost, piece_);
  }

  PlacedCpu(const PlacedCpu&) = delete;
  PlacedCpu& operator=(const PlacedCpu&) = delete;

  /// Of the engine's block.
  static std::size_t bytes(const PlacedPlan& plan, int device) noexcept {
    LayoutBuilder sizes(nullptr, kPieceAlignment);
    place(plan, device, sizes);
    return sizes.bytes();
  }

  /// Takes the memory and starts the network. `scratch`: of the engine's workers. Errors:
  /// OutOfMemory.
  Expected<void> create(const PlacedPlan& plan, int device, const EngineRef& engine,
                        const PlacedWinners& winners, const WorkerScratch& scratch) noexcept {
    OCELLUS_TRY_ASSIGN(memory, engine->take(MemorySpace::kHost, bytes(plan, device)));
    engine_ = engine;
    piece_ = *memory;
    LayoutBuilder builder(piece_, kPieceAlignment);
    const CpuArrays placed = place(plan, device, builder);
    const auto start = [&](int part, const HypercolumnArrays& arrays, CpuLevels& levels) {
      if (part == PlacedPlan::kNone) return;
      const NetworkPiece& piece = plan.part(part).piece(0);
      levels.plan = plan.network;
      piece.apply(levels.plan);
      static_cast<HypercolumnArrays&>(levels.arrays) = arrays;
      levels.arrays.cells = placed.cells;
      levels.arrays.winners = winners.winners;
      levels.arrays.winner_responses = winners.responses;
      levels.scratch = scratch;
      levels.prepare(piece);
      levels.on_each_level<&initialize_hypercolumns>(
          [&](std::span<const JobStep> steps) { run(steps); });
    };
    start(plan.split_part(device), placed.split, split_);
    start(plan.top_part, placed.top, top_);
    return {};
  }

  /// The split part: LGN cells, and its levels. Nothing if the CPU has no such part.
  void step_split(const std::uint8_t* image, std::ptrdiff_t stride, std::uint64_t step,
                  bool learns) noexcept {
    // Without split levels, the levels from the lowest one on are those of step_top().
    CpuLevels& lowest = split_.empty() ? top_ : split_;
    lowest.image = image;
    lowest.stride = stride;
    const JobStep cells = lowest.cells_step();
    run({&cells, 1});
    split_.step = step;
    split_.learns = learns;
    run(split_.level_steps());
  }

  /// The levels from cpu_level on; the winners below are complete.
  void step_top(std::uint64_t step, bool learns) noexcept {
    top_.step = step;
    top_.learns = learns;
    run(top_.level_steps());
  }

  /// Arrays of a part of the CPU.
  const HypercolumnArrays& arrays(const PlacedPlan& plan, int part) const noexcept {
    return part == plan.top_part ? top_.arrays : split_.arrays;
  }

 private:
  void run(std::span<const JobStep> steps) noexcept {
    // Levels of one part, the highest ones, need no other thread.
    std::size_t shared = 0;
    while (shared < steps.size() && steps[shared].parts > 1) ++shared;
    if (shared > 0 && engine_->scheduler().workers() == 1) shared = 0;
    if (shared > 0) {
      Job job;
      job.steps = steps.data();
      job.step_count = static_cast<int>(shared);
      engine_->scheduler().submit(job);
      engine_->scheduler().wait(job, Deadline::never());
    }
    run_here(steps.subspan(shared));
  }

  EngineRef engine_;
  void* piece_ = nullptr;
  CpuLevels split_;
  CpuLevels top_;
};

}  // namespace
}  // namespace detail

namespace {

using detail::NetworkRun;
using detail::PlacedPlan;

/// Hypercolumns of this number of bytes are read from a device at once, or one hypercolumn.
constexpr std::size_t kRunBytes = std::size_t{1} << 20;

constexpr std::size_t kBitsOfByte = 8;

const char* name_of(PlacementKind kind) noexcept {
  return kind == PlacementKind::kCpu ? "a CPU" : "a GPU";
}

/// Each device that computes has an engine of its kind.
Expected<void> check_engines(const PlacedPlan& plan, const CorticalPlacement& placement,
                             std::span<Engine* const> engines) noexcept {
  if (engines.size() != placement.devices.size()) {
    return detail::invalid_argument("there are %zu engines; the placement has %zu devices",
                                    engines.size(), placement.devices.size());
  }
  for (int d = 0; d < plan.device_count; ++d) {
    if (!plan.uses(d)) continue;
    const PlacedDevice& device = placement.devices[static_cast<std::size_t>(d)];
    const Engine* const engine = engines[static_cast<std::size_t>(d)];
    const int shown = detail::shown(device.name);
    if (engine == nullptr) {
      return detail::invalid_argument(
          "engine %d is missing; the placement computes on device %d, '%.*s', %s", d, d, shown,
          device.name.c_str(), name_of(device.kind));
    }
    const bool is_cpu = engine->info().backend == BackendKind::kCpu;
    if (is_cpu != (device.kind == PlacementKind::kCpu)) {
      return detail::invalid_argument(
          "engine %d computes on the %s '%s'; device %d of the placement, '%.*s', is %s", d,
          is_cpu ? "CPU" : "CUDA device", engine->info().device_name, d, shown, device.name.c_str(),
          name_of(device.kind));
    }
    OCELLUS_TRY(detail::EngineAccess::state(*engine).check_process());
  }
  return {};
}

}  // namespace

Error detail::on_device(const PlacedDevice& device, const Error& error) noexcept {
  return make_error(error.status, "device '%.*s': %s", shown(device.name), device.name.c_str(),
                    error.text);
}

struct PlacedCorticalNetwork::State final : detail::NetworkStore {
  CorticalNetworkConfig config;
  std::unique_ptr<PlacedPlan> plan;
  std::array<detail::EngineRef, kMaxPlacementDevices> engines;
  detail::PlacedCpu cpu;
  std::unique_ptr<detail::PlacedGpus> gpus;
  void* memory = nullptr;
  detail::PlacedWinners winners;  ///< of the whole network
  detail::WorkerScratch scratch;
  std::uint16_t* run_memory = nullptr;
  std::unique_ptr<detail::NetworkPlan> run_plan;  ///< each level at the begin of the arrays
  std::uint64_t steps = 0;
  PlacedSchedule schedule = PlacedSchedule::kInOrder;
  struct BegunStep {
    std::uint64_t number = 0;
    bool learns = false;
  };
  std::optional<BegunStep> begun;  ///< the last step, if the levels above the split ones are left
  std::optional<Error> failure;

  ~State() override { std::free(memory); }

  /// Errors: Unsupported, in a child process that fork() made.
  Expected<void> check_process() const noexcept {
    for (const detail::EngineRef& engine : engines) {
      if (!engine) continue;
      OCELLUS_TRY(engine->check_process());
    }
    return {};
  }

  /// Ends the step that has begun, and waits for the devices. Errors: also those of
  /// check_process().
  Expected<void> settle() noexcept {
    OCELLUS_TRY(finish());
    return gpus == nullptr ? Expected<void>() : gpus->settle();
  }

  static Expected<std::unique_ptr<State>> create(const CorticalNetworkConfig& config,
                                                 const CorticalPlacement& placement,
                                                 std::span<Engine* const> engines,
                                                 PlacedSchedule schedule) noexcept {
    std::unique_ptr<State> state(new (std::nothrow) State);
    if (state == nullptr) return detail::no_memory_for_operator();
    state->config = config;
    state->schedule = schedule;
    OCELLUS_TRY_ASSIGN(plan, detail::make_placed_plan(config, placement));
    state->plan = std::move(*plan);
    OCELLUS_TRY(check_engines(*state->plan, placement, engines));
    OCELLUS_TRY(state->prepare(placement, engines));
    return state;
  }

  Expected<void> prepare(const CorticalPlacement& placement,
                         std::span<Engine* const> given) noexcept {
    run_plan.reset(new (std::nothrow) detail::NetworkPlan(plan->network));
    if (run_plan == nullptr) return detail::no_memory_for_operator();
    for (detail::LevelPlan& level : run_plan->hierarchy.levels)
      level.weights_at = level.strong_at = level.minicolumns_at = 0;
    int cpu_device = -1;
    int workers = 1;
    bool has_gpu = false;
    for (int d = 0; d < plan->device_count; ++d) {
      if (!plan->uses(d)) continue;
      const auto at = static_cast<std::size_t>(d);
      engines[at] = detail::EngineAccess::share(*given[at]);
      if (placement.devices[at].kind == PlacementKind::kCpu) {
        cpu_device = d;
        workers = given[at]->info().workers;
      } else {
        has_gpu = true;
      }
    }
    const auto layout = [&](detail::LayoutBuilder& builder) {
      const auto all = static_cast<std::size_t>(hierarchy().hypercolumns);
      winners.winners = builder.take<std::int32_t>(all);
      winners.responses = builder.take<std::int64_t>(all);
      scratch.layout(builder, hierarchy(), workers);
      run_memory = builder.take<std::uint16_t>(run_bytes() / sizeof(std::uint16_t));
    };
    detail::LayoutBuilder sizes;
    layout(sizes);
    memory = std::aligned_alloc(kMemoryAlignment, sizes.bytes());
    if (memory == nullptr) return detail::no_memory_for_operator();
    detail::LayoutBuilder places(memory);
    layout(places);
    scratch.clear();
    std::fill_n(winners.winners, hierarchy().hypercolumns, kSilent);
    std::fill_n(winners.responses, hierarchy().hypercolumns, std::int64_t{0});
    if (cpu_device >= 0) {
      const auto at = static_cast<std::size_t>(cpu_device);
      if (Expected<void> done = cpu.create(*plan, cpu_device, engines[at], winners, scratch); !done)
        return tl::unexpected(detail::on_device(placement.devices[at], done.error()));
    }
    if (!has_gpu) return {};
    if constexpr (detail::kBuiltWithCuda) {
      OCELLUS_TRY_ASSIGN(made, detail::make_placed_gpus(*plan, placement.devices, given));
      gpus = std::move(*made);
    }
    return {};
  }

  const detail::Hierarchy& hierarchy() const noexcept { return plan->hierarchy(); }
  /// A level's hypercolumns of all devices.
  int hypercolumns(int level) const noexcept { return hierarchy().level(level).hypercolumns; }

  // ---- hypercolumns one after another

  std::size_t run_capacity(int level) const noexcept {
    return std::max<std::size_t>(
        kRunBytes / hypercolumn_bytes(hierarchy().level(level), level == 0, PlacementKind::kGpu),
        1);
  }
  NetworkRun place_run(detail::LayoutBuilder& builder, int level, int count) const noexcept {
    const detail::LevelPlan& l = hierarchy().level(level);
    const auto hypercolumns = static_cast<std::size_t>(count);
    NetworkRun run;
    run.level = level;
    run.count = count;
    run.place(builder, hypercolumns * l.weights, hypercolumns * l.strong_words(),
              hypercolumns * static_cast<std::size_t>(l.padded),
              level == 0 ? hypercolumns * l.weights / kBitsOfByte : 0);
    return run;
  }

  std::size_t run_bytes() const noexcept {
    std::size_t most = 0;
    for (int l = 0; l < hierarchy().level_count; ++l) {
      detail::LayoutBuilder sizes;
      place_run(sizes, l, static_cast<int>(run_capacity(l)));
      most = std::max(most, sizes.bytes());
    }
    return most;
  }

  Expected<NetworkRun> open(int level, int hypercolumn, unsigned needed) noexcept override {
    return open(level, hypercolumn, needed, static_cast<int>(run_capacity(level)));
  }
  Expected<NetworkRun> open(int level, int hypercolumn, unsigned needed, int most) noexcept {
    const PlacedPlan::Where at = plan->find(level, hypercolumn);
    detail::LayoutBuilder builder(run_memory);
    NetworkRun run = place_run(builder, level, std::min(at.run.count(), most));
    run.begin = hypercolumn;
    OCELLUS_TRY(for_each_array(
        run, needed,
        [&](const PlacedPlan::Where& where, void* in_run, const void* of_network,
            std::size_t bytes) { return copy(where, in_run, of_network, bytes, false); }));
    return run;
  }

  Expected<void> store(const NetworkRun& run, unsigned changed) noexcept override {
    return for_each_array(
        run, changed,
        [&](const PlacedPlan::Where& where, const void* in_run, void* of_network,
            std::size_t bytes) { return copy(where, of_network, in_run, bytes, true); });
  }

  void derive(const NetworkRun& run) noexcept override {
    detail::NetworkArrays arrays;
    static_cast<detail::HypercolumnArrays&>(arrays) = run;
    arrays.winners = winners.winners;
    arrays.winner_responses = winners.responses;
    arrays.slot_shift = -run.begin;
    detail::derive_hypercolumns(*run_plan, run.level, run.begin, run.begin + run.count, arrays, {});
    if (run.patterns == nullptr) return;
    const std::size_t weights =
        static_cast<std::size_t>(run.count) * hierarchy().level(run.level).weights;
    for (std::size_t i = 0; i < weights; i += kBitsOfByte) {
      unsigned bits = 0;
      for (std::size_t k = 0; k < kBitsOfByte; ++k)
        bits |= (run.weights[i + k] >= detail::kStrongWeight ? 1u : 0u) << k;
      run.patterns[i / kBitsOfByte] = static_cast<std::uint8_t>(bits);
    }
  }

  /// `writes`: to the arrays of the network.
  Expected<void> copy(const PlacedPlan::Where& where, void* to, const void* from, std::size_t bytes,
                      bool writes) noexcept {
    if (!plan->part(where.part).on_cpu)
      return gpus->copy(where.part, where.piece, to, from, bytes, writes);
    std::memcpy(to, from, bytes);
    return {};
  }

  /// Calls copy(part, piece, of the run, of the network, bytes) for the arrays.
  template <typename Copy>
  Expected<void> for_each_array(const NetworkRun& run, unsigned arrays, const Copy& copy) noexcept {
    const PlacedPlan::Where at = plan->find(run.level, run.begin);
    const detail::PlacedPart& part = plan->part(at.part);
    const detail::PieceLevel& level = part.piece(at.piece).level(run.level);
    const detail::LevelPlan& l = hierarchy().level(run.level);
    const detail::HypercolumnArrays of =
        part.on_cpu ? cpu.arrays(*plan, at.part) : gpus->arrays(at.part, at.piece);
    const auto slot = static_cast<std::size_t>(at.run.slot);
    const auto count = static_cast<std::size_t>(run.count);
    const auto stride = static_cast<std::size_t>(l.padded);
    const auto each = [&](unsigned array, auto* in_run, auto* of_network, std::size_t begin,
                          std::size_t elements) -> Expected<void> {
      if ((arrays & array) == 0) return {};
      return copy(at, in_run, of_network + begin + slot * elements,
                  count * elements * sizeof(*in_run));
    };
    OCELLUS_TRY(each(kWeights, run.weights, of.weights, level.weights_at, l.weights));
    OCELLUS_TRY(each(kDerived, run.strong, of.strong, level.strong_at, l.strong_words()));
    if (of.patterns != nullptr && run.level == 0) {
      OCELLUS_TRY(each(kDerived, run.patterns, of.patterns, level.weights_at / kBitsOfByte,
                       l.weights / kBitsOfByte));
    }
    OCELLUS_TRY(each(kDerived, run.minicolumns, of.minicolumns, level.minicolumns_at, stride));
    return each(kWins, run.wins, of.wins, level.minicolumns_at, stride);
  }

  Expected<void> step(const detail::StepImage& image, bool learn) noexcept {
    const std::optional<BegunStep> before = std::exchange(begun, BegunStep{steps, learn});
    return checked([&]() -> Expected<void> {
      if (before) OCELLUS_TRY(end());
      if (gpus != nullptr) OCELLUS_TRY(gpus->begin(image, steps, learn));
      // While the GPUs compute.
      if (before) OCELLUS_TRY(compute_top(*before));
      cpu.step_split(image.pixels, image.stride, steps, learn);
      if (schedule == PlacedSchedule::kPipelined) return {};
      OCELLUS_TRY(end());
      return compute_top(*std::exchange(begun, std::nullopt));
    });
  }
  /// Computes what is left of the step that has begun. Errors: also those of check_process().
  Expected<void> finish() noexcept {
    OCELLUS_TRY(check_process());
    if (!begun) return {};
    return checked([&]() -> Expected<void> {
      OCELLUS_TRY(end());
      return compute_top(*std::exchange(begun, std::nullopt));
    });
  }
  /// Queues the levels where the parts meet.
  Expected<void> end() noexcept {
    return gpus == nullptr ? Expected<void>() : gpus->end(winners.winners);
  }
  Expected<void> compute_top(const BegunStep& step) noexcept {
    if (gpus != nullptr) OCELLUS_TRY(gpus->wait(winners.winners));
    cpu.step_top(step.number, step.learns);
    return {};
  }
  /// Keeps an error of the devices, which may then have learned different steps.
  template <typename Compute>
  Expected<void> checked(const Compute& compute) noexcept {
    const Expected<void> done = compute();
    if (done) return done;
    begun.reset();
    static_cast<void>(gpus->settle());
    failure = done.error();
    return done;
  }
};

// ---- hypercolumns one after another

// ---- PlacedCorticalNetwork

Expected<Footprint> PlacedCorticalNetwork::footprint(const CorticalNetworkConfig& config,
                                                     const CorticalPlacement& placement,
                                                     int device) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_placed_plan(config, placement));
  OCELLUS_TRY(detail::check_number("device", device, 0, (*plan)->device_count - 1));
  Footprint bytes;
  if (!(*plan)->uses(device)) return bytes;
  if (placement.devices[static_cast<std::size_t>(device)].kind == PlacementKind::kCpu) {
    bytes.host = detail::PlacedCpu::bytes(**plan, device);
    return bytes;
  }
  if constexpr (detail::kBuiltWithCuda) return detail::placed_gpu_footprint(**plan, device);
  return bytes;
}

Expected<PlacedCorticalNetwork> PlacedCorticalNetwork::create(const CorticalNetworkConfig& config,
                                                              const CorticalPlacement& placement,
                                                              std::span<Engine* const> engines,
                                                              PlacedSchedule schedule) noexcept {
  OCELLUS_TRY_ASSIGN(made, State::create(config, placement, engines, schedule));
  return PlacedCorticalNetwork(made->release());
}

Expected<PlacedCorticalNetwork> PlacedCorticalNetwork::load_file(const char* path,
                                                                 const CorticalPlacement& placement,
                                                                 std::span<Engine* const> engines,
                                                                 PlacedSchedule schedule) noexcept {
  detail::NetworkReader file;
  OCELLUS_TRY(file.open(path, 1));
  OCELLUS_TRY_ASSIGN(made, State::create(file.config(), placement, engines, schedule));
  (*made)->steps = file.steps();
  OCELLUS_TRY(file.read(**made));
  return PlacedCorticalNetwork(made->release());
}

PlacedCorticalNetwork::PlacedCorticalNetwork(PlacedCorticalNetwork&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}

PlacedCorticalNetwork& PlacedCorticalNetwork::operator=(PlacedCorticalNetwork&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

PlacedCorticalNetwork::~PlacedCorticalNetwork() {
  delete state_;
}

Expected<void> PlacedCorticalNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride,
                                           bool learn, MemorySpace space) noexcept {
  State& state = *state_;
  if (space == MemorySpace::kCuda) {
    return detail::invalid_argument(
        "the image is in the memory of a CUDA device; it must be in memory of the host");
  }
  OCELLUS_TRY(state.check_process());
  if (state.failure) return tl::unexpected(*state.failure);
  OCELLUS_TRY(state.step({image, stride, space == MemorySpace::kPinned}, learn));
  if (learn) ++state.steps;
  return {};
}

Expected<void> PlacedCorticalNetwork::finish() noexcept {
  if (state_->failure) return tl::unexpected(*state_->failure);
  return state_->finish();
}

Expected<void> PlacedCorticalNetwork::save_file(const char* path) noexcept {
  State& state = *state_;
  if (state.failure) return tl::unexpected(*state.failure);
  OCELLUS_TRY(state.settle());
  return detail::save_network(path, state.config, state.steps, state.plan->network, state);
}

const CorticalNetworkConfig& PlacedCorticalNetwork::config() const noexcept {
  return state_->config;
}
int PlacedCorticalNetwork::levels() const noexcept {
  return state_->hierarchy().level_count;
}
ImageSize PlacedCorticalNetwork::grid(int level) const noexcept {
  const detail::LevelPlan& l = state_->hierarchy().level(level);
  return {l.columns, l.rows};
}
int PlacedCorticalNetwork::inputs(int level) const noexcept {
  return state_->hierarchy().level(level).inputs;
}
int PlacedCorticalNetwork::minicolumns(int level) const noexcept {
  return state_->hierarchy().level(level).minicolumns;
}
std::uint64_t PlacedCorticalNetwork::steps() const noexcept {
  return state_->steps;
}

std::span<const std::int32_t> PlacedCorticalNetwork::winners() const noexcept {
  const int top = levels() - 1;
  return {state_->winners.winners + state_->hierarchy().level(top).first,
          static_cast<std::size_t>(state_->hypercolumns(top))};
}

Expected<void> PlacedCorticalNetwork::read_winners(int level,
                                                   std::span<std::int32_t> winners) noexcept {
  State& state = *state_;
  const int count = state.hypercolumns(level);
  if (winners.size() != static_cast<std::size_t>(count)) {
    return detail::invalid_argument("there is room for %zu winners; level %d has %d",
                                    winners.size(), level, count);
  }
  OCELLUS_TRY(state.finish());
  if (state.gpus != nullptr) OCELLUS_TRY(state.gpus->read_winners(level, state.winners.winners));
  std::copy_n(state.winners.winners + state.hierarchy().level(level).first, count, winners.begin());
  return {};
}

Expected<void> PlacedCorticalNetwork::read_weights(int level, int hypercolumn,
                                                   std::span<std::uint16_t> weights) noexcept {
  State& state = *state_;
  const detail::LevelPlan& l = state.hierarchy().level(level);
  const auto inputs = static_cast<std::size_t>(l.inputs);
  const auto minicolumns = static_cast<std::size_t>(l.minicolumns);
  if (weights.size() != inputs * minicolumns) {
    return detail::invalid_argument(
        "there is room for %zu weights; a hypercolumn of level %d has %zu", weights.size(), level,
        inputs * minicolumns);
  }
  OCELLUS_TRY(state.settle());
  OCELLUS_TRY_ASSIGN(run, state.open(level, hypercolumn, detail::NetworkStore::kWeights, 1));
  for (std::size_t m = 0; m < minicolumns; ++m)
    std::copy_n(run->weights + m * static_cast<std::size_t>(l.pitch), inputs,
                weights.begin() + static_cast<std::ptrdiff_t>(m * inputs));
  return {};
}

}  // namespace ocellus
