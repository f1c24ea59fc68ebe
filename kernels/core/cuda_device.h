// CudaDevice: a CUDA device of an engine - its memory, its streams, and whether it is still there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/device.h"
#include "core/piece_map.h"
#include "kernels/core/cuda_calls.h"
#include "kernels/core/host_copy_pool.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

using detail::Device;
using detail::PieceMap;

class Scope;

/// Pieces of device memory begin on a boundary that texture and bulk copies take.
inline constexpr std::size_t kDeviceAlignment = 256;
inline constexpr int kMaxStreamSets = 16;

/// The streams that one operator works in. Operators in different stream sets overlap.
struct StreamSet {
  cudaStream_t upload = nullptr;
  cudaStream_t compute = nullptr;
  cudaStream_t download = nullptr;
};

/// What the kernels choose their form by.
struct DeviceTraits {
  int compute_capability = 0;  ///< 10 x major + minor
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  ///< with opting in
  int l2_bytes = 0;
};

class CudaDevice final : public Device {
 public:
  static Expected<std::unique_ptr<Device>> open(const EngineConfig& config,
                                                const EngineInfo& info) noexcept;
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Expected<void*> take_device(std::size_t bytes) noexcept override;
  void give_back_device(void* piece) noexcept override;
  Expected<void*> take_pinned(std::size_t bytes) noexcept override;
  void give_back_pinned(void* piece) noexcept override;
  Expected<void> write(void* to, const void* from, std::size_t bytes) noexcept override;
  Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept override;
  void add_memory_use(MemoryUse& use) const noexcept override;

  void abandon() noexcept override;
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  /// The streams that the fewest operators use. Given back when the operator is destroyed.
  int take_stream_set() noexcept;
  void give_back_stream_set(int set) noexcept;
  HostCopyPool& host_copy_pool() noexcept { return host_copy_pool_; }
  const StreamSet& stream_set(int index) const noexcept {
    return stream_sets_[static_cast<std::size_t>(index)];
  }

  /// A stream of the caller's own, at the priority of those that compute: what is captured in it
  /// keeps that. The caller destroys it.
  Expected<cudaStream_t> make_stream(Scope& cuda) noexcept;
  /// Waits until all that the stream has is done; for destructors, and for ways that have failed.
  /// When not even that can be found out, the device is lost.
  void finish(Scope& cuda, cudaStream_t stream) noexcept;

  const DeviceTraits& traits() const noexcept { return traits_; }
  int number() const noexcept { return number_; }
  DeviceWait wait_mode() const noexcept { return wait_; }

  /// Set for good by the first error that leaves the device unusable for this process. Every later
  /// call returns DeviceLost without touching the device.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// The text of that error.
  const Error& loss() const noexcept { return loss_; }
  /// Tells the log of the loss, once; for destructors, without any lock.
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
  Expected<void*> take(Block& block, const char* kind, std::size_t bytes) noexcept;
  void give_back(Block& block, void* piece) noexcept;
  Expected<void> copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) noexcept;
  void lose(const Error& error) noexcept;

  int number_;
  DeviceWait wait_;
  CUcontext context_ = nullptr;
  DeviceTraits traits_;
  mutable std::mutex mutex_;  // guards blocks, streams counts and the setting of loss_
  Block device_;
  Block pinned_;
  int computing_priority_ = 0;
  int stream_set_count_ = 0;
  std::array<StreamSet, kMaxStreamSets> stream_sets_{};
  std::array<int, kMaxStreamSets> stream_set_users_{};
  std::atomic<bool> lost_{false};
  std::atomic<bool> abandoned_{false};
  Error loss_;
  std::atomic<bool> loss_logged_{false};
  HostCopyPool host_copy_pool_;
};

/// Errors after which CUDA says that the process cannot use the device again.
bool is_sticky(cudaError_t error) noexcept;

/// The runtime's last error, one for each thread. The program that the library is part of may share
/// the runtime and ask for it, so a call of ours that fails must leave none behind.
class LastError {
 public:
  /// Before our calls. What the program has not asked for yet is not ours to take.
  LastError() noexcept : programs_own_(kCudaCalls.peek_last_error.function() != cudaSuccess) {}
  /// After a call of ours that failed. A sticky error stays: the program cannot use the device
  /// either.
  void forget(cudaError_t error) const noexcept {
    if (!programs_own_ && !is_sticky(error))
      static_cast<void>(kCudaCalls.take_last_error.function());
  }

 private:
  bool programs_own_;
};

/// Calls of CUDA by one operator, in one phase, on one thread. While a Scope lives the device's
/// primary context is current, and afterwards again what was current before: a neighbor in the
/// same thread may have a context of its own. A neighbor in another thread may capture a graph in
/// a mode that refuses calls of all threads which might disturb it: those of creation do not, and
/// are exempt.
class Scope {
 public:
  /// `who` stands in error texts; static storage.
  Scope(CudaDevice& device, Phase phase, const char* who) noexcept;
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Makes a call. cudaErrorNotReady is an answer and not an error: see `query`.
  /// Errors: DeviceLost, OutOfMemory, System.
  template <typename... Parameters, typename... Arguments>
  Expected<void> operator()(const Call<Parameters...>& call, Arguments... arguments) noexcept {
    if (Expected<void> allowed = allow(call.name, call.phase); !allowed) return allowed;
    const cudaError_t error = call.function(static_cast<Parameters>(arguments)...);
    if (error == cudaSuccess) return {};
    return tl::unexpected(failed(call.name, error));
  }

  /// Whether what was recorded before the event is done.
  Expected<bool> query(cudaEvent_t event) noexcept;

  /// For destructors: makes a call whose failure changes nothing, also on a lost device. Without
  /// the device's context nothing is called: the runtime would make one, on device 0.
  template <typename... Parameters, typename... Arguments>
  void release(const Call<Parameters...>& call, Arguments... arguments) noexcept {
    if (!current_) return;
    const cudaError_t error = call.function(static_cast<Parameters>(arguments)...);
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
  bool current_ = false;  // the device's context is
  bool pushed_ = false;
  bool exempt_ = false;
  cudaStreamCaptureMode capture_mode_ = cudaStreamCaptureModeRelaxed;
  Expected<void> entered_;  // why the context could not be made current
};

/// What a failed call means for the library's callers.
Error make_cuda_error(const char* who, const char* call, cudaError_t error) noexcept;

}  // namespace ocellus::cuda
