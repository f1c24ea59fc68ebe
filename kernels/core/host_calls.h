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
extern const Kernel<HostCallArguments> kHostCallKernel;

/// A thread that runs functions of the host when kernels ask for them. Nodes of a graph for
/// functions of the host are no replacement: the driver allocates memory at each launch of such a
/// graph.
///
/// Between frames the thread sleeps. While a frame is in flight, it waits as the device's
/// DeviceWait says. Waking a thread takes up to 200 us, so a caller that polls for the end of a
/// frame anyway runs the functions, too.
class HostCalls {
 public:
  static constexpr int kMaxCalls = 2;  ///< of a frame
  using Function = void (*)(void*);
  /// Threads that share the parts of a function: the one that runs it, and one that waits.
  static constexpr int kWorkers = 2;
  using Part = void (*)(void* argument, int part, int worker);

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
  /// Runs the functions that kernels ask for and that the thread has not begun, on the caller's
  /// thread. Returns whether there was one. Does nothing if the thread has a real-time priority,
  /// which the caller may lack, and with EngineConfig::workers_only.
  bool help() noexcept;
  /// For functions of the host: runs `part` for each part from 0 to `count` - 1, less than 2^24,
  /// and returns when all have ended. The thread and a caller that polls for the end of the frame
  /// share them; without a caller that does, one thread runs all.
  void share(int count, Part part, void* argument) noexcept;

 private:
  struct Call {
    HostCallWords* words = nullptr;
    Function function = nullptr;
    void* argument = nullptr;
    std::atomic<std::uint32_t> begun{0};  ///< the last number that a thread has taken
  };

  /// Takes an open part. False if there is none.
  bool take_part(int& part) noexcept;
  /// Runs parts of a function that another thread runs. Returns whether there was one.
  bool join() noexcept;

  void work() noexcept;
  /// Runs the functions that kernels ask for and that no thread has begun. Returns whether there
  /// was one.
  bool answer() noexcept;

  std::array<Call, static_cast<std::size_t>(kMaxCalls) * kMaxDepth> calls_{};
  std::atomic<int> call_count_{0};
  // Calls since the start. The thread sleeps until the first number changes, so it must never
  // return to an earlier value.
  std::atomic<std::uint32_t> expected_{0};
  std::atomic<std::uint32_t> withdrawn_{0};
  std::atomic<std::uint32_t> answered_{0};
  // Parts. A thread that has taken one may read part_ and argument_: they change only when all
  // parts have ended.
  std::atomic<std::uint64_t> open_{0};  ///< number, count and next part, of 16, 24 and 24 bits
  std::atomic<int> ended_{0};
  std::atomic<bool> joined_{false};  ///< a second thread runs parts
  Part part_ = nullptr;
  void* part_argument_ = nullptr;
  std::atomic<bool> stop_{false};
  const CudaDevice* device_ = nullptr;
  bool running_ = false;
  pthread_t thread_{};
};

}  // namespace ocellus::cuda
