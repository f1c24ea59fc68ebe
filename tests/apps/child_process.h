// Runs the program as a user does, and a folder for its files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ocellus::test {

struct ChildResult {
  int exit_code = -1;  ///< 128 + the signal's number when a signal ended it
  std::string out;
  std::string err;
};

/// Runs the program under test (environment variable OCELLUS_PROGRAM) with these arguments, stdout
/// and stderr apart, no terminal.
ChildResult run_program(const std::vector<std::string>& arguments);

/// A new empty folder, removed with all in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ocellus::test
