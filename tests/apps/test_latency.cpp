// `ocellus latency`: its JSON and exit code, jitter, the plot, and the data of a GPU from its
// management library.
#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/measure/gpu_meter.h"
#include "apps/measure/latency_report.h"
#include "apps/measure/latency_run.h"
#include "apps/measure/machine.h"
#include "apps/measure/miss_trace.h"
#include "apps/measure/named_files.h"
#include "apps/measure/svg_plot.h"
#include "apps/measure/svg_shapes.h"
#include "child_process.h"
#include "support/run.h"

// A fake NVML. GpuMeter gets an empty library name, so that the dynamic loader searches this
// program.
namespace {
struct FakeGpu {
  int init = 0;
  int find = 0;
  int power = 0;
  int field = 0;
  unsigned application_sm = 1980;
  unsigned long long reasons = 0;
  std::atomic<int> reads{0};
  std::atomic<unsigned long long> energy_mj{1000};
};
FakeGpu fake;
constexpr const char* kFakeBus = "0000:3b:00.0";

struct FakeField {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  int result;
  unsigned long long value;
};
}  // namespace

extern "C" {
int nvmlInit_v2() {
  return fake.init;
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int result) {
  return result == 3 ? "Not Supported" : result == 6 ? "Not Found" : "Another Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.0.1", length);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = &fake;
  return std::strcmp(bus, kFakeBus) == 0 ? fake.find : 6;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 100'000;
  return fake.power;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = fake.energy_mj;
  return fake.power;
}
int nvmlDeviceGetFieldValues(void*, int count, FakeField* values) {
  for (int i = 0; i < count; ++i) {
    values[i].result = values[i].field == 186 ? fake.field : 3;
    values[i].type = 1;
    values[i].value = 250'000u + 50'000u * static_cast<unsigned>(fake.reads.load() % 2);
  }
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  // Type 1 is the clock of the multiprocessors. It rises after the first reading.
  *mhz = type == 1 ? (fake.reads++ == 0 ? 345 : 1980) : 3201;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetApplicationsClock(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? fake.application_sm : 3201;
  return 0;
}
int nvmlDeviceGetDefaultApplicationsClock(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = fake.reasons;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
// nvmlDeviceGetPersistenceMode is missing, as in an older library.
}

namespace ocellus::test {
namespace {

using app::GpuActivity;
using app::GpuMeter;
using app::GpuSampler;
using nlohmann::json;

/// "cpu", or the value of OCELLUS_TEST_BACKEND.
std::string backend() {
  const char* const asked = std::getenv("OCELLUS_TEST_BACKEND");
  return asked != nullptr ? asked : "cpu";
}

json latency(const std::vector<std::string>& arguments, int expected_exit = 0) {
  std::vector<std::string> all = {"latency", "--backend", backend(), "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ChildResult result = run_program(all);
  EXPECT_EQ(result.exit_code, expected_exit) << result.err;
  const json object = json::parse(result.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << result.out << result.err;
  return object;
}

class Latency : public testing::Test {
 protected:
  void SetUp() override {
    if (backend() != "cpu") skip_without_device();
  }
};

// Example failure: a key that scripts and the table of machines read is missing or has a wrong
// unit, or the parts of a frame's time exceed the total.
TEST_F(Latency, JsonIsCompleteAndConsistent) {
  const json report = latency({"--size", "64x48", "--fps", "200", "--frames", "60", "--budget-ms",
                               "10000", "--warm-up", "7", "--memory", "all"});
  for (const char* key : {"version",      "pipeline",
                          "input",        "input_frames",
                          "size",         "pace",
                          "newest",       "fps",
                          "warm_up",      "interrupted",
                          "budget_ms",    "budget_percentile",
                          "backend",      "device",
                          "workers",      "simd",
                          "date",         "host",
                          "cpu_affinity", "realtime_priority",
                          "workers_only", "memory_locked",
                          "zero_copy",    "machine",
                          "gpu",          "config",
                          "configs",      "delay_frames",
                          "runs",         "ok"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["backend"], backend());
  EXPECT_EQ(report["pace"], "camera");
  EXPECT_EQ(report["warm_up"], 7);
  for (const char* key :
       {"cpu", "cpus", "governor", "virtual_machine", "realtime_kernel", "system",
        "memory_limit_bytes", "clock_source", "kernel_version", "kernel_command_line"})
    EXPECT_TRUE(report["machine"].contains(key)) << key;

  std::vector<std::string> memory = {"host"};
  if (backend() != "cpu") memory = {"host", "pinned", "device"};
  ASSERT_EQ(report["runs"].size(), memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const json& run = report["runs"][i];
    EXPECT_EQ(run["memory"], memory[i]);
    EXPECT_EQ(run["frames"], 60);
    EXPECT_EQ(run["misses"], 0);
    EXPECT_EQ(run["ok"], true);
    for (const char* key :
         {"latency_ms", "wake_ms", "work_ms", "queue_ms", "copy_ms", "compute_ms"}) {
      const json& h = run[key];
      EXPECT_LE(h["p50"], h["p90"]) << key;
      EXPECT_LE(h["p90"].get<double>(), h["max"].get<double>() * 1.001) << key;
      // 60 frames do not tell them.
      EXPECT_TRUE(h["p99"].is_null()) << key;
      EXPECT_TRUE(h["p99.9"].is_null()) << key;
    }
    const auto mean = [&](const char* key) { return run[key]["mean"].get<double>(); };
    EXPECT_NEAR(mean("latency_ms"), mean("wake_ms") + mean("work_ms"), 1e-6);
    EXPECT_LE(mean("queue_ms") + mean("copy_ms") + mean("compute_ms"),
              mean("work_ms") * 1.02 + 0.01);
    // 60 frames at intervals of 5 ms.
    EXPECT_NEAR(run["jitter_ms"]["mean_interval"].get<double>(), 5.0, 2.0);
    EXPECT_GE(run["jitter_ms"]["spread"], run["jitter_ms"]["deviation"]);
    EXPECT_GT(run["seconds"], 0.29);
    EXPECT_NEAR(run["frames_per_s"].get<double>(), 60.0 / run["seconds"].get<double>(), 1e-6);
    EXPECT_GT(run["footprint"]["host"].get<double>() + run["footprint"]["device"].get<double>(),
              0.0);
    const json& gpu = run["gpu_activity"];
    EXPECT_NE(gpu["power_w"].is_null(), gpu.contains("mj_per_frame"));
    EXPECT_EQ(gpu["power_w"].is_null(), gpu.contains("power_missing"));
    if (gpu.contains("power_missing")) {
      EXPECT_NE(gpu["power_missing"], "");
    } else {
      EXPECT_GT(gpu["power_w"]["mean"], 5.0);
    }
  }
  // The figures of the first run are repeated at the top level.
  EXPECT_EQ(report["memory"], "host");
  EXPECT_EQ(report["latency_ms"], report["runs"][0]["latency_ms"]);
  if (backend() == "cpu") {
    EXPECT_TRUE(report["gpu"].is_null());
    EXPECT_EQ(report["runs"][0]["footprint"]["device"], 0);
  } else {
    for (const char* key : {"device", "name", "bus", "compute_capability", "memory_bytes", "driver",
                            "cuda_driver", "cuda_runtime"})
      EXPECT_TRUE(report["gpu"].contains(key)) << key;
    EXPECT_NE(report["gpu"].contains("clock_mode"), report["gpu"].contains("nvml_missing"));
    EXPECT_GT(report["runs"][2]["footprint"]["device"], 0);
    EXPECT_GT(report["runs"][1]["footprint"]["pinned"],
              report["runs"][2]["footprint"]["pinned"].get<std::int64_t>());
  }
}

// Example failure: the largest of a few frames is printed as a percentile that they do not tell.
TEST_F(Latency, PercentilesNeedEnoughFrames) {
  const std::vector<std::string> run = {"--size",   "32x32", "--back-to-back", "--memory", "host",
                                        "--frames", "1000"};
  const json many = latency(run);
  for (const char* key : {"latency_ms", "work_ms"}) {
    EXPECT_LE(many[key]["p99"], many[key]["p99.9"]) << key;
    EXPECT_LE(many[key]["p99.9"].get<double>(), many[key]["max"].get<double>() * 1.001) << key;
  }
  const ChildResult text = run_program({"latency", "--backend", backend(), "--size", "32x32",
                                        "--back-to-back", "--memory", "host", "--frames", "100"});
  EXPECT_NE(text.out.find("100 frames measured; p99.9 needs 1000 frames"), std::string::npos)
      << text.out;
  EXPECT_EQ(text.out.find("p99 needs"), std::string::npos) << text.out;
}

// Example failure: a bound is an estimate and not a bound, or its rank is wrong by one.
TEST(Bound, RanksAreThoseOfTheBinomialDistribution) {
  const auto rank = [](std::int64_t frames, double percent) {
    return app::bound_rank(frames, percent).value_or(0);
  };
  // Without a bound the largest time is exceeded in more than 5 % of the runs: 0.99^298 = 0.0500...
  EXPECT_EQ(rank(298, 99.0), 0);
  EXPECT_EQ(rank(299, 99.0), 299);
  EXPECT_EQ(rank(472, 99.0), 472);
  EXPECT_EQ(rank(473, 99.0), 472);
  EXPECT_EQ(rank(4, 50.0), 0);
  EXPECT_EQ(rank(5, 50.0), 5);
  EXPECT_EQ(rank(100, 50.0), 59);
  EXPECT_EQ(rank(0, 50.0), 0);
  EXPECT_EQ(app::frames_for_bound(50.0), 5);
  EXPECT_EQ(app::frames_for_bound(90.0), 29);
  EXPECT_EQ(app::frames_for_bound(99.0), 299);
  EXPECT_EQ(app::frames_for_bound(99.9), 2995);
  // Many frames: 1.645 standard deviations above the mean.
  EXPECT_NEAR(static_cast<double>(rank(100'000'000, 99.0)), 99e6 + 1.645 * 994.99, 3.0);
}

// Example failure: the file lacks frames, has other times than the report, or is there after an
// error; the bound is below the percentile.
// Promises: PRG-005.
TEST_F(Latency, SamplesGiveTheReportedPercentiles) {
  const TemporaryFolder folder;
  const std::string csv = folder / "samples.csv";
  const json report = latency({"--size", "32x32", "--back-to-back", "--memory", "host", "--frames",
                               "400", "--warm-up", "5", "--samples", csv});
  // The program of docs/latency.md.
  const std::string program =
      "import csv, math, sys\n"
      "rows = list(csv.DictReader(open(sys.argv[1])))\n"
      "times = sorted(int(row['latency_ns']) for row in rows)\n"
      "for percent in 50, 90, 99:\n"
      "    print(times[math.ceil(len(times) * percent / 100) - 1] * 1e-6)\n";
  std::ofstream(folder / "percentiles.py") << program;
  std::FILE* const pipe =
      popen(("python3 '" + (folder / "percentiles.py") + "' '" + csv + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  double exact[3] = {};
  const int read = std::fscanf(pipe, "%lf %lf %lf", &exact[0], &exact[1], &exact[2]);
  ASSERT_EQ(pclose(pipe), 0);
  ASSERT_EQ(read, 3);
  const char* const names[] = {"p50", "p90", "p99"};
  for (int i = 0; i < 3; ++i) {
    const double reported = report["latency_ms"][names[i]].get<double>();
    EXPECT_GE(reported, exact[i] * (1.0 - 1e-9)) << names[i];
    EXPECT_LE(reported, exact[i] * 1.001) << names[i];  // the width of a bucket
    EXPECT_GE(report["latency_bounds_ms"][names[i]]["at_most"], report["latency_ms"][names[i]]);
  }
  EXPECT_TRUE(report["latency_bounds_ms"]["p99.9"]["at_most"].is_null());
  EXPECT_EQ(report["latency_bounds_ms"]["p99"]["frames_needed"], 299);
  const ChildResult failed =
      run_program({"latency", "--backend", backend(), "--samples", folder / "none/x.csv"});
  EXPECT_EQ(failed.exit_code, 2);
}

// Example failure: a frame is missing among the worst, is there twice, is out of order, or has the
// times of another frame; the histogram lacks frames, or has other bounds.
// Promises: PRG-005.
TEST_F(Latency, WorstFramesAndHistogramAreThoseOfTheSamples) {
  const TemporaryFolder folder;
  const std::string csv = folder / "samples.csv";
  const json report = latency({"--size", "32x32", "--back-to-back", "--memory", "host", "--frames",
                               "300", "--samples", csv});
  std::ifstream file(csv);
  std::string line;
  std::getline(file, line);
  std::vector<std::vector<std::int64_t>> rows;
  while (std::getline(file, line)) {
    std::vector<std::int64_t>& row = rows.emplace_back();
    for (std::size_t at = line.find(','); at != std::string::npos; at = line.find(',', at + 1))
      row.push_back(std::stoll(line.substr(at + 1)));
  }
  ASSERT_EQ(rows.size(), 300u);
  const json& run = report["runs"][0];
  std::int64_t sum = 0;
  const json& histogram = run["latency_histogram"];
  ASSERT_EQ(histogram["upper_ns"].size(), histogram["count"].size());
  for (std::size_t i = 0; i < histogram["count"].size(); ++i) {
    sum += histogram["count"][i].get<std::int64_t>();
    const std::int64_t upper = histogram["upper_ns"][i];
    std::size_t passed = 0;
    for (const auto& row : rows) passed += row[2] <= upper;
    ASSERT_EQ(passed, static_cast<std::size_t>(sum)) << upper;
    if (sum >= 150 && sum - histogram["count"][i].get<std::int64_t>() < 150) {
      EXPECT_DOUBLE_EQ(run["latency_ms"]["p50"].get<double>(), static_cast<double>(upper) * 1e-6);
    }
  }
  EXPECT_EQ(sum, 300);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a[2] > b[2]; });
  ASSERT_EQ(run["worst_frames"].size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    const json& frame = run["worst_frames"][i];
    EXPECT_EQ(frame["frame"], rows[i][0]);
    const char* const keys[] = {"due_ms",   "latency_ms", "wake_ms",   "work_ms",
                                "queue_ms", "copy_ms",    "compute_ms"};
    for (std::size_t k = 0; k < std::size(keys); ++k)
      EXPECT_DOUBLE_EQ(frame[keys[k]].get<double>(), static_cast<double>(rows[i][k + 1]) * 1e-6);
  }
  EXPECT_FALSE(report.contains("latency_histogram")) << "it would be in the file twice";
  const ChildResult text = run_program({"latency", "--backend", backend(), "--size", "32x32",
                                        "--back-to-back", "--memory", "host", "--frames", "4"});
  std::size_t lines = 0;
  for (std::size_t at = text.out.find("\n    frame "); at != std::string::npos;
       at = text.out.find("\n    frame ", at + 1))
    ++lines;
  EXPECT_EQ(lines, 4u) << text.out;
}

// Example failure: each of thousands of buckets is a line, or a text is changed.
TEST(Json, AnArrayOfNumbersIsOneLine) {
  testing::internal::CaptureStdout();
  app::print_json({{"a", {1, 2.5, nullptr}},
                   {"b \\\" [\n 1,  2]", {"[ 1,  2 ]", "\\"}},
                   {"c", {{3, 4}, json::array(), {{"d", {5}}}}}});
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), R"({
  "a": [1, 2.5, null],
  "b \\\" [\n 1,  2]": [
    "[ 1,  2 ]",
    "\\"
  ],
  "c": [
    [3, 4],
    [],
    {
      "d": [5]
    }
  ]
}
)");
}

// Example failure: a report does not say when, where and under which conditions it was measured, or
// says what the command line asked for and not what holds.
// Promises: PRG-006.
TEST_F(Latency, ReportsItsConditions) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);  // the program inherits it
  const std::vector<std::string> run = {"--size",         "32x32",    "--frames", "20",
                                        "--back-to-back", "--memory", "host",     "--lock-memory"};
  const std::int64_t begin = std::time(nullptr);
  std::vector<std::string> line = {"latency", "--backend", backend()};
  line.insert(line.end(), run.begin(), run.end());
  const ChildResult text = run_program(line);
  line.push_back("--json");
  const ChildResult printed = run_program(line);
  sched_setaffinity(0, sizeof(before), &before);
  if (text.exit_code == 2 && text.err.find("lock") != std::string::npos)
    GTEST_SKIP() << "memory may not be locked here: " << text.err;
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const json report = json::parse(printed.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << printed.out << printed.err;
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  EXPECT_EQ(report["host"], host.data());
  EXPECT_EQ(report["cpu_affinity"], std::to_string(first));
  EXPECT_EQ(report["memory_locked"], true);
  EXPECT_EQ(report["realtime_priority"], 0);
  std::tm parts{};
  const std::string date = report["date"];
  ASSERT_NE(strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr) << date;
  EXPECT_GE(timegm(&parts), begin);
  EXPECT_LE(timegm(&parts), std::time(nullptr));
  for (const std::string& part :
       {std::string(" on host ") + host.data(), "CPUs allowed: " + std::to_string(first) + ";",
        std::string("no real-time priority"), std::string("memory is locked"), date.substr(0, 10)})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in " << text.out;
}

// Example failure: the checksum is that of a part of the file.
TEST(NamedFiles, HaveTheChecksumOfAllBytes) {
  const TemporaryFolder folder;
  const auto sum_of = [&](const std::string& bytes) {
    const std::string path = folder / "a.bin";
    std::ofstream(path, std::ios::binary) << bytes;
    OperatorConfig config(*find_operator("restore"));
    EXPECT_TRUE(config.set_option("filter", path.c_str()));
    const std::vector<app::NamedFile> files = app::named_files({config});
    return files.size() == 1 ? files[0].xxh64 : "none";
  };
  EXPECT_EQ(sum_of(""), "ef46db3751d8e999");
  EXPECT_EQ(sum_of("abc"), "44bc2cf5ad770999");
  EXPECT_NE(sum_of(std::string(200'000, 'x')), sum_of(std::string(199'999, 'x') + "y"));
}

// Example failure: a report does not tell which program and which model it is about, or has the
// checksum of another file.
// Promises: PRG-006.
TEST_F(Latency, ReportsBuildAndFiles) {
  const TemporaryFolder folder;
  const std::string filter = folder / "mine.ocellus";
  ASSERT_EQ(run_program({"identify", "--psf", "gaussian:1.5", "-o", filter}).exit_code, 0);
  const std::vector<std::string> run = {
      "--pipeline",
      "restore filter=" + filter + " ! cnn template=edge|erosion ! restore",
      "--size",
      "64x48",
      "--back-to-back",
      "--frames",
      "5",
      "--memory",
      "host"};
  const json report = latency(run);
  for (const char* key : {"version", "commit", "compiler", "type", "flags"})
    EXPECT_NE(report["build"][key], "") << key;
  EXPECT_EQ(report["build"]["version"], report["version"]);
  const std::string commit = report["build"]["commit"];
  if (commit != "unknown") {
    EXPECT_EQ(commit.substr(0, 40).find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(commit.substr(std::min<std::size_t>(40, commit.size())),
              commit.ends_with("-dirty") ? "-dirty" : "");
  }
  EXPECT_EQ(report["build"]["flags"].get<std::string>().find("prefix-map"), std::string::npos);
  EXPECT_NE(report["build"]["flags"].get<std::string>().find("-fno-exceptions"), std::string::npos);
  ASSERT_EQ(report["files"].size(), 1u) << report["files"] << " what is of the library is no file";
  const std::string bytes = bytes_of(filter);
  const std::string sum = report["files"][0]["xxh64"];
  EXPECT_EQ(report["files"][0]["path"], filter);
  EXPECT_EQ(report["files"][0]["bytes"], bytes.size());

  std::vector<std::string> line = {"latency", "--backend", backend()};
  line.insert(line.end(), run.begin(), run.end());
  const ChildResult text = run_program(line);
  for (const std::string& part : {"commit " + commit.substr(0, 7), "XXH64 " + sum,
                                  std::string("machine at the start: load ")})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in " << text.out;
}

// Example failure: kilohertz are reported as megahertz, the limit of one group hides the smaller
// one above it, no limit is a huge one, or a fact that the system does not report ends the program.
TEST(Machine, ReadsTheKernelsFiles) {
  const TemporaryFolder root;
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file(root / path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  };
  const json nothing = app::MachineState::now(root.path()).json();
  EXPECT_EQ(nothing, (json{{"load", nullptr}, {"cpu_mhz", nullptr}, {"celsius", nullptr}}));
  json machine = app::machine_json(root.path());
  for (const char* key : {"memory_limit_bytes", "clock_source", "kernel_command_line"})
    EXPECT_TRUE(machine[key].is_null()) << key;

  write("proc/loadavg", "0.53 0.61 0.70 2/143 12346");
  write("proc/cmdline", "quiet isolcpus=2,3");
  write("proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 2596.122\ncpu MHz\t\t: 1800.5");
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
  write("sys/class/thermal/thermal_zone0/temp", "41500");
  write("sys/class/thermal/thermal_zone1/temp", "63000");
  write("proc/self/cgroup", "4:cpu,memory:/docker/1f\n0::/a/b");
  write("proc/self/mountinfo", "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory");
  json state = app::MachineState::now(root.path()).json();
  EXPECT_EQ(state["load"], "0.53 0.61 0.70");
  EXPECT_EQ(state["cpu_mhz"], (json{1800.5, 2596.122}));
  EXPECT_EQ(state["celsius"], 63.0);
  write("sys/class/hwmon/hwmon0/name", "nvme");
  write("sys/class/hwmon/hwmon0/temp1_input", "80000");
  EXPECT_EQ(app::MachineState::now(root.path()).json()["celsius"], 63.0);
  write("sys/class/hwmon/hwmon1/name", "k10temp");
  write("sys/class/hwmon/hwmon1/temp1_input", "71250");
  EXPECT_EQ(app::MachineState::now(root.path()).json()["celsius"], 71.25);
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000");
  EXPECT_EQ(app::MachineState::now(root.path()).json()["cpu_mhz"], (json{2400.0, 2400.0}));

  EXPECT_TRUE(app::machine_json(root.path())["memory_limit_bytes"].is_null());
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(app::machine_json(root.path())["memory_limit_bytes"], "none");
  write("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "500000");
  machine = app::machine_json(root.path());
  EXPECT_EQ(machine["memory_limit_bytes"], 500'000);
  EXPECT_EQ(machine["clock_source"], "tsc");
  EXPECT_EQ(machine["kernel_command_line"], "quiet isolcpus=2,3");
}

// Example failure: the flag does not reach the engine, or the report does not name it.
TEST_F(Latency, OnlyWorkersComputeIfAsked) {
  const std::vector<std::string> run = {"--size", "32x32", "--frames", "20", "--back-to-back"};
  EXPECT_EQ(latency(run)["workers_only"], false);
  std::vector<std::string> only = run;
  only.push_back("--workers-only");
  EXPECT_EQ(latency(only)["workers_only"], true);
  std::vector<std::string> text = {"latency", "--backend", backend(), "--workers-only"};
  text.insert(text.end(), run.begin(), run.end());
  EXPECT_NE(run_program(text).out.find("only workers compute"), std::string::npos);
}

// Example failure: frames that wait form a queue, so that their latency grows; a dropped frame is
// not counted, or does not count as a miss.
TEST_F(Latency, NewestFrameOnlyHasNoQueue) {
  // More frames than can be computed. Fewer with the queue, in which each waits for all before it.
  // Two threads, because one for each CPU of a large machine do not keep the budget beside other
  // programs.
  const auto run = [](const char* frames) {
    return std::vector<std::string>{"--size",      "320x240", "--fps",     "10000",
                                    "--frames",    frames,    "--memory",  "host",
                                    "--budget-ms", "10000",   "--threads", "2"};
  };
  const json queue = latency(run("250"));
  EXPECT_EQ(queue["newest"], false);
  EXPECT_TRUE(queue["dropped"].is_null());
  EXPECT_EQ(queue["frames"], 250);
  EXPECT_GT(queue["wake_ms"]["max"], 10.0) << "nothing waited: the test shows nothing";
  std::vector<std::string> only = run("2000");
  only.push_back("--newest");
  const json newest = latency(only, 1);
  EXPECT_EQ(newest["newest"], true);
  const std::int64_t dropped = newest["dropped"];
  EXPECT_GT(dropped, 200);
  EXPECT_EQ(newest["frames"].get<std::int64_t>() + dropped, 2000);
  EXPECT_EQ(newest["misses"], dropped) << "no result comes after 10 s";
  EXPECT_GE(newest["longest_burst"], 1);
  EXPECT_EQ(newest["ok"], false);
  // A frame begins before the next one is due, 0.1 ms later, but for the time of a look at a clock.
  EXPECT_LT(newest["wake_ms"]["p50"], 0.2);
  // The queue tells how long a frame waits otherwise: a bound in milliseconds would fail where
  // other programs take the CPU from some frames.
  EXPECT_LT(newest["latency_ms"]["p90"].get<double>(),
            queue["latency_ms"]["p50"].get<double>() / 4.0);

  std::vector<std::string> text = {"latency", "--backend", backend()};
  text.insert(text.end(), only.begin(), only.end());
  const ChildResult printed = run_program(text);
  for (const char* part : {" of 2000 frames dropped: a newer one was due; they count as misses",
                           "at 10000 fps, newest frame only"})
    EXPECT_NE(printed.out.find(part), std::string::npos) << part << " is not in " << printed.out;
  const ChildResult refused = run_program({"latency", "--back-to-back", "--newest"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--newest has no meaning here"), std::string::npos) << refused.err;
}

// Example failure: after a stall, every frame that the camera would have replaced is computed, so
// that all of them are late.
// Promises: PRG-004.
TEST_F(Latency, AStallLeavesNoBacklogWithNewest) {
  for (const bool newest : {false, true}) {
    std::vector<std::string> line = {
        "latency",  "--backend", backend(),  "--json", "--size",    "64x48", "--fps",       "200",
        "--frames", "600",       "--memory", "host",   "--warm-up", "0",     "--budget-ms", "200"};
    if (newest) line.push_back("--newest");
    RunningProgram program(line);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    program.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    program.send(SIGCONT);
    const ChildResult result = program.wait();
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << result.out << result.err;
    // 140 frames become due in the stall. Those of the first 500 ms are more than 200 ms late.
    if (!newest) {
      EXPECT_GT(report["misses"], 80);
      continue;
    }
    const std::int64_t dropped = report["dropped"];
    EXPECT_GT(dropped, 80);
    EXPECT_EQ(report["frames"].get<std::int64_t>() + dropped, 600);
    EXPECT_LE(report["misses"].get<std::int64_t>() - dropped, 3) << "late results";
    EXPECT_GT(report["longest_burst"], 80);
  }
}

// Example failure: the run goes on after a miss, or the trace lacks the late frame, its parts or
// the frames before it, has frames of longer ago, or parts of other times.
// Promises: PRG-008.
TEST_F(Latency, StopsAtTheFirstMissWithATrace) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  RunningProgram program({"latency",
                          "--backend",
                          backend(),
                          "--json",
                          "--size",
                          "64x48",
                          "--fps",
                          "200",
                          "--frames",
                          "2000",
                          "--memory",
                          "host",
                          "--threads",
                          "2",
                          "--warm-up",
                          "3",
                          "--budget-ms",
                          "500",
                          "--budget-percentile",
                          "50",
                          "--break-on-miss",
                          path});
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  program.send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  program.send(SIGCONT);
  const ChildResult result = program.wait();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const json report = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.out << result.err;
  EXPECT_EQ(report["stopped_at_miss"], true);
  EXPECT_EQ(report["misses"], 1);
  const json& worst = report["runs"][0]["worst_frames"][0];
  const std::int64_t missed = worst["frame"];
  EXPECT_EQ(report["frames"], missed + 1);
  EXPECT_NE(result.err.find("stopped at frame " + std::to_string(missed) + ", which missed"),
            std::string::npos)
      << result.err;

  const json trace = json::parse(bytes_of(path), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  double due = 0.0;
  double end = 0.0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "i") continue;
    const std::string name = event["name"];
    (name == "frame " + std::to_string(missed) + " is due" ? due : end) = event["ts"];
  }
  EXPECT_NEAR(end - due, 1e3 * worst["latency_ms"].get<double>(), 1.0);
  std::map<std::int64_t, std::pair<double, double>> frames;  // by the measuring thread
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    EXPECT_GE(begin + event["dur"].get<double>(), end - 1e6 - 1.0);
    EXPECT_LE(begin + event["dur"].get<double>(), end + 1.0);
    if (event["tid"] != 0) continue;
    EXPECT_EQ(event["name"], "flow");
    frames[event["args"]["frame"]] = {begin, begin + event["dur"].get<double>()};
  }
  ASSERT_EQ(frames.count(missed), 1u);
  EXPECT_GT(frames.size(), 10u) << "the frames before are missing";
  std::map<std::int64_t, int> parts;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] == 0) continue;
    const std::int64_t frame = event["args"]["frame"];
    ++parts[frame];
    if (frames.count(frame) == 0) continue;  // of the second before
    EXPECT_GE(event["ts"], frames[frame].first - 1.0);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), frames[frame].second + 1.0);
  }
  if (backend() == "cpu") {
    EXPECT_GT(parts[missed], 1);
    EXPECT_EQ(parts[missed], parts[missed - 1]) << "a frame of this size has the same parts";
  }

  const std::string none = folder / "none.json";
  EXPECT_EQ(latency({"--size", "32x32", "--frames", "5", "--memory", "host", "--budget-ms", "9999",
                     "--break-on-miss", none})["stopped_at_miss"],
            false);
  EXPECT_FALSE(std::filesystem::exists(none));
  const ChildResult refused =
      run_program({"latency", "--backend", backend(), "--back-to-back", "--break-on-miss", none});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--break-on-miss needs a budget"), std::string::npos) << refused.err;
}

