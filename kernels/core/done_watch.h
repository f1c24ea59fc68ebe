// DoneWatch: the thread of a CUDA operator that raises its DoneEvent when the device has finished a
// frame.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "core/done_event.h"
#include "core/priority_mutex.h"
#include "kernels/core/cuda_calls.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

class CudaDevice;

/// Functions of the host in a stream are no replacement: the driver allocates memory for each.
///
/// Without `start` there is no thread, and the object only notes the frames in flight. The thread
/// sleeps while there is none, else it looks as the device's DeviceWait says. It never waits inside
/// CUDA for an event, because `wait` and `submit` may give the event to a later frame meanwhile.
class DoneWatch {
 public:
  explicit DoneWatch(detail::DoneEvent& event) noexcept : event_(event) {}
  ~DoneWatch() { stop(); }
  DoneWatch(const DoneWatch&) = delete;
  DoneWatch& operator=(const DoneWatch&) = delete;

  /// Starts the thread if it does not run. `name`: of the operator, for CUDA errors; static.
  Expected<void> start(CudaDevice& device, const char* name) noexcept;
  /// Waits until the thread has ended. All frames must have been taken.
  void stop() noexcept;
  /// For a child process that fork() made, which does not have the thread.
  void abandon() noexcept { running_ = false; }

  /// A frame is in flight, later than the others. It is done when `last` is. Null: the frame has
  /// failed, so `wait` returns at once.
  void submitted(int slot, cudaEvent_t last) noexcept;
  /// The frame of the slot was waited for or dropped. Does nothing if it has none.
  void taken(int slot) noexcept;

 private:
  /// A frame in flight; `number` counts frames from 1.
  struct Watched {
    std::uint64_t number = 0;  ///< 0: none
    cudaEvent_t last = nullptr;
    bool done = false;
  };

  void work() noexcept;
  /// The oldest frame that is not known to be done; -1: none.
  int oldest(Watched& frame) noexcept;
  /// Whether the slot still has this frame, and it is not known to be done.
  bool open(int slot, std::uint64_t number) noexcept;
  void mark_done(int slot, std::uint64_t number) noexcept;

  detail::DoneEvent& event_;
  detail::PriorityMutex mutex_;  // protects the next two; taken before the lock of the event
  std::array<Watched, kMaxDepth> frames_{};
  std::uint64_t last_number_ = 0;
  std::atomic<std::uint32_t> changes_{0};  // the thread sleeps until it changes
  std::atomic<bool> stop_{false};
  CudaDevice* device_ = nullptr;
  const char* name_ = "";
  bool running_ = false;
  pthread_t thread_{};
};

}  // namespace ocellus::cuda
