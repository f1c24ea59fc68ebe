// Handling of signals that end the program. SIGINT (Ctrl-C) and SIGTERM ask a command that can stop
// early to do so. Every other command ends at once, and so does every command on SIGHUP, SIGPIPE
// and the other signals. No unfinished file remains, except after SIGKILL and after signals that
// the program's own faults raise.
#pragma once

namespace ocellus::app {

/// Called by main before any thread starts. A signal that the parent process ignores stays ignored.
void handle_signals();

/// While such an object exists, the first signal only sets stop_signal() and stops the operators
/// that StopsOnSignal has registered. A second one, 0.3 seconds later or more, ends the process at
/// once, in case the first stop hangs. A write to a closed pipe is an error and ends nothing, so
/// that what was computed is kept.
class StopsEarly {
 public:
  StopsEarly();
  ~StopsEarly();
  StopsEarly(const StopsEarly&) = delete;
  StopsEarly& operator=(const StopsEarly&) = delete;

 private:
  void (*on_pipe_)(int);  // what SIGPIPE does otherwise
};

/// The signal that asked the program to stop, or 0.
int stop_signal();

/// Thrown where a signal that asks to stop ends a wait: for data or for a frame.
struct Stopped {};

/// Registers an operator or a group of them. The signal that asks to stop calls its `stop`, so that
/// a frame that takes long ends early. The object must stay at its place.
class StopsOnSignal {
 public:
  template <typename Stoppable>
  explicit StopsOnSignal(Stoppable& object)
      : StopsOnSignal(&object, [](void* of) { static_cast<Stoppable*>(of)->stop(); }) {}
  ~StopsOnSignal();
  StopsOnSignal(const StopsOnSignal&) = delete;
  StopsOnSignal& operator=(const StopsOnSignal&) = delete;

 private:
  /// `stop` is called by the handler of signals.
  StopsOnSignal(void* object, void (*stop)(void*));

  int place_ = -1;
};

/// Removes all unfinished files and ends the process by this signal, so that a shell sees 128 +
/// signal and ends its own loop too.
void end_by_signal(int signal);

}  // namespace ocellus::app
