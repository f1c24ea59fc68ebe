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
#include "cortical_network/network_arithmetic.h"
#include "cortical_network/network_file.h"
#include "cortical_network/placed_cpu.h"
#include "cortical_network/placed_gpus.h"

namespace ocellus {
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
  std::optional<Error> failure;

  ~State() override { std::free(memory); }

  /// Errors: Unsupported, in a child process that fork() made.
  Expected<void> check_process() const noexcept;
  /// Waits for the devices. Errors: also those of check_process().
  Expected<void> settle() noexcept;

  static Expected<std::unique_ptr<State>> create(const CorticalNetworkConfig& config,
                                                 const CorticalPlacement& placement,
                                                 std::span<Engine* const> engines) noexcept;
  Expected<void> prepare(const CorticalPlacement& placement,
                         std::span<Engine* const> given) noexcept;

  const detail::Hierarchy& hierarchy() const noexcept { return plan->hierarchy(); }
  /// A level's hypercolumns of all devices.
  int hypercolumns(int level) const noexcept { return hierarchy().level(level).hypercolumns(); }

  // ---- hypercolumns one after another

  std::size_t run_capacity(int level) const noexcept {
    return std::max<std::size_t>(
        kRunBytes / hypercolumn_bytes(hierarchy().level(level), level == 0, PlacementKind::kGpu),
        1);
  }
  NetworkRun place_run(detail::LayoutBuilder& builder, int level, int count) const noexcept;
  std::size_t run_bytes() const noexcept;
  Expected<NetworkRun> open(int level, int hypercolumn, unsigned needed) noexcept override {
    return open(level, hypercolumn, needed, static_cast<int>(run_capacity(level)));
  }
  Expected<NetworkRun> open(int level, int hypercolumn, unsigned needed, int most) noexcept;
  Expected<void> store(const NetworkRun& run, unsigned changed) noexcept override;
  void derive(const NetworkRun& run) noexcept override;

  /// `writes`: to the arrays of the network.
  Expected<void> copy(const PlacedPlan::Where& where, void* to, const void* from, std::size_t bytes,
                      bool writes) noexcept;
  /// Calls copy(part, piece, of the run, of the network, bytes) for the arrays.
  template <typename Copy>
  Expected<void> for_each_array(const NetworkRun& run, unsigned arrays, const Copy& copy) noexcept;

  Expected<void> step(const detail::StepImage& image, bool learn) noexcept;
};

Expected<std::unique_ptr<PlacedCorticalNetwork::State>> PlacedCorticalNetwork::State::create(
    const CorticalNetworkConfig& config, const CorticalPlacement& placement,
    std::span<Engine* const> engines) noexcept {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return detail::no_memory_for_operator();
  state->config = config;
  OCELLUS_TRY_ASSIGN(plan, detail::make_placed_plan(config, placement));
  state->plan = std::move(*plan);
  OCELLUS_TRY(check_engines(*state->plan, placement, engines));
  OCELLUS_TRY(state->prepare(placement, engines));
  return state;
}