// Example failure: the kernel's trace does not tell which frame was late.
TEST(MissTrace, WritesANoteToTheKernelsTrace) {
  const TemporaryFolder folder;
  const std::string marker = folder / "trace_marker";
  std::ofstream{marker};
  app::MissTrace trace(folder / "trace.json", marker.c_str());
  app::LatencyCommand command;
  command.back_to_back = true;
  command.frames = 5;
  app::LatencyPlan plan{command};
  plan.engine.backend.choice = BackendChoice::kCpu;
  plan.names.emplace_back("halftone");
  plan.operators.emplace_back(*find_operator("halftone"));
  const std::vector<app::GrayImage> frames(1, {{32, 32}, PixelFormat::kGray8});
  plan.operators[0].set_input({32, 32}, PixelFormat::kGray8);
  plan.frames = &frames;
  plan.budget_ns = 1;
  plan.trace = &trace;
  const auto result = app::measure_latency(plan, MemorySpace::kHost, GpuMeter(""));
  EXPECT_EQ(result->measured, 1);
  EXPECT_EQ(bytes_of(marker), "ocellus: frame 0 took " +
                                  std::to_string(result->worst.frames()[0].latency) +
                                  " ns, its budget is 1 ns\n");
  EXPECT_NE(bytes_of(folder / "trace.json").find("\"halftone, step 0\""), std::string::npos);
  // Where there is no such file, nothing is missing but the note.
  const app::MissTrace without(folder / "trace.json", (folder / "none/x").c_str());
}

