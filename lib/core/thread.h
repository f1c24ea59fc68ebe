// The library's own threads: how each of them is started.
#pragma once

#include <pthread.h>

#include "ocellus/status.h"

namespace ocellus::detail {

struct ThreadOptions {
  const char* kind = "";  ///< in error texts
  int number = 0;         ///< among those of its kind
  const char* name = "";  ///< for tools of the system, with the number behind it
  int cpu = -1;           ///< the only CPU that it runs on; -1: left to the system
  /// 0: no real-time policy, whatever the caller has; 1 to 99: SCHED_FIFO.
  int realtime_priority = 0;
};

/// Starts a thread with a stack of fixed size, whatever the process's default is. It takes none of
/// the process's signals but those that its own instructions raise.
/// Errors: System.
Expected<void> start_thread(const ThreadOptions& options, void* (*run)(void*), void* argument,
                            pthread_t& thread) noexcept;

}  // namespace ocellus::detail
