// Starts the library's threads.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "ocellus/status.h"

namespace ocellus::detail {

struct ThreadOptions {
  const char* kind = "";  ///< used in error texts
  int number = 0;         ///< index among threads of this kind
  const char* name = "";  ///< name that system tools show, followed by the number
  /// The CPUs that the thread may use; null: those that the calling thread may use.
  const cpu_set_t* cpus = nullptr;
  /// 1 to 99: SCHED_FIFO; 0: no real-time policy, even if the caller has one.
  int realtime_priority = 0;
};

/// Starts a thread with a stack of fixed size, whatever the default of the process. All signals are
/// blocked except those that the thread's own instructions raise. Errors: System.
Expected<void> start_thread(const ThreadOptions& options, void* (*run)(void*), void* argument,
                            pthread_t& thread) noexcept;

/// A thread that calls the function `kRun` of an object.
template <auto kRun, typename Object>
Expected<void> start_thread(const ThreadOptions& options, Object* object,
                            pthread_t& thread) noexcept {
  const auto run = [](void* argument) -> void* {
    (static_cast<Object*>(argument)->*kRun)();
    return nullptr;
  };
  return start_thread(options, run, object, thread);
}

/// While it exists, the calling thread takes no signals. A thread that is started meanwhile
/// inherits this.
class BlockedSignals {
 public:
  /// `own`: also those that the thread's own instructions raise. Then the process would end at such
  /// a signal without a call of its handler.
  explicit BlockedSignals(bool own) noexcept;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ocellus::detail
