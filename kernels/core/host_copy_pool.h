// HostCopyPool: copies rows between ordinary and pinned memory, with threads that stay awake for
// it.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ocellus/status.h"

namespace ocellus::cuda {

struct RowBlock {
  char* to = nullptr;
  std::ptrdiff_t to_stride = 0;  ///< bytes
  const char* from = nullptr;
  std::ptrdiff_t from_stride = 0;
  std::size_t row_bytes = 0;
  int rows = 0;
};

void copy_rows(const RowBlock& block) noexcept;

/// One thread reaches a fraction of the memory's bandwidth, and takes longer for a large result
/// than the device takes to compute it. To wake a thread for that may take longer still (some 200
/// us on a virtual machine), so the pool does not sleep while frames come.
///
/// One frame at a time has the pool; others copy alone. All calls between `take` and `give_back`
/// come from the thread that took it.
class HostCopyPool {
 public:
  static constexpr int kMaxThreads = 16;
  static constexpr int kMaxBlocks = 16;  ///< between `take` and `give_back`

  HostCopyPool() noexcept = default;
  ~HostCopyPool();
  HostCopyPool(const HostCopyPool&) = delete;
  HostCopyPool& operator=(const HostCopyPool&) = delete;

  /// In a child that fork() made, where the threads are not: lets the destructor wait for nothing.
  void abandon() noexcept { threads_ = 0; }

  /// Called once. After a failure the destructor ends those that run already.
  Expected<void> start(int threads, int realtime_priority) noexcept;

  /// False: there are no threads, or another frame has them.
  bool take() noexcept;
  void give_back() noexcept;

  /// Hands a block to the pool.
  void add(const RowBlock& block) noexcept;
  /// Copies a part of what was added, if any is left that nobody copies.
  bool help() noexcept;
  /// Returns when all that was added is copied.
  void finish() noexcept;
  /// All that was added is copied.
  bool idle() const noexcept;

 private:
  static constexpr std::uint64_t kPartsPerBlock = 16;
  static constexpr std::uint64_t kMaxParts = kMaxBlocks * kPartsPerBlock;

  static void* thread_main(void* pool) noexcept;
  void work() noexcept;

  // The numbers are counted on from frame to frame and never set back: a thread that read
  // `published_` long ago sees fewer parts than there are, never more.
  std::array<RowBlock, kMaxParts> parts_;  // number n lies at n % kMaxParts
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
