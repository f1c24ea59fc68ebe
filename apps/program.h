// What the programs share: the standard streams, the command line, and errors as exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace ocellus::app {

/// Runs `run` with handled signals and returns the exit code of main. Prints errors on stderr,
/// after the program's name. A full disk or a closed pipe behind stdout is an error. Ends the
/// process by the signal that asked it to stop.
int run_program(const char* name, const std::function<int()>& run);

/// Prints an error on stderr, after the program's name, also while the system gives no memory.
/// Returns whether it gives some.
bool tell_error(const char* name, const std::exception& error) noexcept;

/// Adds --version and --help, and requires a subcommand.
void set_up_program(CLI::App& program);

/// What `ocellus --help` says first.
inline constexpr const char* kOcellusSummary =
    "Real-time vision operators of known cost for cameras";

/// The same as set_up_program for `ocellus`, with what its help says of frames and exit codes.
void set_up_ocellus(CLI::App& program);

/// Parses the command line, runs the subcommand, and returns `exit_code`, which the subcommand has
/// set. `reports`: whether this process prints help and errors. Throws InputError.
int parse_program(CLI::App& program, int argc, char** argv, const int& exit_code,
                  bool reports = true);

/// Executes the program of this name that lies beside this one, and does not return. Throws
/// InputError, which names the `command` that needs it.
[[noreturn]] void execute_beside(const std::string& name, const std::string& command,
                                 std::vector<std::string> arguments);

/// Adds a command that executes `ocellus-bench` with the arguments `before` and those of the
/// command, --help too.
void add_executed_command(CLI::App& parent, const char* name, const char* summary,
                          const std::vector<std::string>& before);

}  // namespace ocellus::app
