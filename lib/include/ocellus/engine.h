// Engine: the owner of what is scarce - worker threads, devices and memory. Operators are made on
// an engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus {

namespace detail {

class EngineState;
struct EngineAccess;

}  // namespace detail

#pragma GCC visibility push(default)  // exported by a shared library

/// Which implementation computes.
enum class BackendKind : std::uint8_t { kCpu, kCuda };

/// "cpu" or "cuda".
const char* backend_name(BackendKind kind) noexcept;

/// What is asked for. kAuto takes CUDA when this build has it and a device answers, else the CPU;
/// the other two take what they say or fail.
enum class BackendChoice : std::uint8_t { kAuto, kCpu, kCuda };

/// Parses "auto", "cpu", "cuda" or "cuda:N".
struct BackendSpec {
  BackendChoice choice = BackendChoice::kAuto;
  int device = 0;  ///< CUDA device number, 0 to 1023; read only where CUDA may be taken

  static Expected<BackendSpec> parse(const char* text) noexcept;
};

/// How `wait` waits for a CUDA device. The CPU's workers wait in their own way.
enum class DeviceWait : std::uint8_t {
  kSpin,   ///< asks again and again: the shortest delay, one CPU busy
  kYield,  ///< asks, and lets other threads run in between
  kBlock,  ///< sleeps until the device interrupts, or with a deadline in short steps: no CPU busy,
           ///< some 50 us more
};

/// Largest number of worker threads of an engine.
inline constexpr int kMaxWorkers = 64;

struct EngineConfig {
  BackendSpec backend;
  /// Frames of CPU work run on this many threads at once, a waiting caller counted among them.
  /// 0 = as many as the process may use (its affinity mask), at most kMaxWorkers.
  int workers = 0;
  /// CPU number for each worker thread; -1 leaves it to the system. Only the first `workers`
  /// entries are read.
  std::array<std::int16_t, kMaxWorkers> affinity = unpinned();
  /// 0 = no real-time policy, whatever the creator has; 1 to 99 = SCHED_FIFO at that priority,
  /// which needs CAP_SYS_NICE or an rtprio limit.
  int realtime_priority = 0;
  /// CUDA only.
  DeviceWait device_wait = DeviceWait::kSpin;
  /// CUDA only: operators whose work may overlap on the device, 1 to 16. More operators than that
  /// share their streams.
  int device_stream_sets = 4;
  /// CUDA only: threads that help `wait` to bring a result to ordinary memory, and `submit` to
  /// fetch a frame, 0 to 16, at `realtime_priority`. Each keeps a CPU busy from the first frame
  /// until 250 ms after the last one. Without them the caller copies alone, at a fraction of the
  /// memory's bandwidth. Pinned and device memory need none.
  int device_copy_threads = 0;
  /// Sum of the footprints of all operators and buffers that will live on the engine at once, at
  /// most 256 of them.
  Footprint memory;
  /// Locks the host block into memory (mlock). Without it the block is touched at creation but may
  /// be swapped.
  bool lock_memory = false;

  static constexpr std::array<std::int16_t, kMaxWorkers> unpinned() {
    std::array<std::int16_t, kMaxWorkers> cpus{};
    cpus.fill(-1);
    return cpus;
  }
};

/// What an engine is, or would be.
struct EngineInfo {
  BackendKind backend = BackendKind::kCpu;
  int device = -1;            ///< CUDA device number, -1 on the CPU
  char device_name[64] = {};  ///< the processor's or the device's name
  /// CUDA only: where the device sits on the PCI bus, such as "0000:3b:00.0", by which the
  /// system's other tools know it.
  char device_bus[20] = {};
  int compute_capability = 0;    ///< CUDA only: 90 for 9.0
  std::size_t device_bytes = 0;  ///< CUDA only: all of the device's memory
  int driver_cuda = 0;           ///< CUDA only: version that the driver is for, 13000 for 13.0
  int runtime_cuda = 0;          ///< CUDA only: version that the library was built with
  int workers = 1;  ///< threads that compute, a waiting caller among them; 0 on a CUDA device
  const char* simd_target =
      "";  ///< Highway's name of the instruction set in use ("AVX3_ZEN4", "NEON", ...)
  bool affinity = false;  ///< at least one worker is pinned
  int realtime_priority = 0;
};

/// The library's threads block all signals but those that their own instructions raise (SIGSEGV,
/// SIGFPE, ...), have a stack of fixed size, and have the priority asked for whatever the creator's
/// is.
///
/// An engine belongs to the process that created it. In a child that fork() makes, an engine of the
/// parent and what lives on it can only be destroyed: `submit`, `wait`, `create` and the buffers'
/// copies return Unsupported, `reset` does nothing, `memory_use` is empty. A child of a process
/// with a CUDA engine cannot use CUDA at all.
///
/// Movable handle. Operators keep the engine's threads and memory alive, so handles and operators
/// may be destroyed in any order. All calls may be made from any thread. A moved-from handle can be
/// destroyed or assigned to, nothing else.
class Engine {
 public:
  /// What `create` would give with this configuration. Takes nothing; `memory` is not looked at.
  /// Errors: InvalidArgument, BackendUnavailable.
  static Expected<EngineInfo> probe(const EngineConfig& config) noexcept;

  /// Starts the workers and takes one block of each kind of memory. Allocates.
  /// Errors: InvalidArgument, BackendUnavailable, OutOfMemory, System.
  static Expected<Engine> create(const EngineConfig& config) noexcept;

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const EngineInfo& info() const noexcept;
  MemoryUse memory_use() const noexcept;

 private:
  friend struct detail::EngineAccess;
  explicit Engine(detail::EngineState* state) noexcept : state_(state) {}

  detail::EngineState* state_ = nullptr;
};

#pragma GCC visibility pop

}  // namespace ocellus
