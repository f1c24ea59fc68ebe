// DoneEvent: a file descriptor that is readable while frames are done that were not waited for.
#pragma once

#include "core/priority_mutex.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Counts such frames of one operator. The descriptor changes only when the count becomes 1 or 0,
/// so most frames of a burst need no system call. An operator without a descriptor needs none. Any
/// thread may make any call.
class DoneEvent {
 public:
  DoneEvent() noexcept = default;
  ~DoneEvent();
  DoneEvent(const DoneEvent&) = delete;
  DoneEvent& operator=(const DoneEvent&) = delete;

  /// Returns the descriptor, which the first call creates. Errors: System.
  Expected<int> create() noexcept;

  /// A frame is done, or `wait` would return an error.
  void add() noexcept;
  /// That frame has been waited for or dropped.
  void remove() noexcept;

 private:
  void raise() noexcept;

  PriorityMutex mutex_;
  int fd_ = -1;
  int count_ = 0;
};

}  // namespace ocellus::detail
