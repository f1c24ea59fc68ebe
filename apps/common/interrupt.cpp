#include "apps/common/interrupt.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "ocellus/unfinished_files.h"

namespace ocellus::app {
namespace {

// The signal handler reads these, so they must be free of locks.
std::atomic<int> stopping_signal{0};
std::atomic<int> stopping_early{0};
std::atomic<std::int64_t> requested_ns{0};  // when stopping_signal came; 0: it did not
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

struct StopPlace {
  enum State : int { kFree, kChanging, kUsed };
  std::atomic<int> state{kFree};
  void* object = nullptr;
  void (*stop)(void*) = nullptr;
};
/// An operator that finds no free entry ends its frame before the program stops.
std::array<StopPlace, 64> stopped_places{};

/// Signals whose default action ends the process. handle_signals adds the real-time signals.
/// SIGKILL cannot be handled, and the signals of faults such as SIGSEGV keep their default action.
/// SIGXFSZ is ignored: see handle_signals.
constexpr int kEnding[] = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGPIPE, SIGALRM,   SIGUSR1,
                           SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF, SIGPOLL, SIGSTKFLT, SIGPWR};

bool asks_to_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM;
}

/// Signals that follow each other within this time are one request: programs such as timeout send
/// theirs to the process and to its group.
constexpr std::int64_t kOneRequestNs = 300'000'000;

/// Of the monotonic clock; never 0.
std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec + 1;
}

void on_signal(int signal) {
  if (asks_to_stop(signal) && stopping_early.load() > 0) {
    const std::int64_t now = now_ns();
    std::int64_t before = 0;
    if (requested_ns.compare_exchange_strong(before, now)) {
      stopping_signal.store(signal);
      for (StopPlace& place : stopped_places) {
        int used = StopPlace::kUsed;
        if (!place.state.compare_exchange_strong(used, StopPlace::kChanging)) continue;
        place.stop(place.object);
        place.state.store(StopPlace::kUsed);
      }
      return;
    }
    if (now - before < kOneRequestNs) return;
  }
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

StopsEarly::StopsEarly() : on_pipe_(::signal(SIGPIPE, SIG_IGN)) {
  ++stopping_early;
}
StopsEarly::~StopsEarly() {
  --stopping_early;
  ::signal(SIGPIPE, on_pipe_);
}

int stop_signal() {
  return stopping_signal.load();
}

StopsOnSignal::StopsOnSignal(void* object, void (*stop)(void*)) {
  for (std::size_t i = 0; i < stopped_places.size() && place_ < 0; ++i) {
    StopPlace& place = stopped_places[i];
    int none = StopPlace::kFree;
    if (!place.state.compare_exchange_strong(none, StopPlace::kChanging)) continue;
    place.object = object;
    place.stop = stop;
    place.state.store(StopPlace::kUsed);
    place_ = static_cast<int>(i);
  }
  // The signal may have come before.
  if (stop_signal() != 0) stop(object);
}

StopsOnSignal::~StopsOnSignal() {
  if (place_ < 0) return;
  // The handler may use the entry in another thread.
  for (int used = StopPlace::kUsed;
       !stopped_places[static_cast<std::size_t>(place_)].state.compare_exchange_weak(
           used, StopPlace::kFree);
       used = StopPlace::kUsed)
    std::this_thread::yield();
}

void end_by_signal(int signal) {
  remove_unfinished_files();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // inside the handler it takes effect when the handler returns
}

}  // namespace ocellus::app
