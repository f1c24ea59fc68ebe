#include "apps/common/interrupt.h"

#include <signal.h>

#include <atomic>

#include "ocellus/unfinished_files.h"

namespace ocellus::app {
namespace {

// The signal handler reads these, so they must be free of locks.
std::atomic<int> stopping_signal{0};
std::atomic<int> stopping_early{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// Signals whose default action ends the process. handle_signals adds the real-time signals.
/// SIGKILL cannot be handled, and the signals of faults such as SIGSEGV keep their default action.
/// SIGXFSZ is ignored: see handle_signals.
constexpr int kEnding[] = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGPIPE, SIGALRM,   SIGUSR1,
                           SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF, SIGPOLL, SIGSTKFLT, SIGPWR};

bool asks_to_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM;
}

void on_signal(int signal) {
  int none = 0;
  if (asks_to_stop(signal) && stopping_early.load() > 0 &&
      stopping_signal.compare_exchange_strong(none, signal))
    return;
  end_by_signal(signal);
}

}  // namespace

void handle_signals() {
  const auto handle = [](int signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;  // a signal must not make a write fail
    sigaction(signal, &action, nullptr);
  };
  for (const int signal : kEnding) handle(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal);
  // A write beyond the limit of file size then fails like a write to a full disk and does not end
  // the process.
  ::signal(SIGXFSZ, SIG_IGN);
}

StopsEarly::StopsEarly() {
  ++stopping_early;
}
StopsEarly::~StopsEarly() {
  --stopping_early;
}

int stop_signal() {
  return stopping_signal.load();
}

void end_by_signal(int signal) {
  remove_unfinished_files();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // inside the handler it takes effect when the handler returns
}

}  // namespace ocellus::app
