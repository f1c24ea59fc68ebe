// The program `ocellus`: its subcommands.
#include "apps/common/common.h"
#include "apps/common/program.h"
#include "apps/common/program_pages.h"
#include "apps/cortex/commands.h"
#include "apps/halftone/template_command.h"
#include "apps/neocognitron/digits_command.h"
#include "apps/neocognitron/train_command.h"
#include "apps/optical_flow/filter_command.h"
#include "apps/optical_flow/kernels_command.h"
#include "apps/restoration/command.h"

namespace {

using namespace ocellus;
using namespace ocellus::app;

int run(int argc, char** argv) {
  CLI::App program{"Real-time vision operators of known cost for cameras", "ocellus"};
  set_up_program(program);
  program.footer(
      "FRAMES is one of:\n"
      "  an image file         PNG, PGM, PPM, PBM or JPEG, at most 16384x16384 pixels\n"
      "  a numbered pattern    such as f%02d.pgm: one %d, or %0Nd for N digits, in the name of "
      "the\n"
      "                        files or of one folder (d%d/x.pgm), and %% for a percent sign\n"
      "  a video file\n"
      "  a camera              such as /dev/video0\n"
      "  a test scene          a synthetic sequence with known motion:\n"
      "                        test:[WIDTHxHEIGHT][@FPS][,frames=N][,motion=affine|translate]\n"
      "                        [,u=..][,v=..][,bits=8|16][,seed=N]\n"
      "  a scene of digits     known digits on paper:\n"
      "                        test:digits[@FPS][,size=WIDTHxHEIGHT][,frames=N][,digits=N]\n"
      "                        [,ink=dark|light][,sheet=FILE][,seed=N]\n"
      "-o takes a numbered pattern, too. The folders of an output must exist. If a video or a\n"
      "camera gives no frame for --source-timeout seconds (default 10), the command fails.\n"
      "\n"
      "Exit codes: 0 success; 1 a requested check failed (for example, a missed latency budget);\n"
      "2 wrong usage or bad input; 130 after Ctrl-C; 143 after SIGTERM.\n"
      "On the first Ctrl-C, latency and the commands of operators finish the current frame and\n"
      "stop. latency then reports the frames that it measured; the others finish their video.\n"
      "train writes its state if --checkpoint names a file. Once train network has learned, it\n"
      "only ends its tests. No incomplete file remains. A second Ctrl-C ends the program\n"
      "immediately.");

  int exit_code = kDone;
  add_devices_command(program, exit_code);
  add_flow_command(program, exit_code);
  add_filter_command(program, exit_code);
  add_cell_commands(program, exit_code);
  add_restoration_command(program, exit_code);
  add_digits_command(program, exit_code);
  add_cortex_command(program, exit_code);
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
  add_options_command(program, exit_code);
  add_page_commands(program, exit_code);

  return parse_program(program, argc, argv, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ocellus", [argc, argv] { return run(argc, argv); });
}
