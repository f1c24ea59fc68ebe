// Scheduler: runs frames on a fixed set of workers, one frame at a time, by priority and then in
// the order of submission.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "core/priority_mutex.h"
#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"
#include "ocellus/trace.h"

namespace ocellus::detail {

/// One step of a frame: `parts` independent parts. All parts of a step end before the next step
/// begins.
struct JobStep {
  /// `worker` is less than the number of workers. Only one thread at a time has this number, so it
  /// can index private scratch memory.
  void (*run)(void* context, int part, int worker) noexcept = nullptr;
  void* context = nullptr;
  int parts = 0;  ///< 0: the step is skipped
  /// The step that follows, relative to this step. Values below 1 make a loop; the step itself must
  /// change this field to end the loop. No effect if the step is skipped.
  int next = 1;
};

/// A frame in flight; a member of its operator. The scheduler owns the private fields from `submit`
/// until the job is done.
class Job {
 public:
  /// Must not change after `submit`; the array must exist until the job is done. A step may change
  /// the contents of later steps, including `parts`, because each step is read when it begins.
  const JobStep* steps = nullptr;
  int step_count = 0;
  const char* name = "";       ///< static storage; for traces, as the next one
  std::uint64_t sequence = 0;  ///< of the frame
  /// See OperatorPriority. Another job may run between two steps. Jobs of one operator have the
  /// same priority, so that they run one after the other.
  OperatorPriority priority = OperatorPriority::kNormal;
  /// While it is true, no further part of the job begins, and the job ends when those that run have
  /// ended. Null: the job runs to its end.
  const std::atomic<bool>* stop = nullptr;
  /// Called once after the last step, on the thread that finished it. Must not call the scheduler.
  void (*finished)(void* context) noexcept = nullptr;
  void* finished_context = nullptr;

  /// Long parts look at this, too.
  bool is_stopping() const noexcept {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
  /// True if the job ended before all of its parts had run. Valid from `finished` on, until it is
  /// submitted again.
  bool is_cut_short() const noexcept { return cut_short_; }

  std::int64_t submitted_ns() const noexcept { return submitted_ns_; }
  std::int64_t started_ns() const noexcept { return started_ns_; }
  std::int64_t done_ns() const noexcept { return done_ns_; }

 private:
  friend class Scheduler;
  enum class State : std::uint8_t { kIdle, kQueued, kRunning, kDone };

  State state_ = State::kIdle;
  int step_ = 0;        // the step whose parts are being distributed
  int next_part_ = 0;   // next part of this step
  int open_parts_ = 0;  // parts of this step that are not finished yet
  int overtaken_ = 0;   // later jobs that have begun
  bool cut_short_ = false;
  Job* next_ = nullptr;
  std::int64_t submitted_ns_ = 0;
  std::int64_t started_ns_ = 0;
  std::int64_t done_ns_ = 0;
};

/// Runs jobs on worker threads that `start` creates once. A thread that waits for a job without a
/// deadline also computes, except with EngineConfig::workers_only. All of these threads share
/// `workers` worker numbers, so at most `workers` threads compute at once. Nothing is allocated
/// after `start`.
///
/// Each worker may use CPUs that no other worker uses, where there are enough. A thread that calls
/// workers leaves the worker of its own CPU for last, because that CPU is busy.
///
/// A thread that waits with a deadline does not compute. The duration of a part depends on the
/// image, so no part is guaranteed to end in time.
class Scheduler {
 public:
  Scheduler() noexcept;
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// For a child process that fork() made, which does not have the threads: the destructor will not
  /// wait.
  void abandon() noexcept { abandoned_ = true; }

  /// Starts the threads with the affinity and priority of `config`. Called once. After a failure,
  /// the destructor ends the threads that are running.
  Expected<void> start(const EngineConfig& config, int workers) noexcept;

  /// Queues a job, which must be idle.
  void submit(Job& job) noexcept;

  /// Waits until `job` is done or the deadline has passed. A job that is done becomes idle. Returns
  /// kOk, kDeadlineMissed, or kInvalidTicket if the job is idle.
  Status wait(Job& job, Deadline deadline) noexcept;

