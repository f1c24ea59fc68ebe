// The program `ocellus`: parses the command line, calls one subcommand, turns errors into exit
// codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/halftone/template_command.h"
#include "apps/io/video.h"
#include "apps/optical_flow/kernels_command.h"

namespace {

using namespace ocellus;
using namespace ocellus::app;

/// CLI11 would only say that a subcommand is required, or that an argument was not expected.
void check_subcommands(const CLI::App& program, int argc, char** argv) {
  const CLI::App* level = &program;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> commands = level->get_subcommands({});
    if (commands.empty()) return;  // the rest are its arguments
    std::string names;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : commands) {
      if (command->get_name() == argv[i]) next = command;
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    if (next == nullptr) {
      throw InputError(fmt::format("unknown subcommand '{}'{}; there are: {}", argv[i],
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
      "FRAMES is an image (PNG, PGM, JPEG), a numbered pattern (f%02d.pgm), a video file,\n"
      "test: (a synthetic scene with known motion) or a camera (/dev/video0). A pattern has one\n"
      "%d, or %0Nd for N digits, in the name of the files or of a folder (d%d/x.pgm), and %% for "
      "a\n"
      "percent sign; so has -o, whose folders must be there. An image has at most 16384x16384\n"
      "pixels. A test scene is\n"
      "test:[WIDTHxHEIGHT][@FPS][,frames=N][,motion=affine|translate][,u=..][,v=..][,bits=8|16][,"
      "seed=N]. A video or a camera that gives no frame for --source-timeout seconds (10) is an\n"
      "error.\n"
      "Exit codes: 0 done, 1 the answer is no (a budget missed), 2 bad usage or input;\n"
      "130 after Ctrl-C, 143 after SIGTERM. One Ctrl-C ends latency, and the command of an\n"
      "operator, after the frame under way: latency reports the frames that it measured, the\n"
      "others end their video, and no unfinished file is left. A second Ctrl-C ends at once.");

  int exit_code = kDone;
  add_devices_command(program, exit_code);
  add_flow_command(program, exit_code);
  add_cell_commands(program, exit_code);
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

/// A standard stream that the parent has closed: else the first file that is opened would take its
/// place, and what is printed would go into that file. Reading and writing fail as before.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  handle_signals();
  int code = kBadInput;
  try {
    code = run(argc, argv);
  } catch (const std::exception& error) {
    tell(fmt::format("ocellus: {}\n", printable(error.what())));
  }
  // A full disk or a closed pipe must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    tell("ocellus: stdout could not be written\n");
    code = kBadInput;
  }
  if (const int signal = stop_signal()) end_by_signal(signal);
  if (source_left_behind()) std::_Exit(code);
  return code;
}
