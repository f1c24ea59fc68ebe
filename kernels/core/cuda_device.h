// CudaDevice: a CUDA device of an engine: its memory, its streams and its state.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/device.h"
#include "core/failure.h"
#include "core/piece_map.h"
#include "core/process.h"
#include "kernels/core/cuda_calls.h"
#include "kernels/core/host_copy_pool.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

using detail::Device;
using detail::PieceMap;

class Scope;

/// Pieces of device memory are aligned as texture and bulk copies require.
inline constexpr std::size_t kDeviceAlignment = 256;
inline constexpr int kMaxStreamSets = 16;

/// The streams of one operator. The work of operators in different stream sets may overlap.
struct StreamSet {
  cudaStream_t upload = nullptr;
  cudaStream_t compute = nullptr;
  cudaStream_t download = nullptr;
};

/// Properties that decide which variant of a kernel is used.
struct DeviceTraits {
  int compute_capability = 0;  ///< 10 x major + minor
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  ///< maximum with opt-in
  int l2_bytes = 0;
};

class CudaDevice final : public Device {
 public:
  static Expected<std::unique_ptr<Device>> open(const EngineConfig& config,
                                                const EngineInfo& info) noexcept;
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Expected<void*> take(MemorySpace space, std::size_t bytes) noexcept override;
  void give_back(MemorySpace space, void* piece) noexcept override;
  Expected<void> write(void* to, const void* from, std::size_t bytes) noexcept override;
  Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept override;
  Expected<std::unique_ptr<detail::CopyStream>> make_copy_stream(int marks) noexcept override;
  Expected<detail::SharedPiece> share(const void* piece) noexcept override;
  Expected<std::unique_ptr<detail::PeerMemory>> make_peer_memory(
      const detail::SharedPiece& piece) noexcept override;
  bool is_current() const noexcept override;
  void add_memory_use(MemoryUse& use) const noexcept override;

  void abandon() noexcept override;
  /// True in a child process that fork() made. From the first such answer on, the device is
  /// unusable there.
  bool abandoned() noexcept {
    if (process_.is_child()) [[unlikely]]
      abandon();
    return abandoned_.load(std::memory_order_relaxed);
  }

  /// Returns the index of the stream set with the fewest operators. The operator's destructor must
  /// give it back.
  int take_stream_set() noexcept;
  void give_back_stream_set(int set) noexcept;
  HostCopyPool& host_copy_pool() noexcept { return host_copy_pool_; }
  const StreamSet& stream_set(int index) const noexcept {
    return stream_sets_[static_cast<std::size_t>(index)];
  }

  /// Creates a stream for computation. Work that is captured in it keeps its priority. The caller
  /// must destroy it.
  Expected<cudaStream_t> make_stream(Scope& cuda, OperatorPriority priority) noexcept;
  /// Waits until all work in the stream is done; for destructors and after failures. If waiting
  /// fails, the device is marked as lost.
  void finish(Scope& cuda, cudaStream_t stream) noexcept;

  const DeviceTraits& traits() const noexcept { return traits_; }
  int number() const noexcept { return number_; }
  DeviceWait wait_mode() const noexcept { return wait_; }
  /// Of the threads that the library starts for the device.
  int realtime_priority() const noexcept { return realtime_priority_; }
  bool workers_only() const noexcept { return workers_only_; }
  /// Whether operators use pinned memory where it lies.
  bool zero_copy() const noexcept { return zero_copy_; }

  /// True after the first error that leaves the device unusable for this process. All later calls
  /// return DeviceLost without accessing the device.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// The error that caused the loss.
  const Error& loss() const noexcept { return loss_; }
  /// Logs the loss once. For destructors; must be called without a lock.
  void log_loss() noexcept;

 private:
  friend class Scope;

  struct Block {
    char* base = nullptr;
    PieceMap pieces;
  };