// Example failure: a figure is that of another report, a difference of the conditions is not named,
// or a file that is no report is accepted.
TEST_F(Latency, ReportsCanBeCompared) {
  const TemporaryFolder folder;
  std::vector<json> reports;
  for (const char* size : {"32x32", "64x48"}) {
    reports.push_back(
        latency({"--size", size, "--frames", "100", "--back-to-back", "--memory", "host"}));
    std::ofstream(folder / (std::string(size) + ".json")) << reports.back();
  }
  const std::vector<std::string> line = {"compare", "latency", folder / "32x32.json",
                                         folder / "64x48.json"};
  const ChildResult text = run_program(line);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("they differ in: size, input\n"), std::string::npos) << text.out;
  std::vector<std::string> all = line;
  all.insert(all.end(), {"--json", "--plot", folder / "l.svg"});
  const ChildResult printed = run_program(all);
  const json compared = json::parse(printed.out, nullptr, false);
  ASSERT_TRUE(compared.is_object()) << printed.out << printed.err;
  ASSERT_EQ(compared["runs"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& run = compared["runs"][i];
    for (const char* key : {"p50", "p99", "max"})
      EXPECT_EQ(run[key], reports[i]["latency_ms"][key]);
    EXPECT_TRUE(run["p99.9"].is_null()) << "100 frames do not tell it";
    EXPECT_DOUBLE_EQ(run["p50_ratio"].get<double>(),
                     run["p50"].get<double>() / compared["runs"][0]["p50"].get<double>());
  }
  const std::string svg = bytes_of(folder / "l.svg");
  for (const char* name : {"32x32.json, host", "64x48.json, host", "</svg>"})
    EXPECT_NE(svg.find(name), std::string::npos) << name;
  for (const char* bad : {"{}", "[1]", R"({"runs":[{"frames":3}]})", R"({"runs":7})", "no JSON"}) {
    std::ofstream(folder / "bad.json") << bad;
    const ChildResult refused =
        run_program({"compare", "latency", folder / "32x32.json", folder / "bad.json"});
    EXPECT_EQ(refused.exit_code, 2) << bad << refused.out;
    EXPECT_NE(refused.err.find("bad.json"), std::string::npos) << bad << refused.err;
  }
}

