// Runs the program as a child process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "support/files.h"

namespace ocellus::test {

struct ChildResult {
  int exit_code = -1;  ///< 128 + the signal's number if a signal ended it
  std::string out;
  std::string err;
  double seconds = 0.0;         ///< from start to end
  std::size_t peak_memory = 0;  ///< the most resident memory in bytes, including libraries
};

/// The path of the program under test: OCELLUS_PROGRAM of the environment, otherwise the program
/// beside the test.
std::string program_path();

/// Runs the program with these arguments. stdout and stderr are separate and not a terminal.
ChildResult run_program(const std::vector<std::string>& arguments);

/// A running program that can receive signals. SIGINT ends it as in a terminal, even if the parent
/// of the test ignores SIGINT.
class RunningProgram {
 public:
  /// `file_limit`: the largest allowed file in bytes; 0: no limit.
  explicit RunningProgram(const std::vector<std::string>& arguments, unsigned long file_limit = 0);
  /// Ends the program if it still runs.
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
