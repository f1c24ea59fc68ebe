#include "core/scheduler.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <utility>

#include "core/failure.h"
#include "core/thread.h"

namespace ocellus::detail {
namespace {

// The steps of a frame follow each other within microseconds. A thread without work therefore polls
// before it sleeps, because waking it takes tens of microseconds on a virtual machine: for this
// time while a frame is computed, and for the shorter one after its end. A thread that waits and
// does not compute polls for the shorter time, too, because a worker may need its CPU.
constexpr std::int64_t kFrameSpinNs = 300'000;
constexpr std::int64_t kSpinNs = 30'000;

// Stack pages are mapped when they are first touched. A worker touches the pages that a frame may
// need before the first frame comes.
__attribute__((noinline)) void touch_stack() noexcept {
  volatile char stack[64 * 1024];
  for (std::size_t at = 0; at < sizeof(stack); at += 1024) stack[at] = 0;
}

using Lock = std::lock_guard<PriorityMutex>;

/// The CPUs of each worker.
struct WorkerCpus {
  cpu_set_t sets[kMaxWorkers];

  /// A worker without a CPU of the configuration gets its share of those that no worker names, so
  /// that two workers never share a CPU. Its set is empty, which means any CPU, if there are fewer
  /// CPUs than such workers.
  WorkerCpus(const EngineConfig& config, int workers) noexcept {
    cpu_set_t free;
    if (sched_getaffinity(0, sizeof(free), &free) != 0) CPU_ZERO(&free);
    int spread = 0;
    for (int i = 0; i < workers; ++i) {
      const int cpu = config.affinity[static_cast<std::size_t>(i)];
      CPU_ZERO(&sets[i]);
      if (cpu >= 0) {
        CPU_SET(static_cast<std::size_t>(cpu), &sets[i]);
        CPU_CLR(static_cast<std::size_t>(cpu), &free);
      } else if (cpu == kSpreadCpu) {
        ++spread;
      }
    }
    const int cpus = CPU_COUNT(&free);
    if (spread == 0 || cpus < spread) return;
    int worker = -1;
    int end = 0;  // of the share of `worker` among the free CPUs
    int shares = 0;
    for (int at = 0, cpu = 0; at < cpus; ++at, ++cpu) {
      while (!CPU_ISSET(static_cast<std::size_t>(cpu), &free)) ++cpu;
      if (at == end) {
        do {
          ++worker;
        } while (config.affinity[static_cast<std::size_t>(worker)] != kSpreadCpu);
        ++shares;
        end = cpus * shares / spread;
      }
      CPU_SET(static_cast<std::size_t>(cpu), &sets[worker]);
    }
  }
};

}  // namespace

std::int64_t now_ns() noexcept {
  return Deadline::Clock::now().time_since_epoch().count();
}

Scheduler::Scheduler() noexcept {
  worker_of_cpu_.fill(-1);
}

Scheduler::~Scheduler() {
  if (abandoned_) return;
  {
    const Lock lock(mutex_);
    stop_ = true;
    epoch_.fetch_add(1, std::memory_order_release);
    call(kMaxWorkers);
  }
  for (int i = 0; i < started_; ++i) pthread_join(threads_[i].thread, nullptr);
}

Expected<void> Scheduler::start_worker(int i, const EngineConfig& config,
                                       const cpu_set_t& cpus) noexcept {
  Worker& worker = threads_[i];
  worker.scheduler = this;
  const bool named = config.affinity[static_cast<std::size_t>(i)] >= 0;
  const ThreadOptions options = {.kind = "worker",
                                 .number = i,
                                 .name = "ocellus",
                                 .cpus = named ? &cpus : nullptr,
                                 .realtime_priority = config.realtime_priority};
  OCELLUS_TRY(start_thread<&Worker::work>(options, &worker, worker.thread));
  ++started_;
  // Nobody asked for a share of the CPUs, so the worker does without where a sandbox forbids it.
  if (!named &&
      (CPU_COUNT(&cpus) == 0 || pthread_setaffinity_np(worker.thread, sizeof(cpus), &cpus) != 0))
    return {};
  for (std::size_t cpu = 0; cpu < worker_of_cpu_.size(); ++cpu)
    if (CPU_ISSET(cpu, &cpus)) worker_of_cpu_[cpu] = static_cast<std::int8_t>(i);
  return {};
}

Expected<void> Scheduler::start(const EngineConfig& config, int workers) noexcept {
  workers_ = workers;
  workers_only_ = config.workers_only;
  free_workers_ = workers == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << workers) - 1;
  const WorkerCpus cpus(config, workers);
  for (int i = 0; i < workers; ++i) OCELLUS_TRY(start_worker(i, config, cpus.sets[i]));
  // A thread that the system has not run yet would cause its first page faults during the first
  // frames.
  const Lock lock(mutex_);
  while (ready_ < started_) done_.wait(mutex_, Deadline::never());
  return {};
}

