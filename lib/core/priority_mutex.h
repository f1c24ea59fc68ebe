// PriorityMutex: a mutex with priority inheritance. A thread of ordinary priority that holds it is
// not preempted while a SCHED_FIFO thread waits for it. PriorityCondition: a condition variable for
// it.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

#include "ocellus/deadline.h"

namespace ocellus::detail {

/// Tells the processor that the thread is in a polling loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A thread that finds the mutex taken polls for some microseconds before it sleeps. A mutex with
/// priority inheritance is handed to the next sleeper, which the kernel must wake first. So threads
/// that take it more often than it wakes them would all wait for each wake-up, from then on.
class PriorityMutex {
 public:
  PriorityMutex() noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~PriorityMutex() { pthread_mutex_destroy(&mutex_); }
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;

  void lock() noexcept {
    for (int look = 0; look < kLooks; ++look) {
      // A look without a write leaves the cache line to the thread that has the mutex.
      if (!taken_.load(std::memory_order_relaxed) && pthread_mutex_trylock(&mutex_) == 0) {
        taken_.store(true, std::memory_order_relaxed);
        return;
      }
      relax();
    }
    pthread_mutex_lock(&mutex_);
    taken_.store(true, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    taken_.store(false, std::memory_order_relaxed);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  friend class PriorityCondition;
  static constexpr int kLooks = 200;  // 5 to 20 us

  pthread_mutex_t mutex_;
  std::atomic<bool> taken_{false};  // a hint: the mutex decides
};

/// A condition variable on the clock of Deadline. It is not destroyed: that frees nothing, and in
/// the child of a fork it would wait for threads that only the parent has.
class PriorityCondition {
 public:
  PriorityCondition() noexcept {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  PriorityCondition(const PriorityCondition&) = delete;
  PriorityCondition& operator=(const PriorityCondition&) = delete;

  void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

  /// The mutex is locked on entry and on return, but not while the thread waits.
  void wait(PriorityMutex& mutex, Deadline deadline) noexcept {
    mutex.taken_.store(false, std::memory_order_relaxed);
    if (deadline.is_never()) {
      pthread_cond_wait(&condition_, &mutex.mutex_);
    } else {
      const auto ns = std::max<std::int64_t>(0, deadline.time().time_since_epoch().count());
      const timespec until{static_cast<time_t>(ns / 1'000'000'000),
                           static_cast<long>(ns % 1'000'000'000)};
      pthread_cond_timedwait(&condition_, &mutex.mutex_, &until);
    }
    mutex.taken_.store(true, std::memory_order_relaxed);
  }

 private:
  pthread_cond_t condition_;
};

}  // namespace ocellus::detail
