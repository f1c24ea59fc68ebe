// Scheduler: runs frames on a fixed set of workers, one frame at a time, in the order submitted.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// One step of a frame: `parts` independent pieces of work. All parts of a step end before the
/// next step begins.
struct JobStep {
  /// `worker` is below the number of workers and is held by one thread at a time: the index of
  /// private scratch.
  void (*run)(void* context, int part, int worker) noexcept = nullptr;
  void* context = nullptr;
  int parts = 0;  ///< 0: the step is skipped
  /// Where to go on, counted from this step; below 1 for a loop, whose end the step sees to by
  /// rewriting it. Without effect on a step that is skipped.
  int next = 1;
};

/// A frame in flight; lives in its operator. The scheduler owns the fields below `private` between
/// submit and done.
class Job {
 public:
  /// Fixed before submit; `steps` must live until the job is done. A step may rewrite what later
  /// steps do (parts included), because it is read only when its turn comes.
  const JobStep* steps = nullptr;
  int step_count = 0;
  /// Called once after the last step, on the thread that ended it; must not call the scheduler.
  void (*finished)(void* context) noexcept = nullptr;
  void* finished_context = nullptr;

  std::int64_t submitted_ns() const noexcept { return submitted_ns_; }
  std::int64_t started_ns() const noexcept { return started_ns_; }
  std::int64_t done_ns() const noexcept { return done_ns_; }

 private:
  friend class Scheduler;
  enum class State : std::uint8_t { kIdle, kQueued, kRunning, kDone };

  State state_ = State::kIdle;
  int step_ = 0;        // the step that hands out parts now
  int next_part_ = 0;   // its next part
  int open_parts_ = 0;  // parts of it not finished yet
  Job* next_ = nullptr;
  std::int64_t submitted_ns_ = 0;
  std::int64_t started_ns_ = 0;
  std::int64_t done_ns_ = 0;
};

/// The workers are threads made once. A thread that waits for a job without a deadline takes part
/// in the work: it and the workers share `workers` numbers, so that many threads compute at once
/// and no more. Nothing is allocated after `start`.
///
/// A thread that waits with a deadline computes nothing: what a part takes depends on the picture,
/// so none can be known to end in time.
class Scheduler {
 public:
  Scheduler() noexcept;
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// In a child that fork() made, where the threads are not: lets the destructor wait for nothing.
  void abandon() noexcept { abandoned_ = true; }

  /// Starts the threads with the affinity and priority of `config`; called once. After a failure
  /// the destructor ends those that run already.
  Expected<void> start(const EngineConfig& config, int workers) noexcept;

  /// Queues a job that is idle.
  void submit(Job& job) noexcept;

  /// Returns when `job` is done or the deadline has passed; a done job is idle again afterwards.
  /// Returns kOk, kDeadlineMissed, or kInvalidTicket for a job that was never submitted.
  Status wait(Job& job, Deadline deadline) noexcept;

  /// Takes the job out of the queue, or waits until it is done when it runs already; idle
  /// afterwards.
  void cancel(Job& job) noexcept;

  int workers() const noexcept { return workers_; }

 private:
  struct Worker {
    Scheduler* scheduler = nullptr;
    pthread_t thread{};
  };

  static void* thread_main(void* worker) noexcept;
  void work_loop() noexcept;
  /// Runs one part of the head job; the mutex is held on entry and on return, not while it runs.
  /// False: none to take.
  bool run_one_part(int worker) noexcept;
  /// Starts the head job's steps until one has parts; finishes jobs whose steps are used up.
  void advance() noexcept;
  bool has_part() const noexcept;
  /// Looks, without the mutex that is held on entry and on return, whether parts appear or a job
  /// ends before `until_ns`.
  bool watch_epoch(std::int64_t until_ns) noexcept;
  int take_worker() noexcept;
  void release_worker(int worker) noexcept;

  pthread_mutex_t mutex_;
  pthread_cond_t work_;  // parts to take, or stop
  pthread_cond_t done_;  // a job is done, or a thread is ready
  /// Changes whenever parts appear or a job ends; idle threads watch it for a short time before
  /// they sleep.
  std::atomic<std::uint32_t> epoch_{0};
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
  std::uint64_t free_workers_ = 0;  // bit set = free
  bool stop_ = false;
  bool abandoned_ = false;
  int workers_ = 0;
  int started_ = 0;
  int ready_ = 0;  // threads that wait for work
  Worker threads_[kMaxWorkers];
};

/// Tells the processor that the thread is waiting in a loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Nanoseconds on the steady clock.
std::int64_t now_ns() noexcept;

}  // namespace ocellus::detail
