// The program ocellus-cluster under mpirun.
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/io/frames.h"
#include "apps/program_checks.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Lets run_program and RunningProgram start this program.
void choose_program(const std::string& path) {
  setenv("OCELLUS_PROGRAM", path.c_str(), 1);
}

/// The arguments of mpirun. A rank that uses a buffer of MPI wrongly ends by a signal.
std::vector<std::string> on_ranks(int ranks, const std::vector<std::string>& arguments) {
  choose_program(variable("OCELLUS_MPIRUN"));
  std::vector<std::string> all = {"-n", std::to_string(ranks)};
  if (const std::string checker = variable("OCELLUS_MPI_CHECKER_LIBRARY"); !checker.empty())
    all = plus(all, {"-x", "LD_PRELOAD=" + checker, "-x", "OCELLUS_MPI_CHECKER=abort"});
  return plus(plus(all, {variable("OCELLUS_CLUSTER")}), arguments);
}

json cluster_json(int ranks, const std::vector<std::string>& arguments) {
  return json_of(on_ranks(ranks, arguments));
}

/// Runs on these ranks. The root reports the mistake, and it alone.
void expect_cluster_error(int ranks, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& says) {
  const ChildResult result = run_program(on_ranks(ranks, arguments));
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  for (const std::string& text : says) {
    const std::size_t first = result.err.find(text);
    EXPECT_NE(first, std::string::npos) << "not said: " << text << "\n" << result.err;
    if (first == std::string::npos) continue;
    EXPECT_EQ(result.err.find(text, first + 1), std::string::npos) << "said twice: " << text;
  }
}

/// The processes of the cluster program that this test has started, by rank.
std::vector<pid_t> rank_processes(int rank, pid_t test = getpid()) {
  std::vector<pid_t> found;
  const std::string program = variable("OCELLUS_CLUSTER");
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  const std::string mark = "OCELLUS_TEST_PROCESS=" + std::to_string(test);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path() / "exe", ignored) != program) continue;
    const std::string environment = bytes_of(entry.path() / "environ") + '\0';
    if (environment.find(wanted + '\0') == std::string::npos) continue;
    if (environment.find(mark + '\0') == std::string::npos) continue;
    found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

int frames_of(const std::string& video) {
  const auto source = app::open_frames({video});
  app::InputFrame frame;
  int count = 0;
  while (source->next(frame)) ++count;
  return count;
}

const std::vector<std::string> kKernels = {"--taps", "7x7x5", "--window", "9", "--threads", "1"};

// Fails when a file of the cluster is not that of `ocellus flow`, byte for byte, when a field is
// missing, or when its number is wrong.
TEST(ClusterProgram, WritesTheFieldsOfOneProcess) {
  const TemporaryFolder folder;
  const std::string scene = "test:96x80,frames=11";
  choose_program(variable("OCELLUS_ONE_PROCESS"));
  json_of(plus({"flow", scene, "--method", "kernels", "-o", folder / "one_%02d.flo"}, kKernels));
  for (const int ranks : {1, 2, 3}) {
    const std::string name = "r" + std::to_string(ranks) + "_";
    const json report =
        cluster_json(ranks, plus({"flow", scene, "-o", folder / (name + "%02d.flo")}, kKernels));
    EXPECT_EQ(report["fields"], 7);
    EXPECT_EQ(report["ranks"].size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(files_in(folder / "", name).size(), 7u);
    // Five taps in time: two frames before and two after.
    for (int n = 2; n <= 8; ++n) {
      const std::string number = (n < 10 ? "0" : "") + std::to_string(n) + ".flo";
      const std::string one = bytes_of(folder / ("one_" + number));
      ASSERT_FALSE(one.empty());
      EXPECT_TRUE(bytes_of(folder / (name + number)) == one) << ranks << " ranks, frame " << n;
    }
  }
}

// Fails when the program needs mpirun for one rank, or when one file is not the last field.
TEST(ClusterProgram, OneRankNeedsNoMpirun) {
  const TemporaryFolder folder;
  choose_program(variable("OCELLUS_CLUSTER"));
  const json report =
      json_of(plus({"flow", "test:64x48,frames=8", "-o", folder / "last.flo"}, kKernels));
  EXPECT_EQ(report["frames"], 8);
  choose_program(variable("OCELLUS_ONE_PROCESS"));
  json_of(plus({"flow", "test:64x48,frames=8", "--method", "kernels", "-o", folder / "one.flo"},
               kKernels));
  EXPECT_TRUE(bytes_of(folder / "last.flo") == bytes_of(folder / "one.flo"));
}

// Fails when bytes are counted wrongly, or when a rank or a stage is missing in the trace.
TEST(ClusterProgram, ReportsRanksAndATrace) {
  const TemporaryFolder folder;
  const json report = cluster_json(
      2, plus({"flow", "test:64x48,frames=9", "--equal-regions", "--trace", folder / "t.json"},
              kKernels));
  // A window of 9 pixels reads 4 rows of the neighbor: 3 planes of 4 x 64 floats each way.
  EXPECT_EQ(report["halo_bytes"], 2 * 9 * 3 * 4 * 64 * 4);
  EXPECT_EQ(report["result_bytes"], 9 * 2 * 24 * 64 * 4);
  const json trace = json::parse(bytes_of(folder / "t.json"));
  int frames[2][5] = {};
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["dur"], 0.0);
    ++frames[event["pid"].get<int>()][event["tid"].get<int>()];
  }
  for (const int rank : {0, 1})
    for (const int stage : {1, 2, 3}) EXPECT_EQ(frames[rank][stage], 9) << rank << " " << stage;
  EXPECT_EQ(frames[0][0], 9) << "frames that the root has sent";
  EXPECT_EQ(frames[1][4], 9) << "results that rank 1 has sent";
  const ChildResult text =
      run_program(on_ranks(2, plus({"flow", "test:64x48,frames=9", "--ranks-report"}, kKernels)));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("halo kB"), std::string::npos) << text.out;
}

