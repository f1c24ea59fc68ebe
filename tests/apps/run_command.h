// Runs a subcommand without the program.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/common/input_error.h"

namespace ocellus::test {

/// Runs a command line with the subcommand that `add` makes. Returns the error message, or an empty
/// text.
inline std::string run_command(void (*add)(CLI::App& program, int& exit_code),
                               const std::vector<std::string>& arguments) {
  CLI::App program;
  int exit_code = -1;
  add(program, exit_code);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    program.parse(reversed);
    EXPECT_EQ(exit_code, 0);
  } catch (const app::InputError& error) {
    return error.what();
  } catch (const CLI::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ocellus::test
