// `ocellus bench`: options, errors, rows and their figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "apps/io/image_io.h"
#include "apps/io/test_scene.h"
#include "apps/measure/image_errors.h"
#include "ocellus/engine.h"
#include "program_checks.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

std::vector<std::string> bench(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"bench", "flow"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The reason why no device can be used, or an empty text.
std::string why_no_device() {
  EngineConfig config;
  config.backend.choice = BackendChoice::kCuda;
  const Expected<EngineInfo> info = Engine::probe(config);
  return info ? "" : info.error().text;
}

// Example failure: on the CPU, the paper's schedules (GPU kernels) are left out silently, or an
// option of the device is accepted and ignored.
TEST(Bench, RefusesDeviceOptionsOnTheCpu) {
  expect_error(bench({"--backend", "cpu", "--schedule", "papers"}),
               {"--schedule papers", "GPU", "cpu"});
  expect_error(bench({"--backend", "cpu", "--schedule", "all"}), {"--schedule all", "GPU", "cpu"});
  expect_error(bench({"--backend", "cpu", "--depth", "2"}), {"--depth has no meaning here: "});
  expect_error(bench({"--schedule", "theirs"}), {"theirs", "papers"});
  expect_error(bench({"--schedule", "papers", "--form", "uniform"}),
               {"--form has no meaning here: "});
  expect_error(bench({"--depth", "9"}), {"9", "8"});
  expect_error(bench({"--size", "64x48,64"}), {"--size", "'64'"});
  expect_error(bench({"--input", "test:64x48", "--size", "64x48"}),
               {"--size has no meaning here: "});
}

// Example failure: without ocellus-bench beside the program, the error does not tell what is
// missing or how to get it, or the exit status is that of a failed measurement.
TEST(Bench, NamesTheProgramThatIsMissing) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path program = program_path();
  const std::string alone = folder / "ocellus";
  fs::copy_file(program, alone);
  // The libraries of the self-contained folder are found from the place of the program.
  const std::string libraries = (program.parent_path() / "../lib").string();
  setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
  setenv("OCELLUS_PROGRAM", alone.c_str(), 1);
  expect_error({"bench", "flow", "--help"}, {folder / "ocellus-bench", "OCELLUS_BENCH=ON"});
  setenv("OCELLUS_PROGRAM", program.c_str(), 1);
  unsetenv("LD_LIBRARY_PATH");
}

// Example failure: without a device, the CPU is measured instead, or the message lacks the reason.
TEST(Bench, ReportsWhyThereIsNoDevice) {
  const std::string why = why_no_device();
  if (why.empty()) GTEST_SKIP() << "a device is available";
  expect_error(bench({"--backend", "cuda"}), {"cuda", why});
  expect_error(bench({"--backend", "cuda", "--schedule", "papers"}), {"cuda", why});
}

// Example failure: only the first or the last of several sizes is measured, or a row lacks its
// size.
TEST(Bench, MeasuresEverySize) {
  const json both = json_of(bench({"--backend", "cpu", "--size", "48x32,40x24", "--size", "32x32",
                                   "--form", "uniform", "--frames", "2", "--no-peers"}));
  EXPECT_FALSE(both.contains("size"));
  ASSERT_EQ(both["rows"].size(), 3u);
  EXPECT_EQ(both["rows"][0]["size"], json({48, 32}));
  EXPECT_EQ(both["rows"][1]["size"], json({40, 24}));
  EXPECT_EQ(both["rows"][2]["size"], json({32, 32}));
  const json one = json_of(bench(
      {"--backend", "cpu", "--size", "48x32", "--form", "uniform", "--frames", "2", "--no-peers"}));
  EXPECT_EQ(one["size"], json({48, 32}));
  ASSERT_EQ(one["rows"].size(), 1u);
  EXPECT_EQ(one["rows"][0]["size"], json({48, 32}));
}

