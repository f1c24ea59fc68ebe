// The program `ocellus-cluster`: optical flow on the ranks of an MPI job.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/cluster/flow_command.h"
#include "apps/program.h"

namespace {

using namespace ocellus::app;

/// Whether the command only measures or models. That is in the program `ocellus-cluster-bench`,
/// which has the same command line. It is executed before MPI starts, which a process can do once.
bool is_bench(const std::vector<std::string>& arguments) {
  return !arguments.empty() &&
         (arguments.front() == "model" ||
          std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
            return argument == "--bench" || argument.starts_with("--bench=");
          }));
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (is_bench(arguments)) execute_beside("ocellus-cluster-bench", arguments.front(), arguments);
  return run_cluster_program(argc, argv, nullptr, [](CLI::App& program, int&) {
    program.add_subcommand("model", kClusterModelSummary);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ocellus-cluster", [argc, argv] { return run(argc, argv); });
}
