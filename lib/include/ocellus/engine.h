// Engine: owns the worker threads, the devices and the memory. Operators are created on an engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/memory.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

namespace ocellus {

namespace detail {

class EngineState;
struct EngineAccess;

}  // namespace detail

#pragma GCC visibility push(default)  // exported by a shared library

/// The implementation that computes.
enum class BackendKind : std::uint8_t { kCpu, kCuda };

/// "cpu" or "cuda".
const char* backend_name(BackendKind kind) noexcept;

/// The requested backend. kAuto selects CUDA if this build supports it and a device is available,
/// else the CPU. The other two select the named backend or fail.
enum class BackendChoice : std::uint8_t { kAuto, kCpu, kCuda };

/// A backend and its device.
struct BackendSpec {
  BackendChoice choice = BackendChoice::kAuto;
  int device = 0;  ///< CUDA device number, 0 to 1023; ignored for kCpu

  /// Parses "auto", "cpu", "cuda" or "cuda:N". Errors: InvalidArgument.
  static Expected<BackendSpec> parse(const char* text) noexcept;
};

/// How `wait` waits for a CUDA device. The CPU's workers are not affected.
enum class DeviceWait : std::uint8_t {
  kSpin,   ///< polls without a pause: shortest delay, one CPU busy
  kYield,  ///< polls and yields to other threads in between
  /// Sleeps until the device interrupts, or with a deadline in short intervals: no CPU busy, about
  /// 50 us slower.
  kBlock,
};

/// Whether a CUDA device uses pinned memory where it lies, without a copy to or from its own
/// memory.
enum class ZeroCopy : std::uint8_t {
  kAuto,  ///< on an integrated GPU, whose memory is that of the host
  kOn,
  kOff,
};

/// Which operator of an engine comes first while frames of several wait.
///
/// On the CPU, a frame of a higher priority begins at the next step of the frame that is computed,
/// which then waits; frames of equal priority run in the order of `submit`. Waiting is bounded: at
/// most kMaxOvertakes frames that were submitted after a frame begin before it is done. So once in
/// kMaxOvertakes + 1 frames, one of high priority may wait for a whole frame of a lower one; an
/// operator that must never do so needs an engine of its own.
///
/// On CUDA it is the priority of the operator's kernels on the device, among all engines of the
/// process. The device gives no bound.
enum class OperatorPriority : std::uint8_t { kLow, kNormal, kHigh };

/// Largest number of frames that overtake one on the CPU, see OperatorPriority.
inline constexpr int kMaxOvertakes = 8;

/// Largest number of worker threads of an engine.
inline constexpr int kMaxWorkers = 64;

/// For EngineConfig::affinity: a share of the CPUs of the process that no other worker of the
/// engine may use. The CPUs that other workers name are not shared. Any CPU, if there are fewer
/// CPUs than such workers.
inline constexpr std::int16_t kSpreadCpu = -1;
/// For EngineConfig::affinity: any CPU of the process.
inline constexpr std::int16_t kAnyCpu = -2;

/// Configuration of an engine.
struct EngineConfig {
  BackendSpec backend{};
  /// Largest number of threads that compute CPU frames at once, including a waiting caller. 0: as
  /// many as `usable_cpus` (ocellus/cpus.h) counts, at most kMaxWorkers. That is the affinity mask
  /// and the CPU limit of a container.
  int workers = 0;
  /// CPU number for each worker thread, kSpreadCpu or kAnyCpu. Only the first `workers` entries are
  /// read. A thread that waits without a deadline computes, too, where it runs; see `workers_only`.
  std::array<std::int16_t, kMaxWorkers> affinity = spread();
  /// 1 to 99: SCHED_FIFO at this priority, which needs CAP_SYS_NICE or an rtprio limit. 0: no
  /// real-time policy, even if the creating thread has one. A thread that waits without a deadline
  /// computes with its own priority; see `workers_only`.
  int realtime_priority = 0;
  /// CUDA only.
  DeviceWait device_wait = DeviceWait::kSpin;
  /// CUDA only: number of operators whose work may overlap on the device, 1 to 16. Further
  /// operators share the streams of these.
  int device_stream_sets = 4;
  /// CUDA only: number of threads that help to copy between ordinary and pinned memory, for frames
  /// in `submit` and for results in `wait`. 0 to 16, at `realtime_priority`. Each keeps a CPU busy
  /// from the first frame until 250 ms after the last one. Without them the caller copies alone, at
  /// a fraction of the memory bandwidth. Pinned and device memory need no such threads.
  int device_copy_threads = 0;
  /// CUDA only: whether kernels read frames and write results in pinned memory where they lie. The
  /// results are the same. Data in ordinary memory is still copied, by the host, to and from pinned
  /// memory of the operator, which the kernels then use. A discrete GPU that does so reads and
  /// writes over its bus while it computes.
  ZeroCopy zero_copy = ZeroCopy::kAuto;
  /// Sum of the footprints of all operators and buffers that will exist on the engine at once.
  /// There can be at most 256 of them.
  Footprint memory{};
  /// Locks the host block into memory (mlock). Otherwise every page is touched at creation but may
  /// be swapped out later.
  bool lock_memory = false;
  /// Whether threads that wait never compute. By default, a thread that calls `wait` without a
  /// deadline takes part in the work of the CPU, and `affinity` and `realtime_priority` do not
  /// apply to it. On CUDA, it takes part in functions of the host between kernels.
  bool workers_only = false;

