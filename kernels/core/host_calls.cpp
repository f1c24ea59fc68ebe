#include "kernels/core/host_calls.h"

#include <sched.h>

#include <ctime>

#include "core/scheduler.h"
#include "core/thread.h"
#include "kernels/core/cuda_device.h"

namespace ocellus::cuda {

HostCalls::~HostCalls() {
  stop();
}

Expected<void> HostCalls::start(const CudaDevice& device) noexcept {
  device_ = &device;
  const detail::ThreadOptions options = {.kind = "thread for functions of the host",
                                         .name = "ocellus-host",
                                         .realtime_priority = device.realtime_priority()};
  Expected<void> made = detail::start_thread(options, &HostCalls::thread_main, this, thread_);
  running_ = made.has_value();
  return made;
}

void HostCalls::stop() noexcept {
  if (!running_) return;
  running_ = false;
  stop_.store(true);
  expected_.fetch_add(1);
  expected_.notify_all();
  pthread_join(thread_, nullptr);
}

void HostCalls::add(HostCallWords* words, Function function, void* argument) noexcept {
  const int count = call_count_.load(std::memory_order_relaxed);
  calls_[static_cast<std::size_t>(count)] = {words, function, argument};
  call_count_.store(count + 1, std::memory_order_release);
}

void HostCalls::expect(int calls) noexcept {
  if (calls == 0) return;
  expected_.fetch_add(static_cast<std::uint32_t>(calls));
  expected_.notify_one();
}

void* HostCalls::thread_main(void* calls) noexcept {
  static_cast<HostCalls*>(calls)->work();
  return nullptr;
}

std::uint32_t HostCalls::answer() noexcept {
  std::uint32_t answers = 0;
  const int count = call_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const Call& call = calls_[static_cast<std::size_t>(i)];
    const std::uint32_t asked =
        std::atomic_ref<std::uint32_t>(call.words->asked).load(std::memory_order_acquire);
    if (asked == call.words->answered) continue;
    call.function(call.argument);
    std::atomic_ref<std::uint32_t>(call.words->answered).store(asked, std::memory_order_release);
    ++answers;
  }
  return answers;
}

void HostCalls::pause() const noexcept {
  const DeviceWait wait = device_->wait_mode();
  if (wait == DeviceWait::kSpin) {
    detail::relax();
  } else if (wait == DeviceWait::kYield) {
    sched_yield();
  } else {
    const timespec step = {0, 50'000};
    nanosleep(&step, nullptr);
  }
}

void HostCalls::work() noexcept {
  std::uint32_t answered = 0;
  for (;;) {
    // In this order: `stop` sets stop_ before it changes expected_.
    const std::uint32_t expected = expected_.load();
    if (stop_.load()) return;
    const std::uint32_t open = expected - withdrawn_.load();
    // A lost device does not ask any more.
    if (device_->lost()) answered = open;
    if (answered == open) {
      expected_.wait(expected);
      continue;
    }
    const std::uint32_t answers = answer();
    answered += answers;
    if (answers == 0) pause();
  }
}

}  // namespace ocellus::cuda
