// Threads that share the work of a training.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ocellus/status.h"

namespace ocellus::detail {

/// The caller and the threads that help it. All of them start in `create`, so a call that computes
/// cannot fail because the system has no thread left.
class ThreadTeam {
 public:
  /// `threads`: with the caller, 1 to 1024, or 0: one for each CPU. Errors: InvalidArgument, System
  /// (a thread that does not start).
  static Expected<std::unique_ptr<ThreadTeam>> create(int threads) noexcept;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// With the caller.
  int threads() const noexcept { return threads_; }

  /// Calls run(thread) on each thread at the same time, and returns after the last one has
  /// returned. The caller is thread 0.
  template <typename Run>
  void run_on_each(const Run& run) noexcept {
    call({[](const void* context, int thread) { (*static_cast<const Run*>(context))(thread); },
          &run});
  }

  /// Calls run(i, thread) for i from 0 to count - 1, in any order.
  template <typename Run>
  void for_all(std::size_t count, const Run& run) noexcept {
    std::atomic<std::size_t> next{0};
    run_on_each([&](int thread) {
      for (std::size_t i = next++; i < count; i = next++) run(i, thread);
    });
  }

 private:
  struct Work {
    void (*run)(const void* context, int thread) = nullptr;
    const void* context = nullptr;
  };
  struct Helper {
    ThreadTeam* team = nullptr;
    int number = 0;
    pthread_t thread{};
  };

  explicit ThreadTeam(int threads);
  void call(Work work) noexcept;
  void help(int number) noexcept;

  int threads_;
  std::vector<Helper> helpers_;
  std::size_t started_ = 0;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  Work work_;
  std::uint64_t calls_ = 0;  // a helper takes part in each one once
  int busy_ = 0;             // helpers that have not ended the call
  bool stop_ = false;
};

}  // namespace ocellus::detail