// Example failure: a planted slow-down passes, the other percentile or another run is compared, or
// reports about different work are.
// Promises: PRG-007.
TEST_F(Latency, RatiosOfReportsAreTested) {
  const TemporaryFolder folder;
  json first =
      latency({"--size", "32x32", "--frames", "100", "--back-to-back", "--memory", "host"});
  first["runs"][0]["latency_ms"]["p50"] = 1.0;
  first["runs"][0]["latency_ms"]["p90"] = 1.5;
  first["runs"][0]["latency_ms"]["p99"] = 2.0;
  const auto write = [&](const char* name, const json& report) {
    std::ofstream(folder / name) << report;
    return folder / name;
  };
  const std::string a = write("a.json", first);
  json second = first;
  second["runs"][0]["latency_ms"]["p99"] = 2.5;
  second["configs"][0]["an_option_of_a_later_version"] = 7;
  const std::string b = write("b.json", second);
  const std::string junit = folder / "junit.xml";
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compare", "latency"});
    return run_program(more);
  };
  const ChildResult bad = run({a, b, "--max-ratio", "1.2", "--junit", junit});
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  const std::string line =
      "failed  b.json, host: p99 2.500 ms, 1.250 times the 2.000 ms of a.json, host";
  EXPECT_NE(bad.out.find(line), std::string::npos) << bad.out;
  const std::string xml = bytes_of(junit);
  for (const char* part :
       {"<testsuite name=\"ocellus compare latency\" tests=\"1\" failures=\"1\" skipped=\"0\">",
        "name=\"latency.b.json, host\"", "<failure message=\"p99 2.500 ms, 1.250 times"})
    EXPECT_NE(xml.find(part), std::string::npos) << part << " is not in " << xml;
  const ChildResult good = run({a, b, "--max-ratio", "1.3", "--junit", junit, "--json"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  const json told = json::parse(good.out, nullptr, false);
  EXPECT_EQ(told["ok"], true);
  EXPECT_FALSE(told["runs"][0].contains("ratio"));
  EXPECT_DOUBLE_EQ(told["runs"][1]["ratio"].get<double>(), 1.25);
  EXPECT_EQ(bytes_of(junit).find("<failure"), std::string::npos);
  EXPECT_EQ(run({a, b, "--max-ratio", "1.01", "--percentile", "90"}).exit_code, 0);
  second["runs"][0]["latency_ms"]["p99"] = "> 17.2 s";
  EXPECT_EQ(run({a, write("b.json", second), "--max-ratio", "1000"}).exit_code, 1);

  const auto refuse = [&](const json& report, const std::vector<std::string>& more,
                          const std::string& says) {
    std::vector<std::string> all = {a, write("c.json", report), "--max-ratio", "1.2"};
    all.insert(all.end(), more.begin(), more.end());
    const ChildResult refused = run(all);
    EXPECT_EQ(refused.exit_code, 2) << says << refused.out;
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  };
  const auto with = [&](const char* member, const json& value) {
    json changed = first;
    changed[json::json_pointer(member)] = value;
    return changed;
  };
  refuse(with("/size", {64, 48}), {}, "they differ in size ([32,32] and [64,48])");
  refuse(with("/pipeline", {"halftone"}), {}, "they differ in pipeline");
  refuse(with("/pace", "camera"), {}, "they differ in pace");
  refuse(with("/configs/0/window", 13), {}, "they differ in configs");
  refuse(with("/configs", 7), {}, "they differ in configs");
  refuse(with("/runs/0/memory", "pinned"), {}, "a.json has no run in this memory");
  refuse(first, {"--percentile", "99.9"}, "100 frames do not tell p99.9, which needs 1000");
  const ChildResult alone = run({a, b, "--junit", junit});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.err.find("--max-ratio"), std::string::npos) << alone.err;
}

