#include "kernels/core/host_calls.h"

#include "core/scheduler.h"
#include "core/thread.h"
#include "kernels/core/cuda_device.h"

namespace ocellus::cuda {
namespace {

// HostCalls::open_.
constexpr int kPartBits = 24;
constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;

}  // namespace

HostCalls::~HostCalls() {
  stop();
}

Expected<void> HostCalls::start(const CudaDevice& device) noexcept {
  device_ = &device;
  const detail::ThreadOptions options = {.kind = "thread for functions of the host",
                                         .name = "ocellus-host",
                                         .realtime_priority = device.realtime_priority()};
  Expected<void> made = detail::start_thread<&HostCalls::work>(options, this, thread_);
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
  Call& call = calls_[static_cast<std::size_t>(count)];
  call.words = words;
  call.function = function;
  call.argument = argument;
  call_count_.store(count + 1, std::memory_order_release);
}

void HostCalls::expect(int calls) noexcept {
  if (calls == 0) return;
  expected_.fetch_add(static_cast<std::uint32_t>(calls));
  expected_.notify_one();
}

bool HostCalls::answer() noexcept {
  bool answered = false;
  const int count = call_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Call& call = calls_[static_cast<std::size_t>(i)];
    std::uint32_t begun = call.begun.load(std::memory_order_relaxed);
    const std::uint32_t asked =
        std::atomic_ref<std::uint32_t>(call.words->asked).load(std::memory_order_acquire);
    // A kernel counts its calls, and does not ask again before it has its answer. Any other number
    // is an old one, which this thread has read late.
    if (asked != begun + 1 ||
        !call.begun.compare_exchange_strong(begun, asked, std::memory_order_relaxed))
      continue;
    call.function(call.argument);
    std::atomic_ref<std::uint32_t>(call.words->answered).store(asked, std::memory_order_release);
    answered_.fetch_add(1);
    answered = true;
  }
  return answered;
}

bool HostCalls::help() noexcept {
  return running_ && device_->realtime_priority() == 0 && !device_->workers_only() &&
         (answer() || join());
}

bool HostCalls::take_part(int& part) noexcept {
  std::uint64_t open = open_.load(std::memory_order_acquire);
  do {
    if ((open & kPartMask) >= (open >> kPartBits & kPartMask)) return false;
  } while (!open_.compare_exchange_weak(open, open + 1, std::memory_order_acquire));
  part = static_cast<int>(open & kPartMask);
  return true;
}

void HostCalls::share(int count, Part part, void* argument) noexcept {
  part_ = part;
  part_argument_ = argument;
  ended_.store(0, std::memory_order_relaxed);
  const std::uint64_t number = (open_.load(std::memory_order_relaxed) >> 2 * kPartBits) + 1;
  open_.store((number << 2 * kPartBits) | (static_cast<std::uint64_t>(count) << kPartBits),
              std::memory_order_release);
  for (int own = 0; take_part(own);) {
    part(argument, own, 0);
    ended_.fetch_add(1, std::memory_order_release);
  }
  while (ended_.load(std::memory_order_acquire) != count) detail::relax();
}

bool HostCalls::join() noexcept {
  if (joined_.exchange(true, std::memory_order_acquire)) return false;
  bool ran = false;
  for (int own = 0; take_part(own); ran = true) {
    part_(part_argument_, own, 1);
    ended_.fetch_add(1, std::memory_order_release);
  }
  joined_.store(false, std::memory_order_release);
  return ran;
}

void HostCalls::work() noexcept {
  for (;;) {
    // In this order: `stop` sets stop_ before it changes expected_.
    const std::uint32_t expected = expected_.load();
    if (stop_.load()) return;
    const std::uint32_t open = expected - withdrawn_.load();
    // A lost device does not ask any more.
    if (answered_.load() == open || device_->lost()) {
      expected_.wait(expected);
      continue;
    }
    if (!answer() && !join()) pause(device_->wait_mode());
  }
}

}  // namespace ocellus::cuda