void Scheduler::submit(Job& job) noexcept {
  const Lock lock(mutex_);
  job.state_ = Job::State::kQueued;
  job.step_ = -1;
  job.next_part_ = 0;
  job.open_parts_ = 0;
  job.overtaken_ = 0;
  job.cut_short_ = false;
  job.next_ = nullptr;
  job.submitted_ns_ = now_ns();
  job.started_ns_ = 0;
  (head_ == nullptr ? head_ : tail_->next_) = &job;
  tail_ = &job;
  if (current_ == nullptr) advance(caller_computes_ ? 1 : 0);
}

void Scheduler::call(Worker& worker) noexcept {
  worker.sleeps = false;
  ++called_;
  worker.calls.fetch_add(1, std::memory_order_release);
  worker.calls.notify_one();
}

void Scheduler::call_for_parts(int callers) noexcept {
  if (!has_part()) return;
  // Threads that hold a number watch the epoch.
  const int threads = std::min(std::popcount(free_workers_),
                               current_->steps[current_->step_].parts - current_->next_part_);
  call(std::max(threads - callers, std::min(threads, 1)));
}

void Scheduler::call(int threads) noexcept {
  if (called_ >= threads) return;
  const int cpu = sched_getcpu();
  const int own =
      cpu >= 0 && cpu < CPU_SETSIZE ? worker_of_cpu_[static_cast<std::size_t>(cpu)] : -1;
  for (int i = 0; i < started_ && called_ < threads; ++i)
    if (i != own && threads_[i].sleeps) call(threads_[i]);
  if (own >= 0 && called_ < threads && threads_[own].sleeps) call(threads_[own]);
}

bool Scheduler::has_part() const noexcept {
  return current_ != nullptr && current_->next_part_ < current_->steps[current_->step_].parts;
}

bool Scheduler::begin_step(Job& job) noexcept {
  int next = job.step_ >= 0 ? job.steps[job.step_].next : 1;
  do {
    job.step_ += std::exchange(next, 1);
  } while (job.step_ < job.step_count && job.steps[job.step_].parts <= 0);
  if (job.step_ >= job.step_count) return false;
  if (job.is_stopping()) {
    job.cut_short_ = true;
    return false;
  }
  job.next_part_ = 0;
  job.open_parts_ = job.steps[job.step_].parts;
  return true;
}

Job* Scheduler::choose() const noexcept {
  Job* best = current_ != nullptr ? current_ : head_;
  // A later job overtakes all that are before it, so the first one has been overtaken most often.
  if (best == nullptr || head_->overtaken_ >= kMaxOvertakes) return best;
  for (Job* job = head_; job != nullptr; job = job->next_)
    if (job->priority > best->priority) best = job;
  return best;
}

void Scheduler::remove(Job& job) noexcept {
  Job* before = nullptr;
  Job** link = &head_;
  while (*link != &job) {
    before = *link;
    link = &before->next_;
  }
  *link = job.next_;
  if (tail_ == &job) tail_ = before;
  if (current_ == &job) current_ = nullptr;
}

void Scheduler::advance(int callers) noexcept {
  bool ended = false;
  for (;;) {
    if (current_ != nullptr && !begin_step(*current_)) {
      Job& job = *current_;
      remove(job);
      if (job.finished != nullptr) job.finished(job.finished_context);
      job.done_ns_ = now_ns();
      if (job.started_ns_ == 0) job.started_ns_ = job.done_ns_;  // the job had no parts
      job.state_ = Job::State::kDone;
      ended = true;
    }
    Job* const chosen = choose();
    const bool begins = chosen != nullptr && chosen->state_ == Job::State::kQueued;
    current_ = chosen;
    if (!begins) break;
    chosen->state_ = Job::State::kRunning;
    for (Job* job = head_; job != chosen; job = job->next_) ++job->overtaken_;
  }
  if (current_ != nullptr) {
    epoch_.fetch_add(1, std::memory_order_release);
    call_for_parts(callers);
  }
  if (ended) {
    epoch_.fetch_add(1, std::memory_order_release);
    done_.notify_all();
  }
}

bool Scheduler::run_one_part(int worker) noexcept {
  if (!has_part()) return false;
  Job& job = *current_;
  const JobStep& step = job.steps[job.step_];
  if (job.is_stopping()) {
    job.cut_short_ = true;
    job.open_parts_ -= step.parts - std::exchange(job.next_part_, step.parts);
    if (job.open_parts_ == 0) advance();
    return true;
  }
  const int part = job.next_part_++;
  // Not set when the job becomes the head: it still waits until a thread has woken up.
  if (job.started_ns_ == 0) job.started_ns_ = now_ns();
  const bool traces = !trace_.empty();
  TraceEvent event;
  if (traces) event = {job.name, job.sequence, job.step_, part, worker, now_ns(), 0};
  mutex_.unlock();
  step.run(step.context, part, worker);
  if (traces) event.end_ns = now_ns();
  mutex_.lock();
  if (traces && !trace_.empty()) trace_[traced_++ % trace_.size()] = event;
  if (--job.open_parts_ == 0) advance();
  return true;
}