// Fails when a mistake is reported by every rank, hangs, or ends with 0.
TEST(ClusterProgram, ReportsMistakesOnce) {
  expect_cluster_error(2, {"flow"}, {"FRAMES or --source is required"});
  expect_cluster_error(2, {"flow", "missing.png"}, {"missing.png"});
  expect_cluster_error(2, {"flow", "test:64x48", "--method", "pyramid"},
                       {"a cluster needs kKernels"});
  expect_cluster_error(2, {"flow", "test:64x48", "--grid", "3x1"},
                       {"--grid is 3x1; its product must be the number of ranks, 2"});
  expect_cluster_error(2, {"flow", "test:64x48", "--grid", "2x2147483649"}, {"--grid is"});
  expect_cluster_error(2, {"flow", "test:64x48", "--grid", "two"}, {"COLUMNSxROWS"});
  expect_cluster_error(2, {"flow", "test:64x48", "--window", "8"}, {"--window"});
  expect_cluster_error(2, {"flow", "test:64x48", "-o", "x.txt"}, {"x.txt"});
  expect_cluster_error(2, {"flow", "test:64x48", "--bench-frames", "9"}, {"--bench, which is not"});
  expect_cluster_error(2, {"flow", "test:64x48,frames=3", "--taps", "5x5x5"}, {"needs 5"});
  expect_cluster_error(4, {"flow", "test:64x3,frames=9"}, {"1 x 4 regions do not fit in 64 x 3"});
  expect_cluster_error(2, {"flwo"}, {"unknown subcommand 'flwo'"});
}

// Fails when a rank whose options cannot be read ends alone, and the others wait for it.
TEST(ClusterProgram, ReportsAFileThatARankLacks) {
  const TemporaryFolder with, without;
  std::ofstream(with / "o.json") << R"({"window": 9})";
  choose_program(variable("OCELLUS_MPIRUN"));
  const std::vector<std::string> program = {variable("OCELLUS_CLUSTER"), "flow",
                                            "test:64x48,frames=21", "--config", "o.json"};
  const auto in = [&program](const TemporaryFolder& folder) {
    return plus({"-n", "1", "-wdir", folder / ""}, program);
  };
  ChildResult result = run_program(plus(plus(in(with), {":"}), in(with)));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  result = run_program(plus(plus(in(with), {":"}), in(without)));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("rank 1: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("o.json"), std::string::npos) << result.err;
}

// Fails when a row is missing, or when the ranks that wait take part in a measurement.
TEST(ClusterProgram, Bench) {
  const TemporaryFolder folder;
  const json report = cluster_json(2, plus({"flow", "test:96x64", "--bench", "--bench-frames", "5",
                                            "--bench-rounds", "2", "--plot", folder / "rates.svg"},
                                           kKernels));
  ASSERT_EQ(report["rows"].size(), 10u);
  EXPECT_EQ(report["rows"][0]["row"], "one process");
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["rounds"].size(), 2u);
    EXPECT_GT(row["frames_per_second"], 0.0);
  }
  EXPECT_NE(bytes_of(folder / "rates.svg").find("</svg>"), std::string::npos);
}

// Fails when the rates do not follow the slowest stage.
TEST(ClusterProgram, Model) {
  choose_program(variable("OCELLUS_CLUSTER"));
  const json report = json_of({"model", "--speed", "1e8", "--size", "1000x1000", "--link",
                               "1e9,1e-5", "--ranks", "64", "--fan-out", "0"});
  const json& points = report["series"][0]["points"];
  ASSERT_EQ(points.size(), 7u);
  EXPECT_DOUBLE_EQ(points[0]["frames_per_second"], 100.0);
  EXPECT_NEAR(points[1]["frames_per_second"], 200.0, 1.0);
  EXPECT_EQ(points[1]["limit"], "computation");
  // 8 bytes of each pixel of 63 regions, and 63 messages.
  EXPECT_EQ(points[6]["limit"], "results to the root");
  EXPECT_NEAR(points[6]["gather_ms"], 8.0 * 63 / 64 + 0.63, 0.01);
  // 3 x (15 + 15 + 20 taps and 20 past sums) x 4 bytes, a pixel and 3 results: 853 bytes of a
  // pixel.
  const json shared =
      json_of({"model", "--speed", "1e6", "--size", "1000x1000", "--link", "1e9,1e-5", "--ranks",
               "64", "--kernels", "per-pixel", "--memory", "8.53e9"});
  const json& bound = shared["series"][0]["points"];
  EXPECT_NEAR(bound[0]["frames_per_second"], 1.0, 1e-9);
  EXPECT_NEAR(bound[4]["frames_per_second"], 10.0, 1e-9);
  EXPECT_EQ(bound[4]["limit"], "memory");
  EXPECT_NEAR(bound[6]["memory_ms"], 100.0, 1e-9);
  expect_error({"model", "--speed", "1e8", "--link", "fast"}, {"--link is 'fast'"});
  expect_error({"model"}, {"--speed"});
}

