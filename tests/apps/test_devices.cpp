// `--devices` of the program, and `ocellus bench devices`. Several engines of one thread on the CPU
// stand for several devices.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/device_list.h"
#include "apps/io/image_io.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kOne = {"--backend", "cpu", "--threads", "1"};
const std::vector<std::string> kTwo = {"--devices", "cpu cpu", "--threads", "1"};
const std::vector<std::string> kThree = {"--devices", "cpu cpu cpu", "--threads", "1"};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The report without times and without what tells about devices.
json comparable(json report) {
  for (const char* name :
       {"median_ms", "p99_ms", "devices", "frames_per_s", "memory_bytes", "wall_clock_ns"})
    report.erase(name);
  report["config"].erase("depth");
  for (json& frame : report["frames"]) {
    frame.erase("ms");
    frame.erase("compute_ms");
    frame.erase("wall_clock_ns");
  }
  return report;
}

/// Writes colored images with the names of a pattern.
std::string colored_frames(const std::string& folder, int count) {
  for (int f = 0; f < count; ++f) {
    std::vector<std::uint8_t> rgb;
    for (int i = 0; i < 3 * 48 * 40; ++i)
      rgb.push_back(static_cast<std::uint8_t>((i * (7 + f) + i / 97 * 13) % 256));
    app::write_png_rgb(folder + "/in" + std::to_string(f) + ".png", {48, 40}, rgb.data());
  }
  return folder + "/in%d.png";
}

// Fails when a command gives other results on several devices, in another order or in other files,
// or when a device gets no frame.
TEST(Devices, HaveTheResultsOfOne) {
  const TemporaryFolder folder;
  const std::string colored = colored_frames(folder.path(), 7);
  const std::string scene = "test:48x40,frames=7";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"restore", colored},
           {"restore", colored, "--color", "luma"},
           {"restore", scene},
           {"halftone", scene},
           {"cnn", scene, "--template", "edge"},
           {"digits", "test:digits,size=160x120,frames=7,digits=2"},
           {"cortex", "test:20x20,frames=7"}}) {
    SCOPED_TRACE(command[0] + " " + command[1]);
    const bool writes = command[0] != "cortex";
    const auto arguments = [&](const std::vector<std::string>& where, const std::string& name) {
      std::vector<std::string> all = plus(command, where);
      if (writes) all = plus(all, {"-o", folder.path() + "/" + name + "%d.png"});
      return all;
    };
    json one = json_of(arguments(kOne, "one"));
    for (const std::vector<std::string>& devices : {kTwo, kThree}) {
      json several = json_of(arguments(devices, "several"));
      ASSERT_EQ(several["frames"].size(), 7u);
      const std::size_t count = devices == kTwo ? 2 : 3;
      ASSERT_EQ(several["devices"].size(), count);
      for (const json& device : several["devices"]) {
        EXPECT_EQ(device["name"], "cpu");
        EXPECT_GE(device["frames"].get<int>(), 7 / static_cast<int>(count));
      }
      EXPECT_EQ(several["config"]["depth"], 2);
      EXPECT_GT(several["frames_per_s"].get<double>(), 0.0);
      for (int f = 0; f < 7 && writes; ++f) {
        const std::string number = std::to_string(f) + ".png";
        EXPECT_EQ(bytes_of(folder.path() + "/several" + number),
                  bytes_of(folder.path() + "/one" + number))
            << "frame " << f;
      }
      for (json* report : {&one, &several}) {
        report->erase("output");
        for (json& frame : (*report)["frames"]) frame.erase("file");
      }
      EXPECT_EQ(comparable(several), comparable(one));
    }
    EXPECT_FALSE(one.contains("devices"));
  }
}

// Fails when one device in the list is not like --backend, or when "all" is not the CPU where there
// is no other device.
TEST(Devices, MayBeOne) {
  const std::vector<std::string> command = {"restore", "test:48x40,frames=3"};
  const json one = json_of(plus(command, kOne));
  const json listed = json_of(plus(command, {"--devices", "cpu", "--threads", "1"}));
  EXPECT_FALSE(listed.contains("devices"));
  EXPECT_EQ(listed["config"]["depth"], 1);
  EXPECT_EQ(comparable(listed), comparable(one));
  // With fields of less temporal support at both ends.
  const std::vector<std::string> flow = {
      "flow", "test:48x40,frames=7", "--method", "kernels", "--taps", "7x7x5"};
  const json fields = json_of(plus(flow, {"--devices", "cpu", "--threads", "1"}));
  EXPECT_EQ(fields["frames"].size(), 6u);
  EXPECT_EQ(comparable(fields), comparable(json_of(plus(flow, kOne))));
  const json warm =
      json_of({"halftone", "test:48x40,frames=3", "--warm-start", "--devices", "cpu"});
  EXPECT_EQ(warm["frames"].size(), 3u);
  const std::vector<app::ListedDevice> all = app::parse_frame_devices("--devices", "all", {});
  const std::vector<app::ListedDevice> cuda = app::cuda_devices({});
  ASSERT_EQ(all.size(), std::max<std::size_t>(cuda.size(), 1));
  EXPECT_EQ(all[0].name, cuda.empty() ? "cpu" : "cuda:0");
}

