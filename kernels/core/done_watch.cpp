#include "kernels/core/done_watch.h"

#include <mutex>

#include "core/thread.h"
#include "kernels/core/cuda_device.h"

namespace ocellus::cuda {

using Lock = std::lock_guard<detail::PriorityMutex>;

Expected<void> DoneWatch::start(CudaDevice& device, const char* name) noexcept {
  if (running_) return {};
  device_ = &device;
  name_ = name;
  const detail::ThreadOptions options = {.kind = "thread that looks for the end of frames",
                                         .name = "ocellus-done",
                                         .realtime_priority = device.realtime_priority()};
  Expected<void> made = detail::start_thread<&DoneWatch::work>(options, this, thread_);
  running_ = made.has_value();
  return made;
}

void DoneWatch::stop() noexcept {
  if (!running_) return;
  running_ = false;
  stop_.store(true);
  changes_.fetch_add(1);
  changes_.notify_all();
  pthread_join(thread_, nullptr);
}

void DoneWatch::submitted(int slot, cudaEvent_t last) noexcept {
  {
    const Lock lock(mutex_);
    const bool failed = last == nullptr;
    frames_[static_cast<std::size_t>(slot)] = {++last_number_, last, failed};
    if (failed) event_.add();
  }
  changes_.fetch_add(1);
  if (running_) changes_.notify_one();
}

void DoneWatch::taken(int slot) noexcept {
  const Lock lock(mutex_);
  Watched& frame = frames_[static_cast<std::size_t>(slot)];
  if (frame.number != 0 && frame.done) event_.remove();
  frame = {};
}

int DoneWatch::oldest(Watched& frame) noexcept {
  const Lock lock(mutex_);
  int found = -1;
  for (int slot = 0; slot < kMaxDepth; ++slot) {
    const Watched& candidate = frames_[static_cast<std::size_t>(slot)];
    if (candidate.number == 0 || candidate.done) continue;
    if (found >= 0 && candidate.number > frame.number) continue;
    found = slot;
    frame = candidate;
  }
  return found;
}

bool DoneWatch::open(int slot, std::uint64_t number) noexcept {
  const Lock lock(mutex_);
  const Watched& frame = frames_[static_cast<std::size_t>(slot)];
  return frame.number == number && !frame.done;
}

void DoneWatch::mark_done(int slot, std::uint64_t number) noexcept {
  const Lock lock(mutex_);
  Watched& frame = frames_[static_cast<std::size_t>(slot)];
  if (frame.number != number || frame.done) return;
  frame.done = true;
  event_.add();
}

void DoneWatch::work() noexcept {
  for (;;) {
    // In this order: `stop` sets stop_ before it changes changes_.
    const std::uint32_t seen = changes_.load();
    if (stop_.load()) return;
    Watched frame;
    const int slot = oldest(frame);
    if (slot < 0) {
      changes_.wait(seen);
      continue;
    }
    Scope cuda(*device_, Phase::kRunning, name_);
    while (open(slot, frame.number)) {
      // The event may be that of a later frame of the slot by now. Then the number differs.
      const Expected<bool> done = cuda.query(frame.last);
      if (!done || *done) {
        mark_done(slot, frame.number);  // `wait` returns the error
        break;
      }
      pause(device_->wait_mode());
    }
  }
}

}  // namespace ocellus::cuda