// Example failure: full kernels are measured without being asked for, and the memory does not hold
// them, or their rows are those of other kernels.
TEST(Bench, FullKernelsMustBeAskedFor) {
  const auto rows = [](const char* form) {
    const json report = json_of(bench({"--backend", "cpu", "--size", "48x32", "--form", form,
                                       "--taps", "5x5x5", "--frames", "2", "--no-peers"}));
    std::vector<std::string> kernels;
    for (const json& row : report["rows"]) kernels.push_back(row["config"].value("kernels", ""));
    return kernels;
  };
  EXPECT_EQ(rows("full"), (std::vector<std::string>{"full", "full"}));
  const auto all = rows("all");
  EXPECT_EQ(std::count(all.begin(), all.end(), "full"), 0);
  EXPECT_EQ(std::count(all.begin(), all.end(), "per-pixel"), 2);
}

// Example failure: a row of a device is missing or has no figure, or the paper's schedules compute
// a different flow than the library. Or a floor exceeds the measured time by more than caches can
// explain.
TEST(Bench, DeviceRowsAreCompleteAndConsistent) {
  if (const std::string why = why_no_device(); !why.empty())
    GTEST_SKIP() << "no CUDA device: " << why;
  const json report = json_of(bench({"--backend", "cuda", "--schedule", "all", "--size",
                                     "160x120,96x64", "--frames", "100", "--depth", "2"}));
  EXPECT_EQ(report["backend"], "cuda");
  EXPECT_EQ(report["depth"], 2);
  const json& machine = report["machine"];
  for (const char* name : {"read_gb_per_s", "copy_gb_per_s", "gflops", "clock_mhz", "l2_bytes"})
    EXPECT_GT(machine[name].get<double>(), 0.0) << name;

  std::map<std::string, int> groups;
  double ours = 0.0;
  for (const json& row : report["rows"]) {
    const std::string name = row["name"].get<std::string>();
    SCOPED_TRACE(name);
    ASSERT_FALSE(row.contains("not_run")) << row["not_run"];
    const std::string group = row["group"].get<std::string>();
    ++groups[group];
    EXPECT_NEAR(row["frames_per_s"].get<double>() * row["frame_ms"].get<double>(), 1000.0, 1e-6);
    EXPECT_LE(row["frames_per_s_min"].get<double>(), row["frames_per_s_max"].get<double>());
    EXPECT_GE(row["p99_ms"].get<double>(), row["median_ms"].get<double>());
    EXPECT_LE(row["device_median_ms"].get<double>(), row["median_ms"].get<double>());
    EXPECT_GT(row["device_median_ms"].get<double>(), 0.0);
    EXPECT_GT(row["floor_ms"].get<double>(), 0.0);
    EXPECT_NEAR(row["ratio"].get<double>(),
                row["frame_ms"].get<double>() / row["floor_ms"].get<double>(), 1e-9);
    if (row["floor_by"] == "operations") {
      EXPECT_GT(row["ratio"].get<double>(), 0.95);
    }
    if (name == "per-pixel 15x15x20 float") ours = row["accuracy"]["epe"].get<double>();
    if (group == "paper") {
      EXPECT_GT(row["ours_faster_by"].get<double>(), 0.0);
      // 41,400 operations for the convolutions of a pixel: equation (4) of the paper.
      const double pixels = row["size"][0].get<double>() * row["size"][1].get<double>();
      EXPECT_GT(row["mflop_per_frame"].get<double>() * 1e6, 41400.0 * pixels);
      EXPECT_LT(row["mflop_per_frame"].get<double>() * 1e6, 42000.0 * pixels);
      EXPECT_NEAR(row["accuracy"]["epe"].get<double>(), ours, 1e-4);
    }
    if (group == "paper, figure 10") {
      EXPECT_GT(row["expected_ms"].get<double>(), 0.0);
    }
  }
  EXPECT_EQ(groups["ours"], 2 * 6);
  EXPECT_EQ(groups["paper"], 2 * 6);
  EXPECT_EQ(groups["paper, figure 10"], 2 * 8);
  EXPECT_EQ(groups["paper, figures 11 and 12"], 2 * 2);
}

