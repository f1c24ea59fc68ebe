// The program `ocellus-cluster-bench`, which `ocellus-cluster flow --bench` and `model` execute.
#include "apps/program.h"
#include "bench/cluster/cluster_bench.h"

int main(int argc, char** argv) {
  using namespace ocellus::app;
  return run_program("ocellus-cluster", [argc, argv] {
    return run_cluster_program(argc, argv, run_cluster_bench, add_cluster_model_command);
  });
}