  /// Waits until `job` is done or idle. A job that is done stays so, for `wait`.
  void finish(Job& job) noexcept;

  /// Removes a job of which no part has begun, so that it is idle and has left no trace. Otherwise
  /// the job stays as it is; nothing: it is idle. Does not wait.
  std::optional<CancelOutcome> withdraw(Job& job) noexcept;

  /// Withdraws a job, or waits until it is done. The job is idle afterwards. Returns whether it was
  /// done, and not withdrawn or idle.
  bool cancel(Job& job) noexcept;

  /// record_trace of an engine.
  std::uint64_t trace(std::span<TraceEvent> events) noexcept;

  int workers() const noexcept { return workers_; }

 private:
  struct Worker {
    Scheduler* scheduler = nullptr;
    pthread_t thread{};
    /// Counts the calls of this worker, which sleeps until it changes. Not a condition variable: a
    /// woken thread would take the mutex in the kernel.
    std::atomic<std::uint32_t> calls{0};
    bool sleeps = false;  // and was not called

    void work() noexcept { scheduler->work_loop(*this); }
  };

  /// The mutex is locked on entry and on return. Returns kOk when the job is done, or
  /// kDeadlineMissed.
  Status run_until_done(Job& job, Deadline deadline) noexcept;
  void work_loop(Worker& self) noexcept;
  /// Starts worker number `i` on these CPUs, or on any CPU if the set is empty.
  Expected<void> start_worker(int i, const EngineConfig& config, const cpu_set_t& cpus) noexcept;
  /// Runs one part of the current job. Returns false if there is no part to run. The mutex is
  /// locked on entry and on return, but not while the part runs.
  bool run_one_part(int worker) noexcept;
  /// Called when the current job has ended a step, and when there is none. Chooses the job that
  /// runs next and calls workers for its parts, but for `callers` of them. Finishes jobs that have
  /// no steps left.
  void advance(int callers = 0) noexcept;
  /// Moves a job to its next step with parts. Returns false if there is none.
  static bool begin_step(Job& job) noexcept;
  /// The current job, unless one of a higher priority waits; null: there is no job.
  Job* choose() const noexcept;
  /// Removes a job from the queue.
  void remove(Job& job) noexcept;
  bool has_part() const noexcept;
  /// Polls until parts appear, a job ends, or the time is `until_ns`. Returns true in the first two
  /// cases. The mutex is locked on entry and on return, but not in between.
  bool watch_epoch(std::int64_t until_ns) noexcept;
  int take_worker() noexcept;
  void release_worker(int worker) noexcept;

  PriorityMutex mutex_;
  /// Calls a worker for each free worker number and part, but for `callers`, which other threads
  /// will take. Workers that were called and have not begun count. The mutex is locked.
  void call_for_parts(int callers = 0) noexcept;
  /// Wakes workers until `threads` have been called and have not begun. The mutex is locked.
  void call(int threads) noexcept;
  void call(Worker& worker) noexcept;

  PriorityCondition done_;  // signaled when a job is done or a thread is ready
  /// Changes when parts appear and when a job ends. Idle threads watch it for a short time before
  /// they sleep.
  std::atomic<std::uint32_t> epoch_{0};
  // All jobs that are not done, in the order of submission.
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
  Job* current_ = nullptr;          // whose parts are being distributed
  std::uint64_t free_workers_ = 0;  // bit i set: worker number i is free
  std::span<TraceEvent> trace_;     // empty: nothing is recorded
  std::uint64_t traced_ = 0;        // events
  bool stop_ = false;
  bool abandoned_ = false;
  bool workers_only_ = false;
  int workers_ = 0;
  int started_ = 0;
  int ready_ = 0;   // threads that have started and wait for work
  int called_ = 0;  // threads that were called and have not begun
  /// The last thread that waited took part in the work. The next one probably does, too, so
  /// `submit` calls one worker less.
  bool caller_computes_ = false;
  /// The worker that may use this CPU, or -1.
  std::array<std::int8_t, CPU_SETSIZE> worker_of_cpu_;
  Worker threads_[kMaxWorkers];
};

/// Nanoseconds on the steady clock.
std::int64_t now_ns() noexcept;

}  // namespace ocellus::detail
