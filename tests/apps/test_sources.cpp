// Sources that give no frames: the program waits for a limited time, and reacts to signals.
#include <fcntl.h>
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "apps/common/input_error.h"
#include "apps/common/threads.h"
#include "apps/io/frames.h"
#include "apps/io/video.h"
#include "program_checks.h"
#include "raw_video.h"
#include "support/refused_threads.h"

namespace ocellus::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The message of the InputError that `call` throws, or an empty text.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const app::InputError& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// A file whose decoder stops after some frames (stalled_plugin.cpp).
class Stalled : public testing::Test {
 protected:
  std::string file(const std::string& how, int frames) {
    const std::string path = folder_ / (how + std::to_string(frames) + ".stalled");
    std::ofstream(path) << "STALLED " << how << " " << frames << " " << mark() << "\n";
    return path;
  }
  /// A time limit that is long enough for the given frames on a busy machine, too.
  static const char* timeout_of(int frames) { return frames == 0 ? "0.3" : "2"; }
  /// This file exists once the decoder has output all of its frames.
  std::string mark() const { return folder_ / "mark"; }

  TemporaryFolder folder_;
};

/// Example failure: a command waits forever for the first or for the next frame.
// Promises: PRG-003.
TEST_F(Stalled, EveryCommandThatReadsFramesTimesOut) {
  const std::vector<std::vector<std::string>> commands = {
      {"flow"},
      {"halftone"},
      {"cnn", "--template", "erosion"},
      {"latency", "--frames", "10", "--input"},
      {"bench", "flow", "--backend", "cpu", "--input"},
      {"bench", "halftone", "--backend", "cpu", "--input"}};
  for (const auto& command : commands) {
    for (const int frames : {0, 3}) {
      if (frames == 0 && command.front() != "flow" && command.front() != "halftone") continue;
      std::vector<std::string> arguments = command;
      const std::string path = file("waits", frames);
      arguments.insert(arguments.end(), {path, "--source-timeout", timeout_of(frames)});
      if (command.front() == "flow") arguments.insert(arguments.end(), {"--preset", "fast"});
      const Clock::time_point begin = Clock::now();
      const ChildResult result = run_program(arguments);
      EXPECT_LT(seconds_since(begin), 20.0) << command.back();
      EXPECT_EQ(result.exit_code, 2) << command.back() << ": " << result.out << result.err;
      expect_contains(result.err, {path + ": gave no frame within " + timeout_of(frames) + " s",
                                   "--source-timeout SECONDS"});
      EXPECT_EQ(result.err.find(" after frame 2") != std::string::npos, frames == 3)
          << command.back() << ": " << result.err;
    }
  }
}

/// Example failure: the program waits forever for a decoder that does not stop with its pipeline,
/// or for one that drops the end of the stream.
// Promises: PRG-003.
TEST_F(Stalled, NoFaultyDecoderBlocksTheProgram) {
  for (const char* how : {"is_deaf", "swallows", "spins"}) {
    for (const int frames : {0, 3}) {
      if (frames == 3 && std::string(how) == "spins") continue;
      const std::string path = file(how, frames);
      const Clock::time_point begin = Clock::now();
      const ChildResult result = run_program(
          {"halftone", path, "--source-timeout", timeout_of(frames), "-o", folder_ / "o%d.png"});
      EXPECT_LT(seconds_since(begin), 20.0) << how;
      EXPECT_EQ(result.exit_code, 2) << how << result.out << result.err;
      expect_contains(result.err, {std::string("gave no frame within ") + timeout_of(frames)});
    }
  }
}

/// Example failure: after a signal, the wait for the next frame continues to its end. The limit of
/// time holds on a busy machine, too.
// Promises: PRG-003.
TEST_F(Stalled, ASignalEndsTheWait) {
  for (const char* how : {"waits", "is_deaf", "spins"}) {
    for (const int frames : {0, 3}) {
      for (const int signal : {SIGINT, SIGTERM}) {
        std::filesystem::remove(mark());
        RunningProgram program(
            {"halftone", file(how, frames), "--source-timeout", "600", "-o", folder_ / "o%d.png"});
        ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(mark()); }));
        ASSERT_TRUE(
            wait_until([&] { return frames == 0 || std::filesystem::exists(folder_ / "o2.png"); }));
        const Clock::time_point begin = Clock::now();
        program.send(signal);
        const ChildResult result = program.wait();
        EXPECT_LT(seconds_since(begin), 5.0) << how << " after " << frames << " frames";
        EXPECT_EQ(result.exit_code, 128 + signal) << how << frames << result.err;
        if (frames > 0) expect_contains(result.err, {"interrupted after 3 frames of "});
        for (int i = 0; i < frames; ++i)
          std::filesystem::remove(folder_ / ("o" + std::to_string(i) + ".png"));
      }
    }
  }
}

