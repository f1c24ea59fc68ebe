// Signals that end the program. On SIGINT (Ctrl-C) and SIGTERM a command that can stop early is
// asked to; all others end at once, as do SIGHUP, SIGPIPE and the rest. None but SIGKILL, and those
// that errors of the program raise, leaves an unfinished file.
#pragma once

namespace ocellus::app {

/// For main, before there are threads. A signal that the parent has set to be ignored stays so.
void handle_signals();

/// While one is alive, the first signal only sets stop_signal(). The second ends the process at
/// once, so that nobody has to wait for what hangs.
class StopsEarly {
 public:
  StopsEarly();
  ~StopsEarly();
  StopsEarly(const StopsEarly&) = delete;
  StopsEarly& operator=(const StopsEarly&) = delete;
};

/// The signal that asked to stop; 0 when none has.
int stop_signal();

/// Ends the process by this signal: a shell then sees 128 + signal, and ends its own loop too.
void end_by_signal(int signal);

/// A file that is removed when a signal ends the process, also one that is about to be made.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const char* path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  int place_ = -1;
};

}  // namespace ocellus::app
