// HostCalls: functions of the host between the kernels of a frame.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/core/frame_params.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus::cuda {

class CudaDevice;

/// The two sides of a call, in pinned memory: the device writes `asked`, the host `answered`.
struct HostCallWords {
  alignas(64) std::uint32_t asked;
  alignas(64) std::uint32_t answered;
};

struct HostCallArguments {
  HostCallWords* words;
  std::uint32_t* count;  ///< of calls, in device memory
};
/// Asks for a call and waits until the host has answered. One thread.
Kernel<HostCallArguments> host_call_kernel() noexcept;

/// A thread that runs functions of the host when kernels ask for them. Nodes of a graph for
/// functions of the host are no replacement: the driver allocates memory at each launch of such a
/// graph.
///
/// Between frames the thread sleeps. While a frame is in flight, it waits as the device's
/// DeviceWait says.
class HostCalls {
 public:
  static constexpr int kMaxCalls = 2;  ///< of a frame
  using Function = void (*)(void*);

  HostCalls() noexcept = default;
  ~HostCalls();
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  /// Starts the thread. After a failure the object has no thread.
  Expected<void> start(const CudaDevice& device) noexcept;
  bool running() const noexcept { return running_; }
  /// Waits until the thread has ended. No kernel may ask any more.
  void stop() noexcept;
  /// For a child process that fork() made, which does not have the thread.
  void abandon() noexcept { running_ = false; }

  /// Adds a call, before its first frame.
  void add(HostCallWords* words, Function function, void* argument) noexcept;
  /// Tells that a frame will make `calls` calls.
  void expect(int calls) noexcept;
  /// Takes this back: the frame was not launched.
  void withdraw(int calls) noexcept { withdrawn_.fetch_add(static_cast<std::uint32_t>(calls)); }

 private:
  struct Call {
    HostCallWords* words;
    Function function;
    void* argument;
  };

  static void* thread_main(void* calls) noexcept;
  void work() noexcept;
  /// Runs the functions that kernels ask for. Returns how many.
  std::uint32_t answer() noexcept;
  void pause() const noexcept;

  std::array<Call, static_cast<std::size_t>(kMaxCalls) * kMaxDepth> calls_{};
  std::atomic<int> call_count_{0};
  // Calls since the start. The thread sleeps until the first number changes, so it must never
  // return to an earlier value.
  std::atomic<std::uint32_t> expected_{0};
  std::atomic<std::uint32_t> withdrawn_{0};
  std::atomic<bool> stop_{false};
  const CudaDevice* device_ = nullptr;
  bool running_ = false;
  pthread_t thread_{};
};

}  // namespace ocellus::cuda
