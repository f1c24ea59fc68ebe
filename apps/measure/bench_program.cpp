// What this program leaves to `ocellus-bench`, and how it executes another program.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/common/common.h"
#include "apps/program.h"

namespace ocellus::app {

void execute_beside(const std::string& name, const std::string& command,
                    std::vector<std::string> arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw InputError(
        fmt::format("{}: /proc/self/exe cannot be read: {}", command, error.message()));
  }
  arguments.insert(arguments.begin(), (own.parent_path() / name).string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  throw InputError(fmt::format(
      "{} needs the program {}: {}; build it with the tests or with -D OCELLUS_BENCH=ON, and "
      "install it beside {}",
      command, argv[0], std::strerror(errno), own.filename().string()));
}

void add_executed_command(CLI::App& parent, const char* name, const char* summary,
                          const std::vector<std::string>& before) {
  CLI::App* const command = parent.add_subcommand(name, summary);
  command->prefix_command();
  command->set_help_flag();
  command->footer("--help prints the options.");  // for the manual page
  command->callback([command, before] {
    std::vector<std::string> arguments = before;
    for (const std::string& argument : command->remaining()) arguments.push_back(argument);
    execute_beside("ocellus-bench", command->get_name(), arguments);
  });
}

void add_bench_command(CLI::App& program, int&) {
  add_executed_command(
      program, "bench",
      "Measure an operator; compare it with the machine's limits and other implementations", {});
}

}  // namespace ocellus::app
