// The program `ocellus`: parses the command line, runs one subcommand and turns errors into exit
// codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/cortex/commands.h"
#include "apps/halftone/template_command.h"
#include "apps/io/output_file.h"
#include "apps/io/video.h"
#include "apps/neocognitron/digits_command.h"
#include "apps/neocognitron/train_command.h"
#include "apps/optical_flow/kernels_command.h"
#include "apps/restoration/command.h"

namespace {

using namespace ocellus;
using namespace ocellus::app;

/// Reports an unknown subcommand by its name and lists the valid ones. CLI11's own errors name
/// neither.
void check_subcommands(const CLI::App& program, int argc, char** argv) {
  const CLI::App* level = &program;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> commands = level->get_subcommands({});
    if (commands.empty()) return;  // the rest are arguments of this subcommand
    std::string names;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : commands) {
      if (command->get_name() == argv[i]) next = command;
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    // A command that has subcommands may take arguments of its own.
    const std::vector<const CLI::Option*> options = level->get_options();
    const bool takes_arguments =
        std::any_of(options.begin(), options.end(),
                    [](const CLI::Option* option) { return option->get_positional(); });
    if (next == nullptr && takes_arguments) return;
    if (next == nullptr) {
      throw InputError(fmt::format("unknown subcommand '{}'{}; the subcommands are: {}", argv[i],
                                   level == &program ? "" : " of " + level->get_name(), names));
    }
    level = next;
  }
}

int run(int argc, char** argv) {
  CLI::App program{"Real-time vision operators of known cost for cameras", "ocellus"};
  program.set_version_flag("--version", fmt::format("ocellus {}", version()),
                           "Print the version and exit");
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
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
      "train writes its state if --checkpoint names a file. No incomplete file remains. A second\n"
      "Ctrl-C ends the program immediately.");

  int exit_code = kDone;
  add_devices_command(program, exit_code);
  add_flow_command(program, exit_code);
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

  if (argc < 2) {
    tell(program.help());
    return kBadInput;
  }
  check_subcommands(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    program.exit(asked);
    return kDone;
  } catch (const CLI::ParseError& error) {
    std::string command = "ocellus";
    for (const CLI::App* app = &program; !app->get_subcommands().empty();) {
      app = app->get_subcommands().front();
      command += " " + app->get_name();
    }
    tell(fmt::format("ocellus: {}\nSee '{} --help'.\n", printable(error.what()), command));
    return kBadInput;
  }
  return exit_code;
}

/// The parent may have closed a standard stream. Then the next file that is opened would take its
/// number, and printed text would go into that file. /dev/null takes the place of a closed stream;
/// it is opened so that reading and writing still fail.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  handle_signals();
  protect_inputs();
  int code = kBadInput;
  try {
    code = run(argc, argv);
  } catch (const std::exception& error) {
    tell(fmt::format("ocellus: {}\n", printable(error.what())));
  }
  // A full disk or a closed pipe must not be reported as success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    tell("ocellus: stdout could not be written\n");
    code = kBadInput;
  }
  if (const int signal = stop_signal()) end_by_signal(signal);
  if (source_left_behind()) std::_Exit(code);
  return code;
}
