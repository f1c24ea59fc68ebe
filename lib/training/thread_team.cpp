#include "training/thread_team.h"

#include <algorithm>

#include "core/failure.h"
#include "core/thread.h"
#include "ocellus/cpus.h"

namespace ocellus::detail {

Expected<std::unique_ptr<ThreadTeam>> ThreadTeam::create(int threads) noexcept {
  constexpr int kMost = 1024;
  if (threads < 0 || threads > kMost) {
    return invalid_argument("training: threads is %d; it must be 0 (one for each CPU) to %d",
                            threads, kMost);
  }
  if (threads == 0) threads = std::min(usable_cpus().count, kMost);
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(threads));
  for (Helper& helper : team->helpers_) {
    helper.team = team.get();
    helper.number = static_cast<int>(team->started_) + 1;
    const auto run = [](void* of) -> void* {
      const Helper& own = *static_cast<const Helper*>(of);
      own.team->help(own.number);
      return nullptr;
    };
    const ThreadOptions options{
        .kind = "training thread", .number = helper.number, .name = "ocellus-train"};
    OCELLUS_TRY(start_thread(options, run, &helper, helper.thread));
    ++team->started_;
  }
  return team;
}

ThreadTeam::ThreadTeam(int threads)
    : threads_(threads), helpers_(static_cast<std::size_t>(threads - 1)) {}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  begun_.notify_all();
  for (std::size_t i = 0; i < started_; ++i) pthread_join(helpers_[i].thread, nullptr);
}

void ThreadTeam::call(Work work) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = work;
    busy_ = threads_ - 1;
    ++calls_;
  }
  begun_.notify_all();
  work.run(work.context, 0);
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadTeam::help(int number) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  for (std::uint64_t taken = 0;;) {
    begun_.wait(lock, [&] { return stop_ || calls_ != taken; });
    if (stop_) return;
    taken = calls_;
    const Work work = work_;
    lock.unlock();
    work.run(work.context, number);
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

}  // namespace ocellus::detail
