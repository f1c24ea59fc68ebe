// HostCopyPool: copies rows between ordinary and pinned memory with threads that stay awake.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ocellus/status.h"

namespace ocellus::cuda {

/// Rows to copy.
struct RowBlock {
  char* to = nullptr;
  std::ptrdiff_t to_stride = 0;  ///< bytes
  const char* from = nullptr;
  std::ptrdiff_t from_stride = 0;
  std::size_t row_bytes = 0;
  int rows = 0;
};

void copy_rows(const RowBlock& block) noexcept;

/// A pool of copy threads. One thread reaches only a fraction of the memory bandwidth and takes
/// longer to copy a large result than the device takes to compute it. Waking a thread may take even
/// longer (about 200 us on a virtual machine). Therefore the threads do not sleep while frames
/// come.
///
/// Only one frame at a time can use the pool; others copy without it. All calls between `take` and
/// `give_back` must come from the thread that called `take`.
class HostCopyPool {
 public:
  static constexpr int kMaxThreads = 16;
  static constexpr int kMaxBlocks = 16;  ///< maximum between `take` and `give_back`

  HostCopyPool() noexcept = default;
  ~HostCopyPool();
  HostCopyPool(const HostCopyPool&) = delete;
  HostCopyPool& operator=(const HostCopyPool&) = delete;

  /// For a child process that fork() made, which does not have the threads: the destructor will not
  /// wait.
  void abandon() noexcept { threads_ = 0; }

  /// Called once. After a failure the destructor ends the threads that are running.
  Expected<void> start(int threads, int realtime_priority) noexcept;

  /// Returns false if there are no threads or another frame uses them.
  bool take() noexcept;
  void give_back() noexcept;

  /// Divides a block into parts and makes them available to the threads.
  void add(const RowBlock& block) noexcept;
  /// Copies one part that no thread has claimed yet. Returns false if there is none.
  bool help() noexcept;
  /// Helps to copy and returns when all parts are copied.
  void finish() noexcept;
  /// True if all parts are copied.
  bool idle() const noexcept;

 private:
  static constexpr std::uint64_t kPartsPerBlock = 16;
  static constexpr std::uint64_t kMaxParts = kMaxBlocks * kPartsPerBlock;

  void work() noexcept;

  // Part numbers increase from frame to frame and are never reset. A thread with an old value of
  // `published_` sees fewer parts than there are, never more.
  std::array<RowBlock, kMaxParts> parts_;  // part n is at index n % kMaxParts
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> claimed_{0};
  alignas(64) std::atomic<std::uint64_t> copied_{0};
  alignas(64) std::atomic<bool> taken_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> woken_{0};
  std::atomic<int> asleep_{0};
  int threads_ = 0;
  std::array<pthread_t, kMaxThreads> thread_{};
};

}  // namespace ocellus::cuda
