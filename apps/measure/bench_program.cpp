// ocellus bench: hands its arguments to the program `ocellus-bench` beside this one.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

/// Does not return.
[[noreturn]] void execute(std::vector<std::string> arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw InputError(fmt::format("bench: /proc/self/exe cannot be read: {}", error.message()));
  const std::string program = (own.parent_path() / "ocellus-bench").string();
  std::vector<char*> argv;
  std::string name = program;
  argv.push_back(name.data());
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  throw InputError(fmt::format(
      "bench needs the program {}: {}; build it with the tests or with -D OCELLUS_BENCH=ON, and "
      "install it beside ocellus",
      program, std::strerror(errno)));
}

}  // namespace

void add_bench_command(CLI::App& program, int&) {
  CLI::App* const bench = program.add_subcommand(
      "bench",
      "Measure an operator; compare it with the machine's limits and other implementations");
  // All arguments are those of the other program, --help too.
  bench->prefix_command();
  bench->set_help_flag();
  bench->callback([bench] { execute(bench->remaining()); });
}

}  // namespace ocellus::app