class ClusterPipelines : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gstreamer()) GTEST_SKIP() << "built without GStreamer";
    setenv("OCELLUS_TEST_PROCESS", std::to_string(getpid()).c_str(), 1);
  }

  static std::string camera(const std::string& more = "") {
    return "videotestsrc is-live=true pattern=ball" + more +
           " ! video/x-raw,format=GRAY8,width=96,height=64,framerate=60/1";
  }
};

// Fails when frames of a pipeline are lost, or when a picture of a field does not arrive.
TEST_F(ClusterPipelines, ReadsAndFeedsPipelines) {
  const TemporaryFolder folder;
  const json report = cluster_json(
      2, plus({"flow", "--source",
               "videotestsrc num-buffers=15 ! video/x-raw,format=GRAY8,width=96,height=64",
               "--sink", "videoconvert ! pngenc ! multifilesink location=" + (folder / "o%d.png")},
              kKernels));
  EXPECT_EQ(report["frames"], 15);
  EXPECT_EQ(report["fields"], 11);
  EXPECT_EQ(report["dropped"], 0);
  EXPECT_EQ(files_in(folder / "", "o").size(), 11u);
}

// Fails when the frames of a camera that is too fast pile up, or are lost without being counted.
TEST_F(ClusterPipelines, CountsFramesOfACameraThatIsTooFast) {
  const json report =
      cluster_json(2, {"flow", "--source",
                       "videotestsrc is-live=true num-buffers=1600 ! "
                       "video/x-raw,format=GRAY8,width=320,height=240,framerate=800/1",
                       "--kernels", "per-pixel", "--taps", "15x15x20", "--threads", "1"});
  EXPECT_GT(report["dropped"], 0);
  EXPECT_EQ(report["dropped"].get<int>() + report["frames"].get<int>(), 1600);
}

// Fails when a source that breaks loses the fields before, hangs, or ends with 0.
TEST_F(ClusterPipelines, KeepsTheFieldsBeforeABrokenSource) {
  const TemporaryFolder folder;
  const ChildResult result = run_program(on_ranks(
      2,
      plus({"flow", "--source",
            "videotestsrc ! video/x-raw,format=I420,width=96,height=64 ! identity error-after=30",
            "-o", folder / "o.webm"},
           kKernels)));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("damaged after frame"), std::string::npos) << result.err;
  EXPECT_GT(frames_of(folder / "o.webm"), 15);
}

// Fails when a sink that breaks is not noticed, or the ranks run on.
TEST_F(ClusterPipelines, EndsWhenTheSinkBreaks) {
  const ChildResult result = run_program(on_ranks(
      2,
      plus({"flow", "--source", camera(), "--sink", "identity error-after=5 ! fakesink sync=false"},
           kKernels)));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("cannot be written"), std::string::npos) << result.err;
  EXPECT_TRUE(rank_processes(0).empty());
  EXPECT_TRUE(rank_processes(1).empty());
}

// Fails when a rank that is killed leaves a hanging or an orphaned process, takes the fields of the
// finished frames with it, or is not named.
TEST_F(ClusterPipelines, SurvivesTheDeathOfARankInOrder) {
  const TemporaryFolder folder;
  const std::string video = folder / "o.webm";
  for (const int victim : {1, 2}) {
    RunningProgram cluster(
        on_ranks(3, plus({"flow", "--source", camera(), "-o", video, "--fan-out", "1"}, kKernels)));
    std::vector<pid_t> processes;
    ASSERT_TRUE(wait_until([&] {
      processes = rank_processes(victim);
      return !processes.empty();
    }));
    // Long enough for many fields.
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    const auto begin = std::chrono::steady_clock::now();
    for (const pid_t process : processes) kill(process, SIGKILL);
    const ChildResult result = cluster.wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_NE(result.exit_code, 0);
    EXPECT_LT(took.count(), 5.0);
    EXPECT_NE(result.err.find("rank " + std::to_string(victim)), std::string::npos) << result.err;
    for (const int rank : {0, 1, 2}) EXPECT_TRUE(rank_processes(rank).empty()) << rank;
    ASSERT_TRUE(std::filesystem::exists(video)) << result.err;
    EXPECT_GT(frames_of(video), 10);
    EXPECT_EQ(files_in(folder / "", "").size(), 1u) << "only the finished video";
    std::filesystem::remove(video);
  }
}

}  // namespace
}  // namespace ocellus::test