  /// The members that programs set by name: zero_copy.
  static OptionTable options() noexcept;

  static constexpr std::array<std::int16_t, kMaxWorkers> spread() {
    std::array<std::int16_t, kMaxWorkers> cpus{};
    cpus.fill(kSpreadCpu);
    return cpus;
  }
};

/// Properties of an engine.
struct EngineInfo {
  BackendKind backend = BackendKind::kCpu;
  int device = -1;            ///< CUDA device number, -1 on the CPU
  char device_name[64] = {};  ///< name of the processor or of the device
  /// CUDA only: PCI bus address of the device, such as "0000:3b:00.0". Other tools of the system
  /// identify the device by it.
  char device_bus[20] = {};
  int compute_capability = 0;    ///< CUDA only: 90 for 9.0
  std::size_t device_bytes = 0;  ///< CUDA only: total memory of the device
  bool integrated = false;       ///< CUDA only: the memory of the device is that of the host
  /// CUDA only: kernels can read and write pinned memory by its address on the host
  bool reads_host_memory = false;
  bool zero_copy = false;  ///< CUDA only: pinned memory is used where it lies
  int driver_cuda = 0;     ///< CUDA only: CUDA version that the driver supports, 13000 for 13.0
  int runtime_cuda = 0;    ///< CUDA only: CUDA version that the library was built with
  int workers = 1;         ///< threads that compute, including a waiting caller; 0 on a CUDA device
  /// Highway's name of the instruction set in use ("AVX3_ZEN4", "NEON", ...).
  const char* simd_target = "";
  bool affinity = false;      ///< true if EngineConfig::affinity names a CPU for a worker
  bool workers_only = false;  ///< whether threads that wait never compute
  int realtime_priority = 0;
};

/// Owner of worker threads, devices and memory. A movable handle.
///
/// The library's threads block all signals except those that their own instructions raise (SIGSEGV,
/// SIGFPE, ...). They have stacks of fixed size. Their priority is that of the configuration,
/// whatever the priority of the creating thread.
///
/// An engine belongs to the process that created it. After fork(), the child process can only
/// destroy the parent's engine and the objects on it: `submit`, `wait`, `create` and the copies of
/// buffers return Unsupported, `reset` does nothing, and `memory_use` is empty. A child of a
/// process with a CUDA engine cannot use CUDA at all.
///
/// Operators keep the engine's threads and memory alive, so engine and operators may be destroyed
/// in any order. Any thread may make any call. A moved-from engine can only be destroyed or
/// assigned to.
class Engine {
 public:
  /// Returns the properties of the engine that `create` would make with this configuration. Takes
  /// no resources; ignores `memory`. Errors: InvalidArgument, BackendUnavailable, Unsupported (the
  /// device cannot do `zero_copy`).
  static Expected<EngineInfo> probe(const EngineConfig& config) noexcept;

  /// Starts the workers and allocates one block of each kind of memory. Errors: InvalidArgument,
  /// BackendUnavailable, Unsupported, OutOfMemory, System.
  static Expected<Engine> create(const EngineConfig& config) noexcept;

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const EngineInfo& info() const noexcept;
  /// The present use of the memory blocks.
  MemoryUse memory_use() const noexcept;

 private:
  friend struct detail::EngineAccess;
  explicit Engine(detail::EngineState* state) noexcept : state_(state) {}

  detail::EngineState* state_ = nullptr;
};

#pragma GCC visibility pop

}  // namespace ocellus