std::uint64_t Scheduler::trace(std::span<TraceEvent> events) noexcept {
  const Lock lock(mutex_);
  trace_ = events;
  return std::exchange(traced_, 0);
}

int Scheduler::take_worker() noexcept {
  if (free_workers_ == 0) return -1;
  const int worker = std::countr_zero(free_workers_);
  free_workers_ &= free_workers_ - 1;
  return worker;
}

void Scheduler::release_worker(int worker) noexcept {
  free_workers_ |= std::uint64_t{1} << worker;
}

bool Scheduler::watch_epoch(std::int64_t until_ns) noexcept {
  const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
  mutex_.unlock();
  bool changed = false;
  while (!(changed = epoch_.load(std::memory_order_acquire) != seen) && now_ns() < until_ns)
    relax();
  mutex_.lock();
  return changed;
}

void Scheduler::work_loop(Worker& self) noexcept {
  touch_stack();
  const Lock lock(mutex_);
  ++ready_;
  done_.notify_all();
  while (!stop_) {
    const int worker = has_part() ? take_worker() : -1;
    if (worker < 0) {
      const std::uint32_t seen = self.calls.load(std::memory_order_relaxed);
      self.sleeps = true;
      mutex_.unlock();
      self.calls.wait(seen, std::memory_order_acquire);
      mutex_.lock();
      --called_;
      continue;
    }
    call_for_parts();  // for a caller that `submit` expected in vain
    std::int64_t spin_until = 0;
    bool in_frame = true;
    for (;;) {
      if (run_one_part(worker)) {
        spin_until = 0;
        continue;
      }
      // Between two steps of a frame or after its end: keep the worker number for a short time.
      if (spin_until == 0 || in_frame != (current_ != nullptr)) {
        in_frame = current_ != nullptr;
        spin_until = now_ns() + (in_frame ? kFrameSpinNs : kSpinNs);
      }
      if (!watch_epoch(spin_until) && !has_part()) break;
      if (stop_) break;
    }
    release_worker(worker);
  }
}

Status Scheduler::wait(Job& job, Deadline deadline) noexcept {
  const Lock lock(mutex_);
  if (job.state_ == Job::State::kIdle) return Status::kInvalidTicket;
  const Status status = run_until_done(job, deadline);
  if (status == Status::kOk) job.state_ = Job::State::kIdle;
  return status;
}

void Scheduler::finish(Job& job) noexcept {
  const Lock lock(mutex_);
  if (job.state_ != Job::State::kIdle) (void)run_until_done(job, Deadline::never());
}

Status Scheduler::run_until_done(Job& job, Deadline deadline) noexcept {
  const std::int64_t deadline_ns = deadline.time().time_since_epoch().count();
  int worker = -1;
  Status status = Status::kOk;
  std::int64_t spin_until = 0;
  const bool computes = deadline.is_never() && !workers_only_;
  caller_computes_ = computes;
  if (!computes) call_for_parts();
  while (job.state_ != Job::State::kDone) {
    if (deadline.passed()) {
      status = Status::kDeadlineMissed;
      break;
    }
    if (computes) {
      if (worker < 0) worker = take_worker();
      if (worker >= 0 && run_one_part(worker)) {
        spin_until = 0;
        continue;
      }
    }
    if (spin_until == 0)
      spin_until = std::min(now_ns() + (computes ? kFrameSpinNs : kSpinNs), deadline_ns);
    if (watch_epoch(spin_until) || job.state_ == Job::State::kDone || (worker >= 0 && has_part()) ||
        deadline.passed())
      continue;
    // Release the number while this thread sleeps, so that another thread can take it.
    if (worker >= 0) {
      release_worker(worker);
      worker = -1;
    }
    done_.wait(mutex_, deadline);
    spin_until = 0;
  }
  if (worker >= 0) {
    release_worker(worker);
    // Parts of other jobs may be left. No thread was woken for the number that this thread held.
    call_for_parts();
  }
  return status;
}

std::optional<CancelOutcome> Scheduler::withdraw(Job& job) noexcept {
  const Lock lock(mutex_);
  switch (job.state_) {
    case Job::State::kIdle:
      return std::nullopt;
    case Job::State::kDone:
      return CancelOutcome::kDone;
    case Job::State::kRunning:
      if (job.started_ns_ != 0) return CancelOutcome::kBegun;
      break;
    case Job::State::kQueued:
      break;
  }
  const bool current = current_ == &job;
  remove(job);
  job.state_ = Job::State::kIdle;
  if (current) advance();
  return CancelOutcome::kCanceled;
}

bool Scheduler::cancel(Job& job) noexcept {
  const auto outcome = withdraw(job);
  if (!outcome || *outcome == CancelOutcome::kCanceled) return false;
  return wait(job, Deadline::never()) == Status::kOk;
}

}  // namespace ocellus::detail
