// Runs the program as a user does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "support/files.h"

namespace ocellus::test {

struct ChildResult {
  int exit_code = -1;  ///< 128 + the signal's number when a signal ended it
  std::string out;
  std::string err;
  double seconds = 0.0;         ///< from its start to its end
  std::size_t peak_memory = 0;  ///< bytes resident at most, libraries included
};

/// The program under test: as the environment's OCELLUS_PROGRAM says, else the one beside the test.
std::string program_path();

/// Runs it with these arguments, stdout and stderr apart, no terminal.
ChildResult run_program(const std::vector<std::string>& arguments);

/// The program at work, to be signaled. SIGINT ends it as it would in a terminal, whatever the
/// test's own parent has set.
class RunningProgram {
 public:
  /// `file_limit`: bytes that a file may have; 0 = no limit.
  explicit RunningProgram(const std::vector<std::string>& arguments, unsigned long file_limit = 0);
  /// Ends what still runs.
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int signal) const;
  ChildResult wait();

 private:
  TemporaryFolder folder_;
  pid_t child_ = -1;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace ocellus::test
