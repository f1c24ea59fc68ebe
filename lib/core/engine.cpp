#include "ocellus/engine.h"

#include <sched.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/backend.h"
#include "core/engine_state.h"
#include "core/failure.h"
#include "core/log.h"
#include "core/option_table.h"
#include "ocellus/cpus.h"

namespace ocellus {
namespace {

bool cpu_allowed(int cpu) noexcept {
  cpu_set_t cpus;
  if (cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return false;
  return CPU_ISSET(static_cast<std::size_t>(cpu), &cpus);
}

constexpr OptionChoice kZeroCopyChoices[] = {
    {"auto", static_cast<int>(ZeroCopy::kAuto), "on where the GPU shares the memory of the host"},
    {"on", static_cast<int>(ZeroCopy::kOn), "use pinned memory where it lies"},
    {"off", static_cast<int>(ZeroCopy::kOff), "copy to and from the memory of the GPU"},
};

constexpr Option kEngineOptions[] = {
    detail::Rows<EngineConfig>::choice<[](auto& config) { return &config.zero_copy; }>(
        "zero_copy", kZeroCopyChoices,
        "CUDA only: whether kernels use frames and results in pinned memory without a copy"),
};

}  // namespace

OptionTable EngineConfig::options() noexcept {
  return kEngineOptions;
}

Expected<EngineInfo> Engine::probe(const EngineConfig& config) noexcept {
  if (config.workers < 0 || config.workers > kMaxWorkers) {
    return detail::invalid_argument(
        "workers is %d; it must be 0 (as many as the process may use) to %d", config.workers,
        kMaxWorkers);
  }
  if (config.realtime_priority < 0 || config.realtime_priority > 99) {
    return detail::invalid_argument(
        "realtime_priority is %d; it must be 0 (ordinary) or 1 to 99 (SCHED_FIFO)",
        config.realtime_priority);
  }
  OCELLUS_TRY(detail::check_options(EngineConfig::options(), &config));
  EngineInfo info;
  info.workers = config.workers > 0 ? config.workers : std::min(usable_cpus().count, kMaxWorkers);
  info.realtime_priority = config.realtime_priority;
  info.workers_only = config.workers_only;
  for (int i = 0; i < info.workers; ++i) {
    const int cpu = config.affinity[static_cast<std::size_t>(i)];
    if (cpu == kSpreadCpu || cpu == kAnyCpu) continue;
    if (cpu < 0) {
      return detail::invalid_argument(
          "affinity[%d] is %d; it must be a CPU number, -1 (a share of the CPUs) or -2 (any CPU)",
          i, cpu);
    }
    if (!cpu_allowed(cpu)) {
      return detail::invalid_argument("affinity[%d] is CPU %d, which this process may not use", i,
                                      cpu);
    }
    info.affinity = true;
  }
  OCELLUS_TRY_ASSIGN(backend, detail::choose_backend(config.backend, info));
  if (info.backend == BackendKind::kCpu) return info;
  info.workers = 0;
  if (config.zero_copy == ZeroCopy::kOn && !info.reads_host_memory) {
    return detail::failure(
        Status::kUnsupported,
        "zero_copy is on, but cuda:%d (%s) cannot use memory of the host; use auto or off",
        info.device, info.device_name);
  }
  info.zero_copy = config.zero_copy == ZeroCopy::kOn || (config.zero_copy == ZeroCopy::kAuto &&
                                                         info.integrated && info.reads_host_memory);
  return info;
}

Expected<Engine> Engine::create(const EngineConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(info, probe(config));
  if (info->backend == BackendKind::kCpu &&
      (config.memory.pinned != 0 || config.memory.device != 0)) {
    return detail::invalid_argument(
        "memory asks for %zu pinned and %zu device bytes, but the backend is cpu, which has none",
        config.memory.pinned, config.memory.device);
  }
  detail::EngineRef state(new (std::nothrow) detail::EngineState(*info));
  if (!state)
    return detail::failure(Status::kOutOfMemory, "the system gave no memory for the engine");
  OCELLUS_TRY(state->start(config));
  detail::log_message(LogLevel::kInfo,
                      "engine: backend %s (%s), %d workers, SIMD %s, zero copy %s, memory: host "
                      "%zu, pinned %zu, device %zu bytes",
                      backend_name(info->backend), info->device_name, info->workers,
                      info->simd_target, info->zero_copy ? "on" : "off", config.memory.host,
                      config.memory.pinned, config.memory.device);
  return detail::EngineAccess::handle(std::move(state));
}

Engine::Engine(Engine&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
Engine& Engine::operator=(Engine&& other) noexcept {
  const detail::EngineRef last =
      detail::EngineRef::adopt(std::exchange(state_, std::exchange(other.state_, nullptr)));
  return *this;
}
Engine::~Engine() {
  const detail::EngineRef last = detail::EngineRef::adopt(state_);
}

const EngineInfo& Engine::info() const noexcept {
  return state_->info();
}
MemoryUse Engine::memory_use() const noexcept {
  return state_->memory_use();
}

namespace detail {

EngineState::EngineState(const EngineInfo& info) noexcept : info_(info) {}

Expected<void> EngineState::start(const EngineConfig& config) noexcept {
  OCELLUS_TRY(process_.create());
  OCELLUS_TRY(host_.create(config.memory.host, config.lock_memory));
  const Backend* backend = find_backend(info_.backend);
  if (backend->open != nullptr) {
    OCELLUS_TRY_ASSIGN(device, backend->open(config, info_));
    device_ = std::move(*device);
    return {};  // operators on a device compute nothing on the CPU
  }
  return scheduler_.start(config, info_.workers);
}

EngineState::~EngineState() {
  if (is_child()) abandon();
}

void EngineState::abandon() noexcept {
  scheduler_.abandon();
  if (device_) device_->abandon();
}

Expected<void*> EngineState::take(MemorySpace space, std::size_t bytes) noexcept {
  if (space != MemorySpace::kHost) return device_->take(space, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (void* piece = host_.take(bytes)) return piece;
  return tl::unexpected(host_.no_room("host", bytes));
}

void EngineState::give_back(MemorySpace space, void* piece) noexcept {
  if (space != MemorySpace::kHost) return device_->give_back(space, piece);
  // In a child, the mutex may still be locked by a thread of the parent.
  if (is_child()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  host_.give_back(piece);
}

MemoryUse EngineState::memory_use() const noexcept {
  if (is_child()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  MemoryUse use;
  use.capacity.host = host_.capacity();
  use.used.host = host_.used();
  use.peak.host = host_.peak();
  use.pieces = host_.pieces();
  if (device_) device_->add_memory_use(use);
  return use;
}

}  // namespace detail

std::uint64_t record_trace(Engine& engine, std::span<TraceEvent> events) noexcept {
  detail::EngineState& state = detail::EngineAccess::state(engine);
  // In a child, the mutex may still be locked by a thread of the parent.
  return state.is_child() ? 0 : state.scheduler().trace(events);
}

}  // namespace ocellus