// Example failure: the plot of a chain names one operator, a number has an exponent, or a label
// covers the curves.
TEST_F(Latency, PlotOfAChainNamesItsOperators) {
  const TemporaryFolder folder;
  latency({"--pipeline", "flow ! halftone", "--size", "32x32", "--frames", "20", "--back-to-back",
           "--memory", "host", "--budget-ms", "1330", "--plot", folder / "l.svg"});
  const std::string svg = bytes_of(folder / "l.svg");
  EXPECT_NE(svg.find("pyramid"), std::string::npos) << svg;
  EXPECT_NE(svg.find("halftone"), svg.rfind("halftone")) << "only the title names it";
  EXPECT_EQ(svg.find("e+0"), std::string::npos);
  const std::string label = ">budget 1330 ms</text>";
  int labels = 0;
  for (std::size_t at = svg.find(label); at != std::string::npos; at = svg.find(label, at + 1)) {
    const std::size_t begin = svg.rfind(" y=\"", at);
    EXPECT_LT(std::stod(svg.substr(begin + 4)), app::svg::kTop) << "it is inside a panel";
    ++labels;
  }
  EXPECT_EQ(labels, 2);
}

// Example failure: a number has an exponent, or loses digits before the point.
TEST(ShortNumber, HasThreeDigitsAndNoExponent) {
  const std::pair<double, const char*> cases[] = {
      {1330.0, "1330"}, {33.3333, "33.3"},    {10.0, "10"},       {0.00123, "0.00123"},
      {0.0, "0"},       {1234567, "1234567"}, {-2.5555, "-2.56"}, {9.999, "10"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(app::short_number(value), text);
}

// Example failure: a missed budget gives exit code 0, or the allowed percentage of misses is
// ignored.
// Promises: PRG-001.
TEST_F(Latency, MissedBudgetGivesExitCodeOne) {
  const std::vector<std::string> run = {"--size",         "64x48",    "--frames", "40",
                                        "--back-to-back", "--memory", "host",     "--budget-ms"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  // No frame is done within 100 ns.
  const json missed = latency(with({"0.0001"}), 1);
  EXPECT_EQ(missed["misses"], 40);
  EXPECT_EQ(missed["longest_burst"], 40);
  EXPECT_EQ(missed["ok"], false);
  EXPECT_EQ(latency(with({"0.0001", "--budget-percentile", "1"}), 1)["ok"], false);
  EXPECT_EQ(latency(with({"10000"}))["ok"], true);
  // Half of the frames are slower than the median, and no more.
  const json first = latency(with({"10000"}));
  EXPECT_EQ(first["budget_percentile"], 100.0);
  std::vector<std::string> text = with({"0.0001"});
  text.insert(text.begin(), {"latency", "--backend", backend()});
  const ChildResult told = run_program(text);
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.out.find("40 misses of 40 frames"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("NOT KEPT"), std::string::npos) << told.out;
}

// Example failure: back to back, frames follow a camera's schedule, or have a budget that was not
// requested.
TEST_F(Latency, BackToBackHasNoScheduleAndNoBudget) {
  const json report = latency({"--size", "64x48", "--frames", "200", "--back-to-back"});
  EXPECT_EQ(report["pace"], "back to back");
  EXPECT_TRUE(report["fps"].is_null());
  EXPECT_TRUE(report["budget_ms"].is_null());
  EXPECT_TRUE(report["misses"].is_null());
  EXPECT_EQ(report["late_starts"], 0);
  EXPECT_EQ(report["wake_ms"]["max"], 0.0);
  EXPECT_EQ(report["ok"], true);
  // Without pauses, the interval between results is the time of one frame.
  EXPECT_NEAR(report["latency_ms"]["mean"].get<double>(),
              report["jitter_ms"]["mean_interval"].get<double>(),
              0.2 * report["latency_ms"]["mean"].get<double>());
  // On a device, its own memory is measured, too.
  EXPECT_EQ(report["runs"].size(), backend() == "cpu" ? 1u : 2u);
}

// Example failure: an operator of a pipeline runs with the options of another, runs on its own
// engine, or its time is missing.
TEST_F(Latency, PipelineRunsEachOperatorWithItsOwnOptions) {
  const std::vector<std::string> common = {"--size", "64x48",       "--frames", "30",       "--fps",
                                           "200",    "--budget-ms", "10000",    "--memory", "host"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    return latency(more);
  };
  const json chain =
      with({"--window", "9", "--pipeline",
            "flow preset=fast window=7!flow  method=kernels taps=9x9x5!filter taps=3x3x3"});
  EXPECT_EQ(chain["pipeline"], (json{"flow", "flow", "filter"}));
  ASSERT_EQ(chain["configs"].size(), 3u);
  EXPECT_EQ(chain["configs"][0]["method"], "pyramid");
  EXPECT_EQ(chain["configs"][0]["window"], 7);
  EXPECT_EQ(chain["configs"][1]["taps"], "9x9x5");
  EXPECT_EQ(chain["configs"][2]["operator"], "filter");
  EXPECT_EQ(chain["configs"][2]["taps"], "3x3x3");
  EXPECT_EQ(chain["configs"][1]["window"], 9);
  ASSERT_EQ(chain["operators"].size(), 3u);
  EXPECT_NEAR(chain["work_ms"]["mean"].get<double>(),
              chain["operators"][0]["work_ms"]["mean"].get<double>() +
                  chain["operators"][1]["work_ms"]["mean"].get<double>() +
                  chain["operators"][2]["work_ms"]["mean"].get<double>(),
              1e-6);
  EXPECT_EQ(chain["operators"][1]["delay_frames"], 2.0);
  const json fast = with({"--pipeline", "flow preset=fast window=7"});
  const json kernels = with({"--method", "kernels", "--taps", "9x9x5", "--window", "9"});
  const json filter = with({"--pipeline", "filter taps=3x3x3"});
  for (const char* kind : {"host", "pinned", "device"})
    EXPECT_EQ(chain["footprint"][kind], fast["footprint"][kind].get<std::int64_t>() +
                                            kernels["footprint"][kind].get<std::int64_t>() +
                                            filter["footprint"][kind].get<std::int64_t>())
        << kind;
}

// Example failure: an option that is misspelled, or has no meaning for the operator, is accepted.
TEST_F(Latency, ReportsBadPipelines) {
  const auto expect = [](const std::vector<std::string>& arguments,
                         const std::vector<std::string>& says) {
    std::vector<std::string> all = {"latency", "--backend", backend(), "--frames", "1"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ChildResult result = run_program(all);
    EXPECT_EQ(result.exit_code, 2);
    for (const std::string& text : says)
      EXPECT_NE(result.err.find(text), std::string::npos) << text << " is not in " << result.err;
  };
  expect({"--pipeline", "flow ! flow fast"}, {"'fast' in 'flow fast'", "option=value"});
  expect({"--pipeline", "flow tapes=9x9x5"}, {"'flow tapes=9x9x5'", "tapes", "taps"});
  expect({"--pipeline", "flow preset=finest"}, {"'flow preset=finest'", "best"});
  expect({"--pipeline", "flow preset=fast taps=9x9x5"},
         {"'flow preset=fast taps=9x9x5'", "taps has no meaning"});
  expect({"--method", "kernels", "--taps", "9x9x5", "--pipeline", "flow ! flow preset=fast"},
         {"'flow preset=fast'", "preset has no meaning"});
  expect({"--pipeline", "flow method=kernels taps=9x9"},
         {"'flow method=kernels taps=9x9'", "15x15x20"});
  expect({"--memory", "vram"}, {"--memory is 'vram'", "pinned"});
  expect({"--memory", "host,"}, {"--memory is 'host,'"});
  expect({"--zero-copy", "maybe"}, {"--zero-copy", "maybe", "auto, on or off"});
  expect({"--back-to-back", "--fps", "30"}, {"--fps has no meaning here"});
  if (backend() == "cpu") {
    expect({"--wait", "block"}, {"--wait has no meaning here", "cpu"});
    expect({"--copy-threads", "2"}, {"--copy-threads has no meaning here", "cpu"});
    expect({"--zero-copy", "on"}, {"--zero-copy has no meaning here", "cpu"});
  } else {
    expect({"--copy-threads", "2", "--memory", "device"}, {"--copy-threads", "--memory host"});
  }
}

// Example failure: `devices` does not report the properties of the machine on which figures depend.
TEST_F(Latency, DevicesReportsTheMachine) {
  const ChildResult result = run_program({"devices", "--json", "--backend", backend()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json devices = json::parse(result.out);
  EXPECT_EQ(devices["machine"]["cpu"], devices["cpu"]);
  if (backend() == "cpu") {
    EXPECT_TRUE(devices["gpus"].is_array());
  } else {
    ASSERT_GE(devices["gpus"].size(), 1u);
    EXPECT_EQ(devices["gpus"][0]["device"], 0);
    EXPECT_EQ(devices["gpus"][0]["bus"].get<std::string>().size(), 12u);
  }
}

// ---- parts

// Example failure: the deviation is that of the latencies, or is divided by a wrong number.
TEST(Intervals, DeviationAndSpreadEqualTheFormula) {
  app::Intervals intervals;
  EXPECT_EQ(intervals.spread_ns(), 0);
  EXPECT_EQ(intervals.deviation_ns(), 0.0);
  for (const std::int64_t ns : {2, 4, 4, 4, 5, 5, 7, 9}) intervals.add(ns);
  EXPECT_EQ(intervals.count(), 8);
  EXPECT_DOUBLE_EQ(intervals.mean_ns(), 5.0);
  EXPECT_DOUBLE_EQ(intervals.deviation_ns(), 2.0);
  EXPECT_EQ(intervals.spread_ns(), 7);
}

// Example failure: the motion jumps at an end, or a single frame causes a division by zero.
TEST(Replay, GoesBackAndForth) {
  const std::vector<std::size_t> expected = {0, 1, 2, 3, 2, 1, 0, 1, 2};
  for (std::size_t time = 0; time < expected.size(); ++time)
    EXPECT_EQ(app::back_and_forth(time, 4), expected[time]);
  EXPECT_EQ(app::back_and_forth(5, 1), 0u);
  EXPECT_EQ(app::back_and_forth(5, 2), 1u);
}

// Example failure: several series have no names, or a run without a budget gets a line at 0.
TEST(Plot, NamesSeveralSeriesAndDrawsNoMissingBudget) {
  const TemporaryFolder folder;
  app::LatencyPlot plot;
  plot.title = "a < b";
  std::vector<std::unique_ptr<LatencyHistogram>> histograms;
  std::vector<std::vector<float>> values(3);
  for (int s = 0; s < 3; ++s) {
    histograms.push_back(std::make_unique<LatencyHistogram>());
    for (int i = 0; i < 500; ++i) {
      const std::int64_t ns = 100'000 * (s + 1) + (i * 7919) % 50'000;
      histograms.back()->record(ns);
      values[static_cast<std::size_t>(s)].push_back(static_cast<float>(ns) * 1e-6f);
    }
  }
  for (std::size_t s = 0; s < 3; ++s)
    plot.series.push_back({"memory " + std::to_string(s), histograms[s].get(), &values[s], 100.0});
  app::write_latency_svg(folder / "l.svg", plot);
  const std::string text = bytes_of(folder / "l.svg");
  for (const char* name : {"memory 0", "memory 1", "memory 2"})
    EXPECT_NE(text.find(name), std::string::npos) << name;
  EXPECT_NE(text.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(text.find("budget"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

// Example failure: where one frame takes a hundred times as long as the others, the plot shows
// nothing of these; where all are alike, the axis exaggerates; a heading does not tell which it is.
TEST(Plot, AWideRangeHasALogarithmicAxis) {
  const TemporaryFolder folder;
  const auto plotted = [&](double longest_ms) {
    LatencyHistogram histogram;
    std::vector<float> values;
    for (int i = 0; i < 200; ++i) {
      const double value = i == 70 ? longest_ms : 1.0 + 0.001 * i;
      values.push_back(static_cast<float>(value));
      histogram.record(std::llround(value * 1e6));
    }
    app::LatencyPlot plot;
    plot.title = "Latency";
    plot.series.push_back({"host memory", &histogram, &values, 100.0});
    app::write_latency_svg(folder / "l.svg", plot);
    return bytes_of(folder / "l.svg");
  };
  // The height of the tick of this name in the right panel, or 0.
  const auto height = [](const std::string& svg, const std::string& tick) {
    const std::size_t panel = svg.find(">Latency of each frame, ms");
    const std::size_t at = svg.find(">" + tick + "</text>", svg.find("text-anchor=\"end\"", panel));
    return at == std::string::npos ? 0.0 : std::stod(svg.substr(svg.rfind(" y=\"", at) + 4));
  };
  const std::string wide = plotted(150.0);
  EXPECT_NE(wide.find(">Latency of each frame, ms (logarithmic axis)<"), std::string::npos);
  EXPECT_GT(height(wide, "1"), 0.0);
  EXPECT_NEAR(height(wide, "1") - height(wide, "10"), height(wide, "10") - height(wide, "100"),
              0.15);
  const std::string narrow = plotted(2.0);
  EXPECT_NE(narrow.find(">Latency of each frame, ms<"), std::string::npos);
  EXPECT_NEAR(height(narrow, "0") - height(narrow, "1"), height(narrow, "1") - height(narrow, "2"),
              0.15);
  EXPECT_NE(narrow.find(">Share of frames that take longer than a latency<"), std::string::npos);
}

/// A report of a machine that stood still for most frames.
struct StalledReport {
  StalledReport() {
    plan.names.emplace_back("flow");
    plan.operators.emplace_back(*find_operator("flow"));
    command.frames = 1000;
    clip.frames.emplace_back(ImageSize{64, 48}, PixelFormat::kGray8);
    auto run = std::make_unique<app::LatencyResult>();
    for (int i = 0; i < 1000; ++i) {
      const std::int64_t ns = i < 400 ? 5'000'000 : 20'000'000'000 + i;
      run->latency.record(ns);
      run->work.record(i < 999 ? 4'000'000 : ns);
      run->latencies_ms.push_back(static_cast<float>(ns) * 1e-6f);
    }
    run->measured = 1000;
    run->operators.push_back(std::make_unique<LatencyHistogram>());
    run->delays.push_back(0.0f);
    report.runs.push_back(std::move(run));
  }

  app::LatencyCommand command;
  app::LatencyPlan plan{command};
  app::Clip clip;
  GpuMeter meter{""};
  app::LatencyReport report{command, plan, clip, meter, {OperatorInfo{}}, {}, {}};
};

// Example failure: frames that took longer than the histogram resolves are printed as percentiles
// of 17179.869 ms, which no frame took, and nothing tells how many they are.
TEST(Report, SaysWhereTheHistogramEnds) {
  const TemporaryFolder folder;
  StalledReport stalled;
  const auto report = app::report_json(stalled.report, true);
  const auto& latency = report["runs"][0]["latency_ms"];
  for (const char* percentile : {"p50", "p90", "p99", "p99.9"})
    EXPECT_EQ(latency[percentile], "> 17.2 s") << percentile;
  EXPECT_EQ(latency["overflow"], 600);
  EXPECT_NEAR(latency["max"].get<double>(), 20000.001, 1e-3);
  EXPECT_NEAR(report["runs"][0]["work_ms"]["p99"].get<double>(), 4.0, 0.01);
  EXPECT_EQ(report["runs"][0]["work_ms"]["overflow"], 1);

  testing::internal::CaptureStdout();
  app::print_report(stalled.report);
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("> 17.2 s  > 17.2 s  > 17.2 s  > 17.2 s"), std::string::npos) << text;
  EXPECT_NE(text.find("> 17.2 s: 600 frames"), std::string::npos) << text;
  EXPECT_EQ(text.find("17179"), std::string::npos) << text;

  stalled.command.plot = folder / "l.svg";
  app::plot_report(stalled.report);
  const std::string svg = bytes_of(stalled.command.plot);
  EXPECT_NE(svg.find("p50  &gt; 17.2 s"), std::string::npos);

  const std::string path = folder / "stalled.json";
  std::ofstream(path) << report.dump();
  const ChildResult compared = run_program({"compare", "latency", path, path});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("> 17.2 s  > 17.2 s"), std::string::npos) << compared.out;
  const json both =
      json::parse(run_program({"compare", "latency", path, path, "--json"}).out, nullptr, false);
  ASSERT_TRUE(both.is_object());
  EXPECT_EQ(both["runs"][1]["p50"], "> 17.2 s");
  EXPECT_TRUE(both["runs"][1]["p50_ratio"].is_null());
}

// Example failure: without NVML the program ends, or the report lacks the reason for missing power
// values.
TEST(Gpu, ReportsWhyValuesAreUnknown) {
  const GpuMeter none(kFakeBus, "libocellus-no-such-library.so.1");
  EXPECT_NE(none.missing().find("NVML is not available"), std::string::npos) << none.missing();
  EXPECT_NE(none.missing().find("libocellus-no-such-library.so.1"), std::string::npos);
  EXPECT_FALSE(none.read().power_w);
  EXPECT_FALSE(none.settings().highest_sm_mhz);
  EXPECT_FALSE(none.energy_j());
  GpuSampler sampler(none, std::chrono::milliseconds(1));
  const json activity = app::activity_json(none, sampler.stop(), 10);
  EXPECT_TRUE(activity["power_w"].is_null());
  EXPECT_EQ(activity["power_missing"], none.missing());
  EXPECT_TRUE(activity["sm_mhz"].is_null());
  EXPECT_TRUE(activity["clock_reasons"].is_null());

  EXPECT_NE(GpuMeter("").missing().find("cpu"), std::string::npos);
  // A library that is not NVML.
  EXPECT_NE(GpuMeter(kFakeBus, "libm.so.6").missing().find("is not NVML"), std::string::npos);
  fake.init = 9;
  EXPECT_NE(GpuMeter(kFakeBus, "").missing().find("cannot be initialized: Another Error (9)"),
            std::string::npos);
  fake.init = 0;
  EXPECT_NE(GpuMeter("0000:01:00.0", "").missing().find("no device at 0000:01:00.0: Not Found"),
            std::string::npos);

  // Without NVML, the properties known from CUDA are reported.
  EngineInfo info;
  info.backend = BackendKind::kCuda;
  info.device = 0;
  std::snprintf(info.device_name, sizeof(info.device_name), "A GPU");
  info.compute_capability = 90;
  info.driver_cuda = 13000;
  info.runtime_cuda = 12080;
  const json gpu = app::gpu_json(info, none);
  EXPECT_EQ(gpu["compute_capability"], "9.0");
  EXPECT_EQ(gpu["cuda_driver"], "13.0");
  EXPECT_EQ(gpu["cuda_runtime"], "12.8");
  EXPECT_EQ(gpu["nvml_missing"], none.missing());
  EXPECT_NE(app::gpu_line(info, none).find("clocks unknown: NVML is not available"),
            std::string::npos);
  EXPECT_TRUE(app::gpu_json(EngineInfo{}, none).is_null());
}

/// A kernel's tree with the files of a board.
class FakeSysfs {
 public:
  FakeSysfs() {
    // Other devices that must not be taken for the GPU or its rails.
    write("class/devfreq/15340000.vic/cur_freq", "115200000");
    write("class/thermal/thermal_zone0/type", "cpu-thermal");
    write("class/thermal/thermal_zone0/temp", "51000");
    write("class/hwmon/hwmon0/name", "pwmfan");
    write("class/hwmon/hwmon0/in1_label", "VDD_IN");
    write("class/hwmon/hwmon0/in1_input", "99999");
    write("class/hwmon/hwmon0/curr1_input", "99999");
  }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file(folder_ / path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file);
    out << text << '\n';
  }
  void clock(const std::string& device, const std::string& now, const std::string& highest) {
    write("class/devfreq/" + device + "/cur_freq", now);
    write("class/devfreq/" + device + "/max_freq", highest);
  }
  void rail(const std::string& monitor, int channel, const std::string& label,
            const std::string& millivolts, const std::string& milliamperes) {
    const std::string base = "class/hwmon/" + monitor + "/";
    const std::string number = std::to_string(channel);
    write(base + "name", "ina3221");
    write(base + "in" + number + "_label", label);
    write(base + "in" + number + "_input", millivolts);
    write(base + "curr" + number + "_input", milliamperes);
  }
  GpuMeter meter(const std::string& nvml = "libocellus-no-such-library.so.1") const {
    return GpuMeter(kFakeBus, nvml, folder_.path());
  }

 private:
  TemporaryFolder folder_;
};

EngineInfo integrated_gpu() {
  EngineInfo info;
  info.backend = BackendKind::kCuda;
  info.device = 0;
  info.integrated = info.zero_copy = true;
  std::snprintf(info.device_name, sizeof(info.device_name), "Orin");
  return info;
}

// Example failure: without NVML the clock of another engine or the temperature of the CPU is
// reported; millivolts times milliamperes are used as watts; a channel without a rail or the sum of
// the shunts counts; or the report says that clocks and power are unknown.
TEST(Tegra, ReadsTheKernelsFiles) {
  FakeSysfs orin;
  orin.clock("17000000.gpu", "918000000", "1300500000");
  orin.write("class/thermal/thermal_zone1/type", "gpu-thermal");
  orin.write("class/thermal/thermal_zone1/temp", "47625");
  orin.rail("hwmon3", 1, "VDD_GPU_SOC", "19800", "260");
  orin.rail("hwmon3", 2, "VDD_CPU_CV", "19800", "100");
  orin.rail("hwmon3", 3, "VIN_SYS_5V0", "5000", "1100");
  orin.rail("hwmon4", 1, "NC", "5000", "7000");
  orin.rail("hwmon4", 7, "sum of shunt voltages", "5000", "7000");
  const GpuMeter meter = orin.meter();
  EXPECT_EQ(meter.missing(), "");
  EXPECT_NE(meter.nvml_missing().find("NVML is not available"), std::string::npos);
  EXPECT_EQ(meter.read().sm_mhz, 918u);
  EXPECT_EQ(meter.settings().highest_sm_mhz, 1301u);
  EXPECT_EQ(meter.read().temperature_c, 48u);
  ASSERT_TRUE(meter.read().power_w);
  EXPECT_NEAR(*meter.read().power_w, 5.148 + 1.98 + 5.5, 1e-9);
  EXPECT_EQ(meter.power_missing(), "");
  EXPECT_FALSE(meter.read().memory_mhz);
  EXPECT_FALSE(meter.energy_j());

  const json gpu = app::gpu_json(integrated_gpu(), meter);
  EXPECT_EQ(gpu["integrated"], true);
  EXPECT_EQ(gpu["zero_copy"], true);
  EXPECT_EQ(gpu["now"]["sm_mhz"], 918);
  EXPECT_EQ(gpu["power_source"], "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0");
  EXPECT_EQ(gpu["rails_w"].size(), 3u);
  EXPECT_NEAR(gpu["rails_w"]["VIN_SYS_5V0"].get<double>(), 5.5, 1e-9);
  const std::string line = app::gpu_line(integrated_gpu(), meter);
  for (const char* part : {"integrated", "zero copy on", "now SM 918 of 1301",
                           "12.6 W (VDD_GPU_SOC", "48 degrees Celsius"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " is not in " << line;

  GpuSampler sampler(meter, std::chrono::milliseconds(1));
  orin.clock("17000000.gpu", "306000000", "1300500000");
  const GpuActivity seen = sampler.stop();
  EXPECT_EQ(seen.sm_mhz.low, 306u);
  const json activity = app::activity_json(meter, seen, 10);
  EXPECT_NEAR(activity["power_w"]["mean"].get<double>(), 12.628, 1e-6);
  EXPECT_EQ(activity["power_source"], gpu["power_source"]);
}

// Example failure: the supply of the module is added to the rails that it feeds; a GPU that is
// switched off ends the program or has an old temperature; or names of another board are not found.
TEST(Tegra, KnowsItsBoards) {
  FakeSysfs nano;
  nano.clock("17000000.ga10b", "624750000", "624750000");
  nano.rail("hwmon1", 1, "VDD_IN", "5000", "1500");
  nano.rail("hwmon1", 2, "VDD_CPU_GPU_CV", "5000", "400");
  nano.write("class/thermal/thermal_zone1/type", "GPU-therm");  // its temperature cannot be read
  const GpuMeter of_nano = nano.meter();
  EXPECT_NEAR(of_nano.read().power_w.value_or(0.0), 7.5, 1e-9);
  EXPECT_EQ(of_nano.power_source(), "VDD_IN");
  EXPECT_EQ(of_nano.read().sm_mhz, 625u);
  EXPECT_FALSE(of_nano.read().temperature_c);

  FakeSysfs thor;
  thor.clock("gpu-gpc-0", "1575000000", "1575000000");
  thor.clock("gpu-nvd-0", "1692000000", "1692000000");
  thor.rail("hwmon5", 1, "VDD_GPU", "12000", "500");
  thor.rail("hwmon5", 2, "VIN", "20000", "2000");
  EXPECT_EQ(thor.meter().read().sm_mhz, 1575u);
  EXPECT_NEAR(thor.meter().read().power_w.value_or(0.0), 40.0, 1e-9);

  // NVML's values come first. What it does not know comes from the kernel.
  fake.power = fake.field = 3;
  EXPECT_EQ(thor.meter("").power_source(), "VIN");
  EXPECT_EQ(thor.meter("").read().temperature_c, 41u);
  fake.power = fake.field = 0;
  EXPECT_EQ(thor.meter("").power_source(), "NVML");

  FakeSysfs none;
  EXPECT_EQ(none.meter().missing(), none.meter().nvml_missing());
  EXPECT_FALSE(none.meter().read().power_w);
  EXPECT_EQ(none.meter().power_source(), "");
}

// Example failure: milliwatts are used as watts, the average power of a second in place of the
// current power, or clocks of a different part of the device.
TEST(Gpu, ReportsClocksAndPower) {
  fake.reads = 1;
  const GpuMeter meter(kFakeBus, "");
  ASSERT_EQ(meter.missing(), "");
  EXPECT_EQ(meter.driver(), "580.0.1");
  EXPECT_EQ(meter.read().power_w, 300.0);
  EXPECT_EQ(meter.read().sm_mhz, 1980u);
  EXPECT_EQ(meter.read().memory_mhz, 3201u);
  EXPECT_EQ(meter.read().temperature_c, 41u);
  fake.field = 3;
  EXPECT_EQ(meter.read().power_w, 100.0);
  EXPECT_EQ(meter.power_missing(), "");
  fake.power = 3;
  EXPECT_FALSE(meter.read().power_w);
  EXPECT_FALSE(meter.energy_j());
  EXPECT_EQ(meter.power_missing(), "NVML does not report power: Not Supported (3)");
  fake.power = fake.field = 0;

  EXPECT_EQ(app::clock_mode(meter.settings()), "default");
  EXPECT_EQ(meter.settings().power_limit_w, 700.0);
  EXPECT_FALSE(meter.settings().persistence);
  fake.application_sm = 1410;
  EXPECT_EQ(app::clock_mode(meter.settings()), "application clocks");
  EXPECT_EQ(meter.settings().application_sm_mhz, 1410u);
  fake.application_sm = 1980;
  EXPECT_EQ(app::clock_mode({}), "unknown");
  EXPECT_EQ(app::clock_reason_names(0), std::vector<std::string>{});
  EXPECT_EQ(app::clock_reason_names(1u | 4u | 0x40u | 1u << 20),
            (std::vector<std::string>{"idle", "power cap", "hardware thermal", "bit 20"}));
}

// Example failure: a value between the first and the last sample is lost (reasons, the lowest
// clock), or the thread continues after the end. Or the energy counts from the loading of the
// driver.
TEST(Gpu, SamplesOnAThreadOfItsOwn) {
  fake.reads = 0;
  fake.reasons = 0;
  const GpuMeter meter(kFakeBus, "");
  GpuSampler sampler(meter, std::chrono::milliseconds(2));
  fake.reasons = 4;
  // From here on: on a busy machine there may be many reads before this thread goes on.
  for (const int from = fake.reads; fake.reads < from + 6;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fake.reasons = 0;
  fake.energy_mj += 5000;
  const GpuActivity seen = sampler.stop();
  const int reads = fake.reads;
  EXPECT_GE(seen.samples, 6);
  EXPECT_EQ(seen.samples, reads);
  EXPECT_EQ(seen.sm_mhz.low, 345u);
  EXPECT_EQ(seen.sm_mhz.high, 1980u);
  EXPECT_EQ(seen.reasons, 4u);
  EXPECT_EQ(seen.power_w.low, 250.0);
  EXPECT_EQ(seen.power_w.high, 300.0);
  ASSERT_TRUE(seen.energy_j);
  EXPECT_DOUBLE_EQ(*seen.energy_j, 5.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(fake.reads, reads);

  GpuActivity long_run = seen;
  long_run.seconds = 2.0;
  EXPECT_DOUBLE_EQ(*long_run.mean_power_w(), 2.5);  // from the energy counter
  const json told = app::activity_json(meter, long_run, 100);
  EXPECT_DOUBLE_EQ(told["power_w"]["mean"].get<double>(), 2.5);
  EXPECT_DOUBLE_EQ(told["power_w"]["max"].get<double>(), 300.0);
  EXPECT_DOUBLE_EQ(told["mj_per_frame"].get<double>(), 50.0);
  EXPECT_EQ(told["sm_mhz"], (json{345, 1980}));
  EXPECT_EQ(told["clock_reasons"], (json{"power cap"}));
  long_run.seconds = 0.1;
  EXPECT_GE(*long_run.mean_power_w(), 250.0);  // from the samples

  // Samples only before and after.
  fake.reads = 1;
  GpuSampler two(meter, std::chrono::milliseconds(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(two.stop().samples, 2);
}

}  // namespace
}  // namespace ocellus::test
