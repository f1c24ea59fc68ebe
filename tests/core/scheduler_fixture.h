// Helpers shared by the scheduler's tests.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/scheduler.h"

namespace ocellus::test {

/// Parts wait here until it is opened. The destructor opens it, too.
class Gate {
 public:
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Counts the caller and blocks until the gate is open.
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  /// Waits until `count` callers have arrived. Returns false after 20 s.
  bool await_arrivals(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return arrived_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

/// A job whose steps are closures with the arguments part and slot.
class TestJob {
 public:
  using Body = std::function<void(int part, int slot)>;

  TestJob& stage(int parts, Body body) {
    bodies_.push_back(std::make_unique<Body>(std::move(body)));
    steps_.push_back({&TestJob::run, bodies_.back().get(), parts});
    job_.steps = steps_.data();
    job_.step_count = static_cast<int>(steps_.size());
    return *this;
  }
  TestJob& finished(std::function<void()> body) {
    finished_ = std::move(body);
    job_.finished = [](void* self) noexcept { static_cast<TestJob*>(self)->finished_(); };
    job_.finished_context = this;
    return *this;
  }
  /// For steps that change later steps.
  detail::JobStep& at(int step) { return steps_[static_cast<std::size_t>(step)]; }

  TestJob() = default;
  TestJob(const TestJob&) = delete;
  TestJob& operator=(const TestJob&) = delete;

  operator detail::Job&() { return job_; }
  detail::Job* operator->() { return &job_; }

 private:
  static void run(void* context, int part, int slot) noexcept {
    (*static_cast<Body*>(context))(part, slot);
  }

  std::vector<std::unique_ptr<Body>> bodies_;
  std::vector<detail::JobStep> steps_;
  std::function<void()> finished_;
  detail::Job job_;
};

/// Checks that no slot is used twice at once and that at most `workers` threads compute at once.
class SlotWatch {
 public:
  explicit SlotWatch(int workers) : workers_(workers) {}

  void enter(int slot) {
    if (slot < 0 || slot >= workers_) {
      violations_.fetch_add(1);
      return;
    }
    if (held_[slot].exchange(true)) violations_.fetch_add(1);
    const int now = active_.fetch_add(1) + 1;
    if (now > workers_) violations_.fetch_add(1);
    int most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void leave(int slot) {
    active_.fetch_sub(1);
    held_[slot].store(false);
  }
  int violations() const { return violations_.load(); }
  int most() const { return most_.load(); }

 private:
  int workers_;
  std::atomic<bool> held_[kMaxWorkers]{};
  std::atomic<int> active_{0};
  std::atomic<int> most_{0};
  std::atomic<int> violations_{0};
};

inline void spin_for(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace ocellus::test