// Fails when a list that cannot be used is accepted, or when the message does not say why.
TEST(Devices, NameWhatIsWrong) {
  const std::vector<std::string> command = {"restore", "test:48x40,frames=3"};
  const auto wrong = [&](const std::string& list, const std::vector<std::string>& says) {
    expect_error(plus(command, {"--devices", list}), says);
  };
  wrong("tpu", {"--devices: 'tpu'", "cpu, cuda or cuda:N, or all alone"});
  wrong("cpu all", {"--devices: 'all'", "all alone"});
  wrong("auto", {"--devices: 'auto'", "all alone"});
  wrong(" ", {"--devices names no device"});
  wrong("", {"--devices is empty"});
  wrong("cpu,3GB", {"'cpu,3GB'", "a limit of the memory has no meaning here"});
  wrong("cpu,3GB,1", {"3 parts"});
  wrong("cpu,", {"nothing follows the comma"});
  wrong("cuda:1023", {"cuda:1023"});
  wrong("\x1b[31m", {"\\x1b"});
  expect_error(plus(command, {"--devices", "cpu", "--backend", "cpu"}), {"--devices", "--backend"});
  const std::vector<std::string> alone = {"to one device", "1 camera cannot use 2 devices",
                                          "at most one device for each camera"};
  expect_error(plus({"halftone", "test:48x40", "--warm-start"}, kTwo),
               plus({"halftone keeps state"}, alone));
  expect_error(plus({"cortex", "test:20x20", "--learn"}, kTwo), plus({"cortex learns"}, alone));
  expect_error(plus({"cortex", "--images", "x"}, kTwo), {"--devices has no meaning here"});
  expect_error(plus({"digits", "--images", "x"}, kTwo), {"--devices has no meaning here"});
  expect_error(plus({"flow", "test:48x40"}, kTwo), plus({"flow keeps state"}, alone));
}

// Fails when a row is missing, when frames are lost or all go to one device, or when a comparison
// is left out.
TEST(BenchDevices, HasARowForEachNumberOfDevices) {
  const json report = json_of(plus({"bench", "devices", "--operator", "restore filter=gaussian-1.5",
                                    "--size", "64x48", "--frames", "30", "--depth", "2"},
                                   kThree));
  EXPECT_EQ(report["bench"], "devices");
  EXPECT_EQ(report["size"], json({64, 48}));
  EXPECT_EQ(report["config"]["operator"], "restore");
  EXPECT_EQ(report["config"]["filter"], "gaussian-1.5");
  EXPECT_EQ(report["depth"], 2);
  EXPECT_EQ(report["memory"], "host");
  ASSERT_EQ(report["devices"].size(), 3u);
  for (const json& device : report["devices"]) EXPECT_EQ(device["workers"], 1);
  ASSERT_EQ(report["rows"].size(), 3u);
  const double first = report["rows"][0]["frames_per_s"].get<double>();
  for (int n = 1; n <= 3; ++n) {
    const json& row = report["rows"][static_cast<std::size_t>(n - 1)];
    EXPECT_EQ(row["devices"], n);
    const double rate = row["frames_per_s"].get<double>();
    EXPECT_LE(row["frames_per_s_min"].get<double>(), rate);
    EXPECT_GE(row["frames_per_s_max"].get<double>(), rate);
    EXPECT_NEAR(row["efficiency"].get<double>(), rate / (n * first), 1e-9);
    EXPECT_EQ(row["frames_by_device"], json(std::vector<int>(static_cast<std::size_t>(n), 30 / n)));
    EXPECT_EQ(row["equal"], std::min(30, 2 * 2 * n + 16));
    EXPECT_EQ(row["different"], 0);
    EXPECT_EQ(row["not_compared"], 0);
  }
}

// Fails when an operator that keeps state is spread over devices, or when its cameras are not
// counted.
TEST(BenchDevices, KeepsACameraOnItsDevice) {
  const std::vector<std::string> flow = {"bench",  "devices", "--operator", "flow",
                                         "--size", "64x48",   "--frames",   "20"};
  expect_error(plus(flow, kTwo), {"--devices: flow keeps state", "1 camera cannot use 2 devices"});
  const json report = json_of(plus(plus(flow, kTwo), {"--cameras", "3"}));
  EXPECT_EQ(report["cameras"], 3);
  ASSERT_EQ(report["rows"].size(), 2u);
  EXPECT_EQ(report["rows"][0]["frames_by_device"], json({60}));
  EXPECT_EQ(report["rows"][1]["frames_by_device"], json({40, 20}));
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["equal"], 60);
    EXPECT_EQ(row["different"], 0);
  }
}

// Fails when an option is ignored, or when the message does not name the option.
TEST(BenchDevices, NamesWhatIsWrong) {
  const auto wrong = [](const std::vector<std::string>& more,
                        const std::vector<std::string>& says) {
    expect_error(plus({"bench", "devices"}, more), says);
  };
  wrong({"--operator", "restor"}, {"--operator", "'restor'", "restore"});
  wrong({"--operator", "restore depth=2"}, {"'restore depth=2'", "give --depth"});
  wrong({"--operator", "restore ! flow"}, {"--operator", "'!'"});
  wrong({"--operator", "restore filter=x"}, {"--operator", "filter"});
  wrong({"--depth", "9"}, {"--depth", "8"});
  wrong({"--cameras", "0"}, {"--cameras", "256"});
  wrong({"--devices", "cpu", "--memory", "pinned"}, {"--memory pinned", "cpu"});
  wrong({"--input", "test:", "--size", "64x48"}, {"--size has no meaning here"});
  wrong({"--devices", "cpu,1GB"}, {"limit"});
}

}  // namespace
}  // namespace ocellus::test
