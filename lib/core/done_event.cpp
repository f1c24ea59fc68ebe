#include "core/done_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "core/failure.h"

namespace ocellus::detail {

DoneEvent::~DoneEvent() {
  if (fd_ >= 0) close(fd_);
}

Expected<int> DoneEvent::create() noexcept {
  const std::lock_guard<PriorityMutex> lock(mutex_);
  if (fd_ >= 0) return fd_;
  fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd_ < 0) {
    return failure(Status::kSystem, "the system gave no file descriptor (eventfd): %s",
                   errno == EMFILE || errno == ENFILE
                       ? "too many files are open; close some or raise the limit (ulimit -n)"
                       : "it refused the call");
  }
  if (count_ > 0) raise();
  return fd_;
}

// The calls below cannot block, because the descriptor is in non-blocking mode. They do not fail
// either, unless the program has written to the descriptor or closed it.
void DoneEvent::raise() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
}

void DoneEvent::add() noexcept {
  const std::lock_guard<PriorityMutex> lock(mutex_);
  if (++count_ == 1 && fd_ >= 0) raise();
}

void DoneEvent::remove() noexcept {
  const std::lock_guard<PriorityMutex> lock(mutex_);
  if (--count_ > 0 || fd_ < 0) return;
  std::uint64_t value = 0;
  [[maybe_unused]] const ssize_t got = read(fd_, &value, sizeof(value));
}

}  // namespace ocellus::detail
