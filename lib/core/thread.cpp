#include "core/thread.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

// Address space; only touched pages use memory. The deepest call chain uses about 20 KiB, several
// times as much with a sanitizer.
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

/// The part of a stack that the C library uses; it holds the thread-local data of all libraries.
std::size_t reserved_stack_bytes() noexcept {
  return static_cast<std::size_t>(std::max(0L, sysconf(_SC_THREAD_STACK_MIN)));
}

/// For example "CPU 3", "2 CPUs" or "any CPU".
void print_cpus(const cpu_set_t* cpus, char* text, std::size_t capacity) noexcept {
  const int count = cpus == nullptr ? 0 : CPU_COUNT(cpus);
  if (count == 0) {
    std::snprintf(text, capacity, "any CPU");
  } else if (count > 1) {
    std::snprintf(text, capacity, "%d CPUs", count);
  } else {
    std::size_t cpu = 0;
    while (!CPU_ISSET(cpu, cpus)) ++cpu;
    std::snprintf(text, capacity, "CPU %zu", cpu);
  }
}

int apply(const ThreadOptions& options, pthread_attr_t& attributes) noexcept {
  int result = pthread_attr_setstacksize(&attributes, kStackBytes + reserved_stack_bytes());
  if (result == 0 && options.cpus != nullptr)
    result = pthread_attr_setaffinity_np(&attributes, sizeof(cpu_set_t), options.cpus);
  // Ask the system, because the C library may have stored an outdated policy of the thread.
  // SCHED_BATCH and SCHED_IDLE, which rank below the ordinary policy, are inherited: the user chose
  // them, and the system may not permit a change. SCHED_RESET_ON_FORK is a flag, not a policy.
  const int inherited = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  const bool realtime = options.realtime_priority > 0;
  const bool inherits =
      inherited == SCHED_OTHER || inherited == SCHED_BATCH || inherited == SCHED_IDLE;
  if (result == 0 && (realtime || !inherits)) {
    sched_param parameter{};
    parameter.sched_priority = options.realtime_priority;
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, realtime ? SCHED_FIFO : SCHED_OTHER);
    result = pthread_attr_setschedparam(&attributes, &parameter);
  }
  return result;
}

}  // namespace

BlockedSignals::BlockedSignals(bool own) noexcept {
  sigset_t signals;
  sigfillset(&signals);
  if (!own) {
    for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
      sigdelset(&signals, raised);
  }
  pthread_sigmask(SIG_SETMASK, &signals, &before_);
}

Expected<void> start_thread(const ThreadOptions& options, void* (*run)(void*), void* argument,
                            pthread_t& thread) noexcept {
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result == 0) {
    result = apply(options, attributes);
    if (result == 0) {
      // Otherwise a program that waits for signals in one thread could find that this one took
      // them.
      const BlockedSignals blocked(false);
      result = pthread_create(&thread, &attributes, run, argument);
    }
    pthread_attr_destroy(&attributes);
  }
  if (result != 0) {
    char cpus[32];
    print_cpus(options.cpus, cpus, sizeof(cpus));
    return failure(Status::kSystem, "%s %d (%s, realtime priority %d) could not be started: %s%s",
                   options.kind, options.number, cpus, options.realtime_priority, strerror(result),
                   result == EPERM && options.realtime_priority > 0
                       ? "; SCHED_FIFO needs CAP_SYS_NICE or an rtprio limit"
                       : "");
  }
  char name[32];
  std::snprintf(name, sizeof(name), "%.20s-%d", options.name, options.number);
  name[15] = '\0';  // the system's limit
  pthread_setname_np(thread, name);
  return {};
}

}  // namespace ocellus::detail
