#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace ocellus::app {
namespace {

// What the handler touches must be free of locks.
std::atomic<int> stopping_signal{0};
std::atomic<int> stopping_early{0};
/// More files than are ever open at once; one that finds no place is only not removed.
std::array<std::atomic<char*>, 8> unfinished{};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<char*>::is_always_lock_free);

void on_signal(int signal) {
  int none = 0;
  if (stopping_early.load() > 0 && stopping_signal.compare_exchange_strong(none, signal)) return;
  end_by_signal(signal);
}

}  // namespace

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;  // a write must not fail because of it
    sigaction(signal, &action, nullptr);
  }
  // Writing beyond the limit of a file's size is an error like a full disk, not the end.
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
  for (std::atomic<char*>& slot : unfinished) {
    if (const char* const path = slot.load()) unlink(path);
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // inside the handler it takes effect when that returns
}

UnfinishedFile::UnfinishedFile(const char* path) {
  char* const copy = strdup(path);
  for (std::atomic<char*>& slot : unfinished) {
    char* none = nullptr;
    if (slot.compare_exchange_strong(none, copy)) {
      slot_ = &slot;
      return;
    }
  }
  std::free(copy);
}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ != nullptr) std::free(slot_->exchange(nullptr));
}

}  // namespace ocellus::app
