// The program `ocellus-bench`, which `ocellus bench` runs.
#include <vector>

#include "apps/common/common.h"
#include "apps/program.h"
#include "bench/bench_command.h"

namespace {

using namespace ocellus::app;

/// The command line is that of `ocellus bench`, `ocellus compare` or `ocellus cortex`, so help and
/// errors name the command that users type.
int run(int argc, char** argv) {
  CLI::App program{kOcellusSummary, "ocellus"};
  set_up_ocellus(program);
  int exit_code = kDone;
  add_bench_commands(program, exit_code);
  add_compare_latency_command(program, exit_code);
  add_plan_command(*program.add_subcommand("cortex"), exit_code);
  std::string name = "ocellus";
  const std::string first = argc < 2 ? "" : argv[1];
  std::string command = first == "plan" ? "cortex" : "bench";
  std::vector<char*> arguments = {name.data()};
  if (first != "compare") arguments.push_back(command.data());
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  const int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return parse_program(program, count, arguments.data(), exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ocellus", [argc, argv] { return run(argc, argv); });
}
