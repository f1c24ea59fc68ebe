// The program `ocellus`: its subcommands.
#include "apps/common/common.h"
#include "apps/program.h"

namespace {

using namespace ocellus;
using namespace ocellus::app;

int run(int argc, char** argv) {
  CLI::App program{kOcellusSummary, "ocellus"};
  set_up_ocellus(program);
  int exit_code = kDone;
  add_devices_command(program, exit_code);
  add_flow_command(program, exit_code);
  add_filter_command(program, exit_code);
  add_cell_commands(program, exit_code);
  add_restoration_command(program, exit_code);
  add_digits_command(program, exit_code);
  add_cortex_command(program, exit_code);
  add_network_command(program, exit_code);
  CLI::App* const train = program.add_subcommand("train", "Learns model files from images");
  train->require_subcommand(1);
  add_train_digits_command(*train, exit_code);
  add_train_cortex_command(*train, exit_code);
  add_train_network_command(*train, exit_code);
  add_kernels_command(program, exit_code);
  add_template_command(program, exit_code);
  add_compare_command(program, exit_code);
  add_latency_command(program, exit_code);
  add_bench_command(program, exit_code);
  add_selftest_command(program, exit_code);
  add_options_command(program, exit_code);
  add_page_commands(program, exit_code);

  return parse_program(program, argc, argv, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ocellus", [argc, argv] { return run(argc, argv); });
}