  CudaDevice(int number, DeviceWait wait) noexcept : number_(number), wait_(wait) {}
  Expected<void> start(const EngineConfig& config) noexcept;
  Expected<void> take_block(Scope& cuda, std::size_t bytes) noexcept;
  Expected<void> take_pinned_block(Scope& cuda, std::size_t bytes) noexcept;
  Block& block_of(MemorySpace space) noexcept {
    return space == MemorySpace::kCuda ? device_ : pinned_;
  }
  Expected<void> copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) noexcept;
  void lose(const Error& error) noexcept;

  detail::OwnerProcess process_;
  int number_;
  DeviceWait wait_;
  int realtime_priority_ = 0;
  bool workers_only_ = false;
  bool zero_copy_ = false;
  CUcontext context_ = nullptr;
  DeviceTraits traits_;
  // Protects the blocks, the counts of stream set users, and writing loss_.
  mutable std::mutex mutex_;
  Block device_;
  Block pinned_;
  std::array<int, 3> computing_priorities_{};  // by OperatorPriority
  int stream_set_count_ = 0;
  std::array<StreamSet, kMaxStreamSets> stream_sets_{};
  std::array<int, kMaxStreamSets> stream_set_users_{};
  std::atomic<bool> lost_{false};
  std::atomic<bool> abandoned_{false};
  Error loss_;
  std::atomic<bool> loss_logged_{false};
  HostCopyPool host_copy_pool_;
};

/// A pause between two looks at the device: none, a yield, or 50 us.
void pause(DeviceWait wait) noexcept;

/// True for errors after which, according to CUDA, the process cannot use the device again.
bool is_sticky(cudaError_t error) noexcept;

/// Preserves the runtime's last error, which exists once per thread. The program may share the
/// runtime and read this error, so a failed call of the library must not leave one.
class LastError {
 public:
  /// Constructed before the library's calls. An error that the program has not read yet must
  /// remain.
  LastError() noexcept : programs_own_(kCudaCalls.peek_last_error.function() != cudaSuccess) {}
  /// Called after a failed call of the library. A sticky error remains, because the program cannot
  /// use the device either.
  void forget(cudaError_t error) const noexcept {
    if (!programs_own_ && !is_sticky(error))
      static_cast<void>(kCudaCalls.take_last_error.function());
  }

 private:
  bool programs_own_;
};

/// A scope for CUDA calls of one operator, in one phase, on one thread. The device's primary
/// context is current during the lifetime of the object. The destructor restores the previous
/// context, because other code of the thread may use its own context. Another thread may capture a
/// graph in a mode that refuses potentially unsafe calls of all threads. Calls during creation do
/// not disturb a capture, so they are exempted from this mode.
class Scope {
 public:
  /// `who` appears in error texts and must have static storage.
  Scope(CudaDevice& device, Phase phase, const char* who) noexcept;
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Makes a call. Use `query` for calls that may return cudaErrorNotReady.
  /// Errors: DeviceLost, OutOfMemory, System.
  template <typename Call, typename... Arguments>
  Expected<void> operator()(const Call& call, Arguments... arguments) noexcept {
    OCELLUS_TRY(allow(call.name, call.phase));
    const cudaError_t error = call.function(arguments...);
    if (error == cudaSuccess) return {};
    return tl::unexpected(failed(call.name, error));
  }

  /// Returns true if all work that was recorded before the event is done.
  Expected<bool> query(cudaEvent_t event) noexcept;

  /// For destructors: makes a call and ignores its failure, also on a lost device. Makes no call if
  /// the device's context is not current, because the runtime would create a context on device 0.
  template <typename Call, typename... Arguments>
  void release(const Call& call, Arguments... arguments) noexcept {
    if (!current_) return;
    const cudaError_t error = call.function(arguments...);
    if (error != cudaSuccess) last_error_.forget(error);
  }

  CudaDevice& device() noexcept { return device_; }
  const char* who() const noexcept { return who_; }

 private:
  Expected<void> enter() noexcept;
  Expected<void> allow(const char* name, Phase phase) noexcept;
  Error failed(const char* name, cudaError_t error) noexcept;

  CudaDevice& device_;
  Phase phase_;
  const char* who_;
  const LastError last_error_;
  bool current_ = false;  // true if the device's context is current
  bool pushed_ = false;
  bool exempt_ = false;
  cudaStreamCaptureMode capture_mode_ = cudaStreamCaptureModeRelaxed;
  Expected<void> entered_;  // error if the context could not be made current
};

/// Converts a failed CUDA call to an Error.
Error make_cuda_error(const char* who, const char* call, cudaError_t error) noexcept;

}  // namespace ocellus::cuda