/// Example failure: after an interruption, flow reports that the source has too few frames.
TEST_F(Stalled, FlowReportsTheInterruption) {
  for (const int frames : {1, 3}) {
    std::filesystem::remove(mark());
    RunningProgram program(
        {"flow", file("waits", frames), "--method", "kernels", "-o", folder_ / "o%d.flo"});
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(mark()); }));
    // The program must have read the frames. Otherwise the signal ends it too early.
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    program.send(SIGINT);
    const ChildResult result = program.wait();
    EXPECT_EQ(result.exit_code, 128 + SIGINT);
    expect_contains(result.err, {"interrupted after 0 frames of "});
    EXPECT_EQ(result.err.find("needs"), std::string::npos) << result.err;
  }
}

double cpu_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Example failure: the program polls for the next frame without a pause.
TEST_F(Stalled, WaitingTakesNoCpuTime) {
  const auto cpu_seconds = [&](const char* timeout) {
    const double before = cpu_seconds_of_children();
    EXPECT_EQ(run_program({"halftone", file("waits", 0), "--source-timeout", timeout}).exit_code,
              2);
    return cpu_seconds_of_children() - before;
  };
  const double start = cpu_seconds("0.1");
  EXPECT_LT(cpu_seconds("2.1") - start, 0.7) << "of 2 s";
}

/// Example failure: an invalid limit is accepted, or a limit without effect is accepted.
TEST_F(Stalled, TheTimeoutIsChecked) {
  const std::string path = file("waits", 0);
  for (const char* bad : {"0", "-1", "nan", "inf", "soon", "1e9"})
    expect_error({"halftone", path, "--source-timeout", bad}, {"--source-timeout"});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"latency"}, {"bench", "flow"}, {"bench", "halftone"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--source-timeout", "1"});
    expect_error(arguments, {"--source-timeout has no meaning here", "--input"});
  }
}

/// Example failure: the limit does not apply to a file whose name contains a percent sign.
TEST_F(Stalled, TheTimeoutAppliesToEveryName) {
  const std::string path = folder_ / "w%2.stalled";
  std::filesystem::rename(file("waits", 0), path);
  expect_error({"halftone", folder_ / "w%%2.stalled", "--source-timeout", "0.3"},
               {path + ": gave no frame within 0.3 s"});
}

/// A GIF of a single gray with this number of frames. Codes have 8 bits, and the table is cleared
/// before they grow.
std::string gif_of(int frames) {
  constexpr int kSide = 8;
  std::string gif = "GIF89a";
  gif += {kSide, 0, kSide, 0, '\xe6', 0, 0};
  for (int i = 0; i < 128 * 3; ++i) gif += static_cast<char>(i / 3 * 2);
  for (int f = 0; f < frames; ++f) {
    gif += {'\x21', '\xf9', 4, 0, 10, 0, 0, 0};
    gif += {'\x2c', 0, 0, 0, 0, kSide, 0, kSide, 0, 0, 7};
    gif += static_cast<char>(kSide * kSide + 2);
    gif += '\x80';
    gif.append(kSide * kSide, static_cast<char>(60 + f));
    gif += '\x81';
    gif += '\0';
  }
  return gif + ';';
}

/// Example failure: the program waits until --source-timeout for the end of a GIF, which
/// GStreamer's libav plugin does not detect.
TEST_F(Stalled, NamesGifsAtOnce) {
  const std::string path = folder_ / "a.gif";
  std::ofstream(path, std::ios::binary) << gif_of(3);
  const Clock::time_point begin = Clock::now();
  expect_error({"halftone", path, "--source-timeout", "600", "-o", folder_ / "o%d.png"},
               {path + ": a GIF image, which is not read"});
  EXPECT_LT(seconds_since(begin), 60.0);
}

// ---- tests without the program