// Fails when a row is missing, when no or more than one schedule is marked as the chosen one, when
// a row computes another picture than the recursion, or when a floor has a wrong unit.
TEST(Bench, RestoreRowsAreCompleteAndConsistent) {
  const json report = json_of({"bench", "restore", "--backend", "cpu", "--size", "96x64,64x48",
                               "--frames", "3", "--threads", "1", "--support", "3,7"});
  EXPECT_EQ(report["bench"], "restore");
  EXPECT_EQ(report["frames"], 3);
  std::map<std::string, int> ours;
  std::map<std::string, int> chosen;
  for (const json& row : report["rows"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    EXPECT_GT(row["median_ms"], 0.0);
    EXPECT_LE(row["largest_difference"], 1.0);
    EXPECT_GT(row["response"], 10);
    EXPECT_LE(row["response"], 64);
    if (row["group"] == "peer") continue;
    const double pixels = row["size"][0].get<double>() * row["size"][1].get<double>();
    EXPECT_NEAR(row["mb_per_frame"].get<double>(), 2e-6 * pixels, 1e-9);
    EXPECT_GT(row["ratio"], 0.3);
    const std::string group = row["size"].dump() + row["support"].dump();
    ++ours[group];
    chosen[group] += row["chosen"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(ours.size(), 4u);
  for (const auto& [group, count] : ours) {
    EXPECT_EQ(count, 2) << group;
    EXPECT_EQ(chosen[group], 1) << group;
  }
  expect_error({"bench", "restore", "--support", "32"}, {"--support", "32"});
  expect_error({"bench", "restore", "--backend", "cpu", "--schedule", "papers"}, {"papers", "cpu"});
}

// Fails when a schedule is missing, or when the counts of the paper are not those of its steps.
TEST(Bench, RestoreDeviceRowsAreComplete) {
  if (const std::string why = why_no_device(); !why.empty())
    GTEST_SKIP() << "no CUDA device: " << why;
  const TemporaryFolder folder;
  const json report =
      json_of({"bench", "restore", "--backend", "cuda", "--schedule", "all", "--size", "160x120",
               "--support", "3,7", "--format", "float", "--plot", folder / "time.svg"});
  EXPECT_EQ(report["rows"].size(), 2u * 7u);
  int counted = 0;
  for (const json& row : report["rows"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    ASSERT_FALSE(row.contains("not_run")) << row["not_run"];
    EXPECT_GT(row["frame_ms"].get<double>(), 0.0);
    if (!row.contains("counts")) continue;
    ++counted;
    const json& counts = row["counts"];
    const double p1 = counts["p1"].get<double>();
    const double m = row["support"].get<double>();
    EXPECT_GT(p1, 0.0);
    EXPECT_LT(p1, 1.0);
    EXPECT_GE(counts["c1"].get<double>(), 1.0);
    EXPECT_NEAR(counts["saved_accesses"].get<double>(),
                m - 5 - p1 * (counts["c1"].get<double>() * m - 5), 1e-9);
    EXPECT_GE(counts["accesses_per_pixel"].get<double>(), 8.0);
    EXPECT_GE(counts["rows_per_pixel"].get<double>(), 1.0);
  }
  EXPECT_EQ(counted, 2);
}

// Example failure: a row is missing, or the quality is taken from the wrong frame (the last one for
// a warm start, otherwise the first). Or a floor exceeds the measured time by a factor that only a
// wrong unit explains.
TEST(Bench, HalftoneRowsAreCompleteAndConsistent) {
  const json report = json_of({"bench", "halftone", "--backend", "cpu", "--size", "96x64,64x48",
                               "--frames", "3", "--threads", "1"});
  EXPECT_EQ(report["bench"], "halftone");
  EXPECT_EQ(report["frames"], 3);
  EXPECT_GT(report["machine"]["gflops"], 0.5);
  ASSERT_EQ(report["rows"].size(), 16u);
  std::map<std::string, double> seen;
  std::map<std::string, int> sweeps;
  for (const json& row : report["rows"]) {
    const std::string name = row["name"].get<std::string>();
    SCOPED_TRACE(name);
    const double pixels = row["size"][0].get<double>() * row["size"][1].get<double>();
    EXPECT_GT(row["median_ms"], 0.0);
    EXPECT_GE(row["p99_ms"], row["median_ms"]);
    EXPECT_NEAR(row["mpixel_per_s"].get<double>() * row["median_ms"].get<double>(), pixels * 1e-3,
                1e-6);
    EXPECT_NEAR(row["mb_per_frame"].get<double>(), 2e-6 * pixels, 1e-9);
    EXPECT_GT(row["mflop_per_frame"].get<double>() * 1e6, 2.0 * 17 * pixels);
    EXPECT_GT(row["ratio"], 0.5);
    EXPECT_GT(row["sweeps"], 1);
    EXPECT_GT(row["hvs_psnr"], 20.0);
    const bool warm = name.find("warm start") != std::string::npos;
    EXPECT_EQ(row["quality_of_frame"], warm ? 5 : 0);
    if (row["size"] == json({96, 64})) {
      seen[name] = row["hvs_psnr"].get<double>();
      sweeps[name] = row["sweeps"].get<int>();
    }
  }
  EXPECT_GT(seen["preset quality"], seen["hlf3 from noise"]);
  const TemporaryFolder folder;
  const std::string scene = "test:96x64,frames=6";
  for (const auto& [name, frame, more] :
       {std::tuple{"preset quality", 0, std::vector<std::string>{}},
        std::tuple{"preset quality, warm start", 5, std::vector<std::string>{"--warm-start"}}}) {
    std::vector<std::string> halftone = {"halftone", scene, "-o", folder / "o%d.png"};
    halftone.insert(halftone.end(), more.begin(), more.end());
    const json dots = json_of(halftone);
    EXPECT_EQ(sweeps[name], dots["frames"][static_cast<std::size_t>(frame)]["sweeps"]) << name;
    const auto errors = app::seen_errors(
        app::gray_plane(app::read_image(folder / ("o" + std::to_string(frame) + ".png"))),
        app::gray_plane(app::TestScene::parse(scene).frame(frame)), 1.5, app::kSeenBorder);
    ASSERT_TRUE(errors);
    EXPECT_NEAR(seen[name], errors->psnr, 1e-9) << name;
  }
  expect_error({"bench", "halftone", "--input", "test:64x48", "--size", "64x48"},
               {"--size has no meaning here: "});
  expect_error({"bench", "halftone", "--size", "64"}, {"--size", "'64'"});
  expect_error({"bench", "halftone", "--sigma", "0"}, {"--sigma"});
  expect_error({"bench", "halftone", "--backend", "cpu", "--schedule", "papers"},
               {"--schedule papers", "GPU kernels"});
  expect_error({"bench", "halftone", "--backend", "cpu", "--depth", "2"},
               {"--depth has no meaning here"});
  if (const std::string why = why_no_device(); !why.empty())
    expect_error({"bench", "halftone", "--backend", "cuda"}, {why});
}

// Example failure: a row of a device is missing or has no figure. Or the paper's schedules stop
// when this library's network converges, although they cannot detect that, or the row of the CPU
// has a floor of the device.
TEST(Bench, HalftoneDeviceRowsAreCompleteAndConsistent) {
  if (const std::string why = why_no_device(); !why.empty())
    GTEST_SKIP() << "no CUDA device: " << why;
  const json report = json_of({"bench", "halftone", "--backend", "cuda", "--schedule", "all",
                               "--size", "96x64", "--frames", "100", "--depth", "2"});
  EXPECT_EQ(report["backend"], "cuda");
  EXPECT_EQ(report["depth"], 2);
  const std::string safe = "paper, without a look at the fixed point";
  const std::string core = "ours, one core of the CPU";
  std::map<std::string, int> groups;
  std::map<std::string, double> least_ms;
  for (const json& row : report["rows"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    ASSERT_FALSE(row.contains("not_run")) << row["not_run"];
    const std::string group = row["group"].get<std::string>();
    const double ms = row["frame_ms"].get<double>();
    if (++groups[group] == 1 || ms < least_ms[group]) least_ms[group] = ms;
    EXPECT_NEAR(row["frames_per_s"].get<double>() * ms, 1000.0, 1e-6);
    EXPECT_GE(row["p99_ms"].get<double>(), row["median_ms"].get<double>());
    EXPECT_LE(row["device_median_ms"].get<double>(), row["median_ms"].get<double>());
    EXPECT_EQ(row.contains("ratio"), group != core);
    if (group != core) {
      EXPECT_GT(row["ratio"].get<double>(), 0.95);
    }
    if (group == "paper" || group == safe) {
      EXPECT_GT(row["ours_faster_by"].get<double>(), 0.0);
    }
  }
  EXPECT_EQ(groups["ours"], 8);
  EXPECT_EQ(groups["ours, the paper's task"], 1);
  EXPECT_EQ(groups["paper"], 6);
  EXPECT_EQ(groups[safe], 1);
  EXPECT_EQ(groups[core], 1);
  EXPECT_GT(least_ms[safe], least_ms["paper"]);
}

// Example failure: a program or a layer is missing, a column has the times of another one, or an
// option that has no effect is accepted.
TEST(Bench, DigitLayersAreCompleteAndConsistent) {
  const std::vector<std::string> command = {"bench",     "digits", "--schedule", "all",
                                            "--planes",  "5,7,20", "--frames",   "2",
                                            "--backend", "cpu"};
  const json report = json_of(command);
  EXPECT_EQ(report["bench"], "digits");
  EXPECT_EQ(report["schedule"], "all");
  ASSERT_EQ(report["tables"].size(), 1u);
  const json& table = report["tables"][0];
  EXPECT_EQ(table["planes"], json({16, 5, 7, 20}));
  EXPECT_EQ(table["characters"], 2);
  ASSERT_EQ(table["active"].size(), 4u);
  for (const json& share : table["active"]) {
    EXPECT_GT(share.get<double>(), 0.0);
    EXPECT_LT(share.get<double>(), 1.0);
  }
  double active = 0.0;
  const std::array<double, 4> inputs{2 * 71 * 71, 16 * 37 * 37, 5 * 21 * 21, 7 * 13 * 13};
  for (std::size_t i = 0; i < 4; ++i) active += inputs[i] * table["active"][i].get<double>();
  EXPECT_NEAR(table["active_of_all"].get<double>(),
              active / (inputs[0] + inputs[1] + inputs[2] + inputs[3]), 1e-9);
  std::vector<std::string> names;
  for (const json& column : table["columns"]) {
    SCOPED_TRACE(names.emplace_back(column["name"].get<std::string>()));
    EXPECT_EQ(column["processor"], "cpu");
    EXPECT_EQ(column["group"], names.back() == "ours" ? "ours" : "paper");
    ASSERT_EQ(column["simple_ms"].size(), 4u);
    for (const json& ms : column["simple_ms"]) EXPECT_GT(ms.get<double>(), 0.0);
    EXPECT_GT(column["character_ms"].get<double>(), 0.0);
    EXPECT_LT(column["largest_difference"].get<double>(), 1e-4);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"F", "S", "G", "F blocks", "G tiles", "ours"}));
  for (const json& column : table["columns"]) {
    SCOPED_TRACE(column["name"].get<std::string>());
    EXPECT_EQ(column.contains("mflops"), column["name"] != "ours");
    if (!column.contains("mflops")) continue;
    ASSERT_EQ(column["mb_per_s"].size(), 4u);
    // Each operation reads or writes up to two floats.
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GT(column["mb_per_s"][i].get<double>(), column["mflops"][i].get<double>());
      EXPECT_LT(column["mb_per_s"][i].get<double>(), 20.0 * column["mflops"][i].get<double>());
    }
  }
  EXPECT_EQ(table["columns"][0]["energy_reads"], 10082 + 21904 + 5 * 441 + 7 * 169);
  EXPECT_EQ(table["columns"][2]["cell_reads"], 0);
  EXPECT_GT(table["columns"][1]["cell_reads"], table["columns"][0]["cell_reads"]);
  // S takes all inputs, and F one of ten.
  EXPECT_GT(table["columns"][1]["simple_ms"][2].get<double>(),
            table["columns"][0]["simple_ms"][2].get<double>());
  const json papers = json_of({"bench", "digits", "--schedule", "papers", "--planes", "1,1,11",
                               "--frames", "1", "--backend", "cpu", "--windows", "paper"});
  EXPECT_EQ(papers["tables"][0]["windows"], "paper");
  EXPECT_EQ(papers["tables"][0]["columns"].size(), 5u);
}

TEST(Bench, DigitLayersRefuseOptionsWithoutEffect) {
  expect_error({"bench", "digits", "--planes", "26,78,70"}, {"--planes has no meaning here: "});
  expect_error({"bench", "digits", "--windows", "paper"}, {"--windows has no meaning here: "});
  expect_error({"bench", "digits", "--schedule", "all", "--patches", "8"},
               {"--patches has no meaning here: "});
  expect_error({"bench", "digits", "--schedule", "all", "--threads", "2"},
               {"--threads has no meaning here: "});
  expect_error({"bench", "digits", "--schedule", "papers", "--backend", "cpu", "--plot", "a.svg"},
               {"--plot has no meaning here: "});
  expect_error({"bench", "digits", "--plot", "a.svg"}, {"--plot requires --labels"});
  expect_error({"bench", "digits", "--schedule", "papers", "--depth", "2"},
               {"--depth has no meaning here: "});
  expect_error({"bench", "digits", "--schedule", "all", "--planes", "26,78,9"},
               {"--planes", "9", "11 to 8192"});
  expect_error({"bench", "digits", "--schedule", "all", "--planes", "26,78"}, {"--planes"});
  expect_error({"bench", "digits", "--schedule", "theirs"}, {"theirs", "papers"});
  expect_error({"bench", "digits", "--schedule", "all", "--model", "none.ocellus"},
               {"none.ocellus"});
}

TEST(Bench, DigitLayersOfADeviceAreComplete) {
  if (const std::string why = why_no_device(); !why.empty())
    GTEST_SKIP() << "no CUDA device: " << why;
  const json report = json_of({"bench", "digits", "--backend", "cuda", "--schedule", "all",
                               "--planes", "26,78,70", "--frames", "3"});
  std::vector<std::string> names;
  for (const json& column : report["tables"][0]["columns"]) {
    SCOPED_TRACE(names.emplace_back(column["name"].get<std::string>()));
    ASSERT_EQ(column["simple_ms"].size(), 4u);
    for (const json& ms : column["simple_ms"]) EXPECT_GT(ms.get<double>(), 0.0);
    EXPECT_GT(column["character_ms"].get<double>(), 0.0);
    EXPECT_LT(column["largest_difference"].get<double>(), 1e-4);
    if (names.back()[0] != 'T') continue;
    EXPECT_GT(column["transfer_ms"].get<double>(), 0.0);
    EXPECT_GT(column["several_in_turn_ms"].get<double>(), 0.0);
    EXPECT_GT(column["several_overlapped_ms"].get<double>(), 0.0);
    ASSERT_EQ(column["threads"].size(), 4u);
    ASSERT_EQ(column["instruction_share"].size(), 4u);
    for (const json& share : column["instruction_share"]) {
      EXPECT_GT(share.get<double>(), 0.0);
      EXPECT_LT(share.get<double>(), 1.0);
    }
    EXPECT_EQ(column.contains("trials"), names.back() == "T4" || names.back() == "T5");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"F", "S", "G", "F blocks", "G tiles", "ours", "T1",
                                             "T2", "T3", "T4", "T5", "B", "ours"}));
}

}  // namespace
}  // namespace ocellus::test
