// The report of a run: each frame at once, one object or a line for each frame, in constant memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/io/flow_file.h"
#include "child_process.h"
#include "support/files.h"

extern char** environ;

namespace ocellus::test {
namespace {

using nlohmann::json;

/// The arguments of a command behind its input.
struct Command {
  const char* name;
  std::vector<std::string> arguments;
};

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"digits", {}},
      {"cortex", {}},
      {"halftone", {}},
      {"flow", {"--objects", "8"}},
      {"cnn", {"--template", "edge"}},
  };
  return all;
}

/// Gray values that differ from frame to frame.
std::string pixels_of(int number, int side) {
  std::string pixels(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<char>((i * i * 7 + static_cast<std::size_t>(number) * 31) % 251);
  return pixels;
}

/// The program with pipes to its standard input and from its standard output.
class PipedProgram {
 public:
  explicit PipedProgram(std::vector<std::string> arguments) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const std::string path = program_path();
    arguments.insert(arguments.begin(), path);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (posix_spawn(&child_, path.c_str(), &actions, nullptr, argv.data(), environ) != 0)
      std::abort();
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  ~PipedProgram() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close_input();
    close(out_);
  }
  PipedProgram(const PipedProgram&) = delete;
  PipedProgram& operator=(const PipedProgram&) = delete;

  void write(const std::string& bytes) const {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t wrote = ::write(in_, bytes.data() + at, bytes.size() - at);
      ASSERT_GT(wrote, 0);
      at += static_cast<std::size_t>(wrote);
    }
  }
  /// Reads until the output has this text, for at most 30 s.
  bool await(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (output_.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end || !read_some(1000)) return false;
    }
    return true;
  }
  const std::string& output() const { return output_; }
  /// Ends the input. Returns the exit code.
  int finish() {
    close_input();
    while (read_some(30000)) {
    }
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  void close_input() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  /// False at the end. True also if nothing came in time.
  bool read_some(int timeout_ms) {
    pollfd waits{out_, POLLIN, 0};
    if (poll(&waits, 1, timeout_ms) <= 0) return true;
    std::array<char, 4096> bytes;
    const ssize_t count = read(out_, bytes.data(), bytes.size());
    if (count <= 0) return false;
    output_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  pid_t child_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string output_;
};

std::string pgm(int number, int side) {
  const std::string size = std::to_string(side);
  return "P5\n" + size + " " + size + "\n255\n" + pixels_of(number, side);
}

// Example failure: a frame's report waits in a buffer until the next frames or the end have come,
// so that a user of a camera sees nothing.
// Promises: PRG-002.
TEST(Reports, AFrameIsToldBeforeTheNextOneComes) {
  for (const Command& command : commands()) {
    // Flow needs later frames for the first ones.
    const int behind = command.name == std::string("flow") ? 8 : 0;
    for (const char* form : {"--json", "--json-lines"}) {
      std::vector<std::string> arguments = {command.name, "-", form};
      arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
      PipedProgram program(arguments);
      for (int frame = 0; frame < 4 + behind; ++frame) {
        program.write(pgm(frame, 32));
        if (frame < behind) continue;
        const std::string number = std::to_string(frame - behind);
        const bool json_lines = form == std::string("--json-lines");
        ASSERT_TRUE(
            program.await(json_lines ? "{\"frame\":" + number + "," : "\"frame\": " + number + ","))
            << command.name << " " << form << ", frame " << number << ": " << program.output();
      }
      EXPECT_EQ(program.finish(), 0) << command.name;
    }
  }
}

// Example failure: the text of a frame comes at the end.
// Promises: PRG-002.
TEST(Reports, TextIsToldBeforeTheNextFrameComes) {
  PipedProgram program({"digits", "-", "--fields", "0,0,32,32"});
  for (int frame = 0; frame < 3; ++frame) {
    program.write(pgm(frame, 32));
    ASSERT_TRUE(program.await("frame " + std::to_string(frame) + ", field 0: "))
        << program.output();
  }
  EXPECT_EQ(program.finish(), 0);
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

/// Times differ from run to run.
void remove_times(json& report) {
  for (auto at = report.begin(); at != report.end();) {
    const std::string& name = at.key();
    const bool time = name.size() > 3 && name.compare(name.size() - 3, 3, "_ms") == 0;
    at = time || name == "ms" || name == "wall_clock_ns" ? report.erase(at) : std::next(at);
  }
}

// Example failure: one of the two forms lacks a member, or a comma between two parts.
TEST(Reports, BothFormsSayTheSame) {
  for (const Command& command : commands()) {
    std::vector<std::string> arguments = {command.name, "test:", "--limit", "14", "--json"};
    arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
    const ChildResult whole = run_program(arguments);
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    arguments[4] = "--json-lines";
    const ChildResult lines = run_program(arguments);
    ASSERT_EQ(lines.exit_code, 0) << lines.err;

    json report = json::parse(whole.out);
    std::vector<json> parts = lines_of(lines.out);
    json frames = std::move(report["frames"]);
    report.erase("frames");
    ASSERT_EQ(parts.size(), frames.size() + 1) << command.name;
    EXPECT_GT(frames.size(), 10u);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      remove_times(frames[i]);
      remove_times(parts[i]);
      EXPECT_EQ(frames[i], parts[i]) << command.name;
    }
    remove_times(report);
    remove_times(parts.back());
    EXPECT_EQ(report, parts.back()) << command.name;
    EXPECT_TRUE(report.contains("config")) << command.name;
    EXPECT_EQ(report["frames_read"], 14) << command.name;
  }
}

// Example failure: both forms are mixed.
TEST(Reports, TheFormsExcludeEachOther) {
  const ChildResult result = run_program({"digits", "test:digits", "--json", "--json-lines"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--json"), std::string::npos) << result.err;
}

// Example failure: the command works on for hours although its report goes nowhere.
TEST(Reports, AFullDiskEndsTheRun) {
  for (const char* form : {"--json", "--json-lines", "--threads=1"}) {
    const std::string line = "'" + program_path() + "' digits test:digits,frames=100000 " + form +
                             " > /dev/full 2> /dev/null";
    const int status = std::system(line.c_str());  // NOLINT(cert-env33-c)
    ASSERT_TRUE(WIFEXITED(status)) << form;
    EXPECT_EQ(WEXITSTATUS(status), 2) << form;
  }
}

// Example failure: a reader that goes away takes along what the frames have taught.
// Promises: PRG-002.
TEST(Reports, AClosedPipeKeepsWhatWasLearned) {
  const TemporaryFolder folder;
  const std::string model = folder / "learned.ocellus";
  const std::string line = "'" + program_path() + "' cortex test:28x28,frames=1000 --learn " +
                           "--save-model '" + model + "' --json-lines 2> /dev/null | head -n 1 " +
                           "> /dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0);  // NOLINT(cert-env33-c)
  EXPECT_TRUE(std::ifstream(model).good());
}

// Example failure: `filter` gives other values than a constant picture has, writes another plane
// than the one of --plane, or takes a plane that is not there.
TEST(Filter, DerivativesOfAMovingPicture) {
  const TemporaryFolder folder;
  const std::string file = folder / "dx_%02d.pfm";
  const ChildResult result = run_program({"filter", "test:48x32,frames=24,motion=translate,u=1,v=0",
                                          "--taps", "5x5x4", "--plane", "0", "-o", file, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["frames"].size(), 24u);
  EXPECT_EQ(report["support_frames"], 4);
  const json& first = report["frames"].front();
  const json& last = report["frames"].back();
  EXPECT_EQ(first["warming_up"], true);
  EXPECT_EQ(last["warming_up"], false);
  // A picture that moves by one pixel a frame along x: the derivative along t (2) is minus that
  // along x (0).
  const double dx = last["planes"]["0"]["rms"];
  EXPECT_GT(dx, 0.1);
  EXPECT_NEAR(last["planes"]["2"]["rms"].get<double>() / dx, 1.0, 0.1);
  const app::FloatPlane plane = app::read_pfm(folder / "dx_23.pfm");
  EXPECT_EQ(plane.size, (ImageSize{48, 32}));
  double squares = 0.0;
  for (const float value : plane.values) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(std::sqrt(squares / (48.0 * 32.0)), dx, 1e-6 * dx);

  const ChildResult unknown = run_program({"filter", "test:", "--plane", "9", "-o", file});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("--plane 9: there is no such plane; there are 0, 1, 2"),
            std::string::npos)
      << unknown.err;
  const ChildResult video = run_program({"filter", "test:", "-o", folder / "a.webm"});
  EXPECT_EQ(video.exit_code, 2);
  EXPECT_NE(video.err.find("it must end in .pfm\n"), std::string::npos) << video.err;
}

/// The most memory that a command takes for `frames` frames of a video.
std::size_t memory_of(const Command& command, const std::string& clip, int frames) {
  std::vector<std::string> arguments = {command.name, clip, "--limit",     std::to_string(frames),
                                        "--threads",  "1",  "--json-lines"};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  malloc_trim(0);  // the peak of a child begins with what this process has at fork()
  const ChildResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::size_t last = result.out.rfind('\n', result.out.size() - 2);
  EXPECT_EQ(json::parse(result.out.substr(last + 1))["frames_read"], frames);
  return result.peak_memory;
}

// A frame's report was 0.1 to 2.9 kB, so the growth was above 1.6 MB in the smaller test.
void expect_constant_memory(int frames, int side) {
  const TemporaryFolder folder;
  const std::string clip = folder / "clip.y4m";
  {
    std::ofstream file(clip, std::ios::binary);
    const std::string size = std::to_string(side);
    file << "YUV4MPEG2 W" << size << " H" << size << " F30:1 Ip A1:1 Cmono\n";
    for (int frame = 0; frame < frames; ++frame) file << "FRAME\n" << pixels_of(frame, side);
  }
  for (const Command& command : commands()) {
    const std::size_t few = memory_of(command, clip, frames / 8);
    const std::size_t all = memory_of(command, clip, frames);
    EXPECT_LT(all, few + (std::size_t{1} << 20)) << command.name;
  }
}

// Example failure: something is kept for each frame.
// Promises: MEM-007.
TEST(Reports, MemoryDoesNotGrow) {
  expect_constant_memory(16000, 16);
}
// Promises: MEM-007.
TEST(SlowReports, MemoryDoesNotGrow) {
  expect_constant_memory(300000, 16);
}

}  // namespace
}  // namespace ocellus::test
