// The program `ocellus-cluster`: optical flow on the ranks of an MPI job.
#include <algorithm>
#include <string>

#include "apps/cluster/flow_command.h"
#include "apps/program.h"

namespace {

using namespace ocellus::app;

/// Whether the command only measures or models. That is in the program `ocellus-cluster-bench`,
/// which has the same command line. It is executed before MPI starts, which a process can do once.
bool is_bench(int argc, char** argv) {
  return argc > 1 && (argv[1] == std::string("model") ||
                      std::any_of(argv, argv + argc, [](const char* argument) {
                        return argument == std::string("--bench");
                      }));
}

int run(int argc, char** argv) {
  if (is_bench(argc, argv))
    execute_beside("ocellus-cluster-bench", argv[1], {argv + 1, argv + argc});
  return run_cluster_program(argc, argv, nullptr, [](CLI::App& program, int&) {
    program.add_subcommand("model", kClusterModelSummary);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ocellus-cluster", [argc, argv] { return run(argc, argv); });
}
