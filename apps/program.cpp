#include "apps/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/io/video.h"
#include "ocellus/options.h"

namespace ocellus::app {
namespace {

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

/// Names an option of `command` that does not exist, and the nearest one. Returns "" if the
/// arguments that were not expected are no options. CLI11's own error lists arguments only.
std::string unknown_option(const CLI::App& command, const std::vector<std::string>& unexpected) {
  for (const std::string& argument : unexpected) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::size_t begin = argument.find_first_not_of('-');
    const std::string flag = argument.substr(0, argument.find('='));
    if (begin >= flag.size()) continue;
    NearestName nearest(std::string_view(flag).substr(begin));
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) nearest.consider(name);
    return nearest.found().empty()
               ? fmt::format("there is no option {}", flag)
               : fmt::format("there is no option {}; the nearest is --{}", flag, nearest.found());
  }
  return "";
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

/// Takes no memory.
void tell_parts(const char* name, const char* rest) noexcept {
  std::fputs(name, stderr);
  std::fputs(rest, stderr);
}

}  // namespace

int run_program(const char* name, const std::function<int()>& run) {
  keep_standard_streams();
  handle_signals();
  protect_inputs();
  int code = kBadInput;
  bool memory = true;
  try {
    code = run();
  } catch (const Stopped&) {  // the signal ends the process below
  } catch (const std::exception& error) {
    memory = tell_error(name, error);
  }
  // A full disk or a closed pipe must not be reported as success.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written && code != kBadInput) tell_parts(name, ": stdout could not be written\n");
  if (!written) code = kBadInput;
  if (const int signal = stop_signal()) end_by_signal(signal);
  // Without memory, exit handlers of libraries end the process by a signal.
  if (source_left_behind() || !memory) std::_Exit(code);
  return code;
}

bool tell_error(const char* name, const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) {
    try {
      tell(fmt::format("{}: {}\n", name, printable(error.what())));
      return true;
    } catch (const std::exception&) {
      // The text of the error needs memory that the system does not give.
    }
  }
  tell_parts(name, ": the system gave no memory\n");
  return false;
}

void set_up_program(CLI::App& program) {
  program.set_version_flag("--version", fmt::format("ocellus {}", version()),
                           "Print the version and exit");
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
}

void set_up_ocellus(CLI::App& program) {
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
      "  a scene of forms      known digits in printed boxes:\n"
      "                        test:form[@FPS][,size=WIDTHxHEIGHT][,frames=N][,ink=dark|light]\n"
      "                        [,sheet=FILE][,seed=N]\n"
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
}

int parse_program(CLI::App& program, int argc, char** argv, const int& exit_code, bool reports) {
  if (argc < 2) {
    if (reports) tell(program.help());
    return kBadInput;
  }
  check_subcommands(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    if (reports) program.exit(asked);
    return kDone;
  } catch (const CLI::ParseError& error) {
    std::string command = program.get_name();
    const CLI::App* app = &program;
    while (!app->get_subcommands().empty()) {
      app = app->get_subcommands().front();
      command += " " + app->get_name();
    }
    std::string text;
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
      text = unknown_option(*app, program.remaining(true));
    if (text.empty()) text = error.what();
    if (reports) {
      tell(fmt::format("{}: {}\nSee '{} --help'.\n", program.get_name(), printable(text), command));
    }
    return kBadInput;
  }
  return exit_code;
}

}  // namespace ocellus::app
