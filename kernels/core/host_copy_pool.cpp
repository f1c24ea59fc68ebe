#include "kernels/core/host_copy_pool.h"

#include <algorithm>
#include <cstring>

#include "core/failure.h"
#include "core/scheduler.h"
#include "core/thread.h"

namespace ocellus::cuda {
namespace {

// Small enough that all threads end at about the same time. Large enough that the cost of claiming
// a part is negligible.
constexpr std::size_t kPartBytes = 32 * 1024;
// Longer than the time between two frames of a slow camera.
constexpr std::int64_t kStayAwakeNs = 250'000'000;

}  // namespace

void copy_rows(const RowBlock& block) noexcept {
  if (block.to_stride == block.from_stride &&
      static_cast<std::size_t>(block.to_stride) == block.row_bytes) {
    std::memcpy(block.to, block.from, block.row_bytes * static_cast<std::size_t>(block.rows));
    return;
  }
  for (int y = 0; y < block.rows; ++y)
    std::memcpy(block.to + y * block.to_stride, block.from + y * block.from_stride,
                block.row_bytes);
}

HostCopyPool::~HostCopyPool() {
  stop_.store(true);
  woken_.fetch_add(1);
  woken_.notify_all();
  for (int i = 0; i < threads_; ++i) pthread_join(thread_[static_cast<std::size_t>(i)], nullptr);
}

Expected<void> HostCopyPool::start(int threads, int realtime_priority) noexcept {
  for (; threads_ < threads; ++threads_) {
    const detail::ThreadOptions options = {.kind = "copy thread",
                                           .number = threads_,
                                           .name = "ocellus-copy",
                                           .realtime_priority = realtime_priority};
    OCELLUS_TRY(detail::start_thread<&HostCopyPool::work>(
        options, this, thread_[static_cast<std::size_t>(threads_)]));
  }
  return {};
}

bool HostCopyPool::take() noexcept {
  if (threads_ == 0 || taken_.exchange(true, std::memory_order_acquire)) return false;
  woken_.fetch_add(1);
  if (asleep_.load() > 0) woken_.notify_all();
  return true;
}

void HostCopyPool::give_back() noexcept {
  taken_.store(false, std::memory_order_release);
}

void HostCopyPool::add(const RowBlock& block) noexcept {
  const std::size_t bytes = block.row_bytes * static_cast<std::size_t>(block.rows);
  const int parts =
      static_cast<int>(std::clamp<std::size_t>(bytes / kPartBytes, 1, kPartsPerBlock));
  const int rows = (block.rows + parts - 1) / parts;
  std::uint64_t number = published_.load(std::memory_order_relaxed);
  for (int begin = 0; begin < block.rows; begin += rows) {
    RowBlock& part = parts_[number % kMaxParts];
    part = block;
    part.to += begin * block.to_stride;
    part.from += begin * block.from_stride;
    part.rows = std::min(rows, block.rows - begin);
    published_.store(++number, std::memory_order_release);
  }
}

bool HostCopyPool::help() noexcept {
  std::uint64_t number = claimed_.load(std::memory_order_relaxed);
  do {
    if (number >= published_.load(std::memory_order_acquire)) return false;
  } while (!claimed_.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed));
  copy_rows(parts_[number % kMaxParts]);
  copied_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

void HostCopyPool::finish() noexcept {
  while (help()) {
  }
  while (!idle()) detail::relax();
}

bool HostCopyPool::idle() const noexcept {
  return copied_.load(std::memory_order_acquire) == published_.load(std::memory_order_relaxed);
}

void HostCopyPool::work() noexcept {
  std::int64_t awake_until = 0;
  std::uint32_t woken = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    // A frame that has taken the pool may add parts at any moment.
    if (help() || taken_.load(std::memory_order_relaxed)) {
      awake_until = 0;
      detail::relax();
      continue;
    }
    if (awake_until == 0) awake_until = detail::now_ns() + kStayAwakeNs;
    if (detail::now_ns() < awake_until) {
      detail::relax();
      continue;
    }
    woken = woken_.load();
    asleep_.fetch_add(1);
    // Check again: a notification before this point does not wake a thread that is not asleep yet.
    if (!taken_.load() && !stop_.load()) woken_.wait(woken);
    asleep_.fetch_sub(1);
    awake_until = 0;
  }
}

}  // namespace ocellus::cuda