/// A named pipe.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  /// Releases a reader that still waits to open it.
  ~Fifo() {
    const int writer = open(path_.c_str(), O_WRONLY | O_NONBLOCK);
    if (writer >= 0) close(writer);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr app::SourceOptions kImpatient{0.3};

/// Example failure: a source that cannot be opened blocks the calling thread.
TEST(Sources, ASourceThatDoesNotOpenTimesOut) {
  const TemporaryFolder folder;
  const Fifo fifo(folder / "v.mkv");
  const Clock::time_point begin = Clock::now();
  const std::string error = error_of([&] { app::open_video(fifo.path(), kImpatient); });
  EXPECT_LT(seconds_since(begin), 10.0);
  expect_contains(error, {fifo.path() + ": gave no frame within 0.3 s", "--source-timeout"});
  EXPECT_TRUE(app::source_left_behind());
}

/// Example failure: the reader waits forever for a source that stops in the middle.
TEST(Sources, ASourceThatStopsTimesOut) {
  const TemporaryFolder folder;
  constexpr int kFrames = 40;
  {
    RawVideo raw(folder / "whole.mkv");
    for (int i = 0; i < kFrames; ++i) raw.add("2:4:0:0", [i](int x, int) { return x + i; });
  }
  const std::string bytes = bytes_of(folder / "whole.mkv");
  const Fifo fifo(folder / "v.mkv");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    // Opened for reading, too, because GStreamer opens the file twice, and the data written in
    // between must be kept.
    const int file = open(fifo.path().c_str(), O_RDWR | O_NONBLOCK);
    const std::size_t half = bytes.size() / 2;
    for (std::size_t at = 0; !done;) {
      const ssize_t count = at < half ? write(file, bytes.data() + at, half - at) : 0;
      if (count > 0)
        at += static_cast<std::size_t>(count);
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    close(file);
  });
  int frames = 0;
  const std::string error = error_of([&] {
    // Long enough for the first frame on a busy machine.
    const auto source = app::open_video(fifo.path(), {3.0});
    app::InputFrame frame;
    while (source->next(frame)) ++frames;
  });
  done = true;
  writer.join();
  EXPECT_GT(frames, 0) << error;
  EXPECT_LT(frames, kFrames);
  expect_contains(error, {fifo.path() + ": gave no frame within 3 s after frame " +
                          std::to_string(frames - 1)});
}

/// Example failure: a pipe among numbered images is opened, which waits forever for its writer.
TEST(Sources, APatternRefusesPipes) {
  const TemporaryFolder folder;
  const Fifo fifo(folder / "f0.pgm");
  expect_contains(error_of([&] { app::open_frames({folder / "f%d.pgm"}); }),
                  {fifo.path() + ": is a device or a pipe"});
}

/// Example failure: a thread that cannot be started ends the process, others have begun the work
/// without it, or an error of the work is lost.
TEST(Threads, AllStartOrNone) {
  for (const int given : {0, 1, 3}) {
    std::atomic<int> begun{0};
    threads_left = given;
    const std::string error = error_of([&] { app::run_on_threads(4, [&](int) { ++begun; }); });
    threads_left = kNoThreadLimit;
    expect_contains(error, {"thread " + std::to_string(given + 1) + " of 4 cannot be started"});
    EXPECT_EQ(begun, 0);
  }
  std::array<std::atomic<int>, 4> calls{};
  app::run_on_threads(4, [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_EQ(error_of([] {
              app::run_on_threads(3, [](int thread) {
                if (thread == 1) throw app::InputError("the frame cannot be drawn");
              });
            }),
            "the frame cannot be drawn");
  threads_left = 0;
  const std::string error =
      error_of([] { app::start_thread("the thread that reads frames", [] {}).join(); });
  threads_left = kNoThreadLimit;
  expect_contains(error, {"the thread that reads frames cannot be started"});
}

/// Example failure: a thread that cannot be started is mistaken for a source that starts late, or
/// ends the process.
TEST(Sources, AThreadThatCannotBeStartedIsAnError) {
  const TemporaryFolder folder;
  {
    RawVideo raw(folder / "v.mkv");
    raw.add("2:4:0:0", [](int, int) { return 100; });
  }
  // The first thread is the reader's own. The others are GStreamer's. It may reuse one that has
  // finished its work. It reports some missing threads as an error of the stream, and is silent
  // about others.
  for (const int threads : {0, 1, 2, 3}) {
    const Clock::time_point begin = Clock::now();
    threads_left = threads;
    const std::string error = error_of([&] { app::open_video(folder / "v.mkv", kImpatient); });
    threads_left = kNoThreadLimit;
    EXPECT_LT(seconds_since(begin), 10.0);
    if (threads == 0) expect_contains(error, {folder / "v.mkv", "its thread cannot be started"});
    if (threads > 0 && !error.empty()) {
      EXPECT_TRUE(error.find("gave no frame within 0.3 s") != std::string::npos ||
                  error.find("Internal data stream error") != std::string::npos)
          << error;
    }
  }
  EXPECT_EQ(error_of([&] { app::open_video(folder / "v.mkv", {}); }), "");
}

}  // namespace
}  // namespace ocellus::test