Expected<void> PlacedCorticalNetwork::State::prepare(const CorticalPlacement& placement,
                                                     std::span<Engine* const> given) noexcept {
  run_plan.reset(new (std::nothrow) detail::NetworkPlan(plan->network));
  if (run_plan == nullptr) return detail::no_memory_for_operator();
  for (std::size_t l = 0; l < run_plan->layout.levels.size(); ++l) {
    run_plan->layout.levels[l].weights_at = 0;
    run_plan->layout.levels[l].strong_at = 0;
    run_plan->hierarchy.levels[l].minicolumns_at = 0;
  }
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

Expected<void> PlacedCorticalNetwork::State::check_process() const noexcept {
  for (const detail::EngineRef& engine : engines) {
    if (!engine) continue;
    OCELLUS_TRY(engine->check_process());
  }
  return {};
}

Expected<void> PlacedCorticalNetwork::State::settle() noexcept {
  OCELLUS_TRY(check_process());
  return gpus == nullptr ? Expected<void>() : gpus->settle();
}

// ---- hypercolumns one after another

NetworkRun PlacedCorticalNetwork::State::place_run(detail::LayoutBuilder& builder, int level,
                                                   int count) const noexcept {
  const detail::LevelLayout& layout = plan->network.layout.level(level);
  const auto hypercolumns = static_cast<std::size_t>(count);
  NetworkRun run;
  run.level = level;
  run.count = count;
  run.place(builder, hypercolumns * layout.weights(), hypercolumns * layout.strong_words(),
            hypercolumns * static_cast<std::size_t>(hierarchy().level(level).stride),
            level == 0 ? hypercolumns * layout.weights() / kBitsOfByte : 0);
  return run;
}

std::size_t PlacedCorticalNetwork::State::run_bytes() const noexcept {
  std::size_t most = 0;
  for (int l = 0; l < hierarchy().level_count; ++l) {
    detail::LayoutBuilder sizes;
    place_run(sizes, l, static_cast<int>(run_capacity(l)));
    most = std::max(most, sizes.bytes());
  }
  return most;
}

template <typename Copy>
Expected<void> PlacedCorticalNetwork::State::for_each_array(const NetworkRun& run, unsigned arrays,
                                                            const Copy& copy) noexcept {
  const PlacedPlan::Where at = plan->find(run.level, run.begin);
  const detail::PlacedPart& part = plan->part(at.part);
  const detail::PieceLevel& level = part.piece(at.piece).level(run.level);
  const detail::LevelLayout& layout = plan->network.layout.level(run.level);
  const detail::HypercolumnArrays of =
      part.on_cpu ? cpu.arrays(*plan, at.part) : gpus->arrays(at.part, at.piece);
  const auto slot = static_cast<std::size_t>(at.run.slot);
  const auto count = static_cast<std::size_t>(run.count);
  const auto stride = static_cast<std::size_t>(hierarchy().level(run.level).stride);
  const auto each = [&](unsigned array, auto* in_run, auto* of_network, std::size_t begin,
                        std::size_t elements) -> Expected<void> {
    if ((arrays & array) == 0) return {};
    return copy(at, in_run, of_network + begin + slot * elements,
                count * elements * sizeof(*in_run));
  };
  OCELLUS_TRY(each(kWeights, run.weights, of.weights, level.weights_at, layout.weights()));
  OCELLUS_TRY(each(kDerived, run.strong, of.strong, level.strong_at, layout.strong_words()));
  if (of.patterns != nullptr && run.level == 0) {
    OCELLUS_TRY(each(kDerived, run.patterns, of.patterns, level.weights_at / kBitsOfByte,
                     layout.weights() / kBitsOfByte));
  }
  OCELLUS_TRY(each(kDerived, run.minicolumns, of.minicolumns, level.minicolumns_at, stride));
  return each(kWins, run.wins, of.wins, level.minicolumns_at, stride);
}

Expected<NetworkRun> PlacedCorticalNetwork::State::open(int level, int hypercolumn, unsigned needed,
                                                        int most) noexcept {
  const PlacedPlan::Where at = plan->find(level, hypercolumn);
  detail::LayoutBuilder builder(run_memory);
  NetworkRun run = place_run(builder, level, std::min(at.run.count(), most));
  run.begin = hypercolumn;
  OCELLUS_TRY(for_each_array(
      run, needed,
      [&](const PlacedPlan::Where& where, void* in_run, const void* of_network, std::size_t bytes) {
        return copy(where, in_run, of_network, bytes, false);
      }));
  return run;
}

Expected<void> PlacedCorticalNetwork::State::store(const NetworkRun& run,
                                                   unsigned changed) noexcept {
  return for_each_array(
      run, changed,
      [&](const PlacedPlan::Where& where, const void* in_run, void* of_network, std::size_t bytes) {
        return copy(where, of_network, in_run, bytes, true);
      });
}

Expected<void> PlacedCorticalNetwork::State::copy(const PlacedPlan::Where& where, void* to,
                                                  const void* from, std::size_t bytes,
                                                  bool writes) noexcept {
  if (!plan->part(where.part).on_cpu)
    return gpus->copy(where.part, where.piece, to, from, bytes, writes);
  std::memcpy(to, from, bytes);
  return {};
}

void PlacedCorticalNetwork::State::derive(const NetworkRun& run) noexcept {
  detail::NetworkArrays arrays;
  static_cast<detail::HypercolumnArrays&>(arrays) = run;
  arrays.winners = winners.winners;
  arrays.winner_responses = winners.responses;
  arrays.slot_shift = -run.begin;
  for (int h = run.begin; h < run.begin + run.count; ++h)
    detail::derive_hypercolumn(*run_plan, run.level, h, arrays);
  if (run.patterns == nullptr) return;
  const std::size_t weights =
      static_cast<std::size_t>(run.count) * plan->network.layout.level(run.level).weights();
  for (std::size_t i = 0; i < weights; i += kBitsOfByte) {
    unsigned bits = 0;
    for (std::size_t k = 0; k < kBitsOfByte; ++k)
      bits |= (run.weights[i + k] >= detail::kStrongWeight ? 1u : 0u) << k;
    run.patterns[i / kBitsOfByte] = static_cast<std::uint8_t>(bits);
  }
}

Expected<void> PlacedCorticalNetwork::State::step(const detail::StepImage& image,
                                                  bool learn) noexcept {
  if (gpus == nullptr) {
    cpu.step_split(image.pixels, image.stride, steps, learn);
    cpu.step_top(steps, learn);
    return {};
  }
  const auto compute = [&]() -> Expected<void> {
    OCELLUS_TRY(gpus->begin(image, steps, learn));
    // While the GPUs compute.
    cpu.step_split(image.pixels, image.stride, steps, learn);
    return gpus->finish(winners.winners);
  };
  if (Expected<void> done = compute(); !done) {
    static_cast<void>(gpus->settle());
    return done;
  }
  cpu.step_top(steps, learn);
  return {};
}

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

Expected<PlacedCorticalNetwork> PlacedCorticalNetwork::create(
    const CorticalNetworkConfig& config, const CorticalPlacement& placement,
    std::span<Engine* const> engines) noexcept {
  OCELLUS_TRY_ASSIGN(made, State::create(config, placement, engines));
  return PlacedCorticalNetwork(made->release());
}

Expected<PlacedCorticalNetwork> PlacedCorticalNetwork::load_file(
    const char* path, const CorticalPlacement& placement,
    std::span<Engine* const> engines) noexcept {
  detail::NetworkReader file;
  OCELLUS_TRY(file.open(path, 1));
  OCELLUS_TRY_ASSIGN(made, State::create(file.config(), placement, engines));
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
  if (Expected<void> done = state.step({image, stride, space == MemorySpace::kPinned}, learn);
      !done) {
    state.failure = done.error();
    return done;
  }
  if (learn) ++state.steps;
  return {};
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
  return state_->hierarchy().level(level).shape.minicolumns;
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
  OCELLUS_TRY(state.check_process());
  if (state.gpus != nullptr) OCELLUS_TRY(state.gpus->read_winners(level, state.winners.winners));
  std::copy_n(state.winners.winners + state.hierarchy().level(level).first, count, winners.begin());
  return {};
}

Expected<void> PlacedCorticalNetwork::read_weights(int level, int hypercolumn,
                                                   std::span<std::uint16_t> weights) noexcept {
  State& state = *state_;
  const detail::LevelLayout& layout = state.plan->network.layout.level(level);
  const auto inputs = static_cast<std::size_t>(layout.inputs);
  const auto minicolumns = static_cast<std::size_t>(layout.minicolumns);
  if (weights.size() != inputs * minicolumns) {
    return detail::invalid_argument(
        "there is room for %zu weights; a hypercolumn of level %d has %zu", weights.size(), level,
        inputs * minicolumns);
  }
  OCELLUS_TRY(state.settle());
  OCELLUS_TRY_ASSIGN(run, state.open(level, hypercolumn, detail::NetworkStore::kWeights, 1));
  for (std::size_t m = 0; m < minicolumns; ++m)
    std::copy_n(run->weights + m * static_cast<std::size_t>(layout.pitch), inputs,
                weights.begin() + static_cast<std::ptrdiff_t>(m * inputs));
  return {};
}

}  // namespace ocellus
