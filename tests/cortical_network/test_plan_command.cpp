// ocellus cortex plan: what it prints is the placement of the library, and every mistake is
// reported.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "apps/program_checks.h"
#include "ocellus/cortical_placement.h"

namespace ocellus::test {
namespace {

std::vector<std::string> plan(const std::string& hypercolumns, const std::string& devices) {
  return {"cortex", "plan", "--hypercolumns", hypercolumns, "--simulate", devices};
}

PlacementDevice device(PlacementKind kind, const std::string& name, double speed,
                       std::uint64_t memory) {
  PlacementDevice made;
  made.kind = kind;
  made.name = name;
  made.speed = speed;
  made.memory = memory;
  if (kind == PlacementKind::kCpu) made.launch_s = PlacementReference{}.cpu_launch_s;
  return made;
}

// Fails if the options do not reach the library, or if the JSON is not its placement.
TEST(PlanCommand, JsonIsThePlacement) {
  const auto report =
      json_of(plus(plan("65536", "gpu:1.0x,80GB gpu:0.4x,1.5GiB cpu:0.05x"), {"--inputs", "64"}));
  CorticalNetworkConfig config = binary_tree(32768, 128);
  config.width = 32768 * 32;
  config.levels[0].window_width = 32;
  config.levels[0].stride_x = 32;
  const auto made =
      place_cortical_network(config, {device(PlacementKind::kGpu, "gpu 0", 1.0, 80'000'000'000),
                                      device(PlacementKind::kGpu, "gpu 1", 0.4, 3ull << 29),
                                      device(PlacementKind::kCpu, "cpu", 0.05, kUnlimitedMemory)});
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(report["hypercolumns"], 65535);
  EXPECT_EQ(report["levels"].size(), 16u);
  EXPECT_EQ(report["bytes"], made->bytes);
  EXPECT_EQ(report["step_s"].get<double>(), made->step_s);
  EXPECT_EQ(report["ideal_s"].get<double>(), made->ideal_s);
  EXPECT_EQ(report["cpu_from_level"], made->cpu_level + 1);
  EXPECT_EQ(report["split_levels"], made->split_levels);
  EXPECT_EQ(report["streamed"], false);
  ASSERT_EQ(report["devices"].size(), 3u);
  EXPECT_EQ(report["devices"][0]["name"], "gpu 0");
  EXPECT_EQ(report["devices"][1]["memory_bytes"], 3ull << 29);
  EXPECT_EQ(report["devices"][1]["measured"], false);
  EXPECT_TRUE(report["devices"][2]["memory_bytes"].is_null());
  ASSERT_EQ(report["parts"].size(), made->parts.size());
  std::int64_t placed = 0;
  for (std::size_t i = 0; i < made->parts.size(); ++i) {
    EXPECT_EQ(report["parts"][i]["hypercolumns"], made->parts[i].hypercolumns);
    EXPECT_EQ(report["parts"][i]["time_s"].get<double>(), made->parts[i].seconds);
    placed += report["parts"][i]["hypercolumns"].get<std::int64_t>();
  }
  EXPECT_EQ(placed, 65535);
  const double sum = report["parts_s"].get<double>() + report["gather_s"].get<double>() +
                     report["meet_s"].get<double>() + report["to_host_s"].get<double>() +
                     report["cpu_s"].get<double>();
  EXPECT_NEAR(report["step_s"].get<double>(), sum, 1e-12);
}

// Fails if the turns of a streamed network are missing, or leave out a root.
TEST(PlanCommand, TurnsAreListed) {
  const auto report = json_of(plan("65536", "gpu:1x,3GB"));
  EXPECT_EQ(report["streamed"], true);
  EXPECT_TRUE(report["cpu_from_level"].is_null());
  const auto& part = report["parts"][0];
  ASSERT_GT(part["turns"].size(), 2u);
  int next = 0;
  for (const auto& turn : part["turns"]) {
    EXPECT_EQ(turn["first_root"], next);
    next += turn["roots"].get<int>();
  }
  EXPECT_EQ(next, part["last_root"].get<int>() + 1);
  const ChildResult text = run_program(plan("65536", "gpu:1x,3GB"));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* says : {"gpu 0 streams", "resident", "each", "moved in a step"})
    EXPECT_NE(text.out.find(says), std::string::npos) << text.out;
}

// Fails if the text misses a part of the plan, the definition of the speed, or that speeds were
// given.
TEST(PlanCommand, TextTellsThePlan) {
  const ChildResult text = run_program(plan("65536", "gpu:1.0x,80GB gpu:0.4x,8GB cpu:0.05x"));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* says : {"65535 hypercolumns in 16 levels", "gpu 1: 0.4x, given and not measured",
                           "no limit", "1.0x is 4250 GB/s", "A level costs 5 us on a GPU",
                           "the CPU computes the levels from", "step: ", "ideal split"})
    EXPECT_NE(text.out.find(says), std::string::npos) << says << "\n" << text.out;
}

// Fails if the CPU of this machine is not measured.
TEST(PlanCommand, CpuIsMeasured) {
  const std::vector<std::string> command = {"cortex", "plan",          "--hypercolumns",
                                            "63",     "--minicolumns", "32"};
  const auto report = json_of(plus(command, {"--devices", "cpu"}));
  ASSERT_EQ(report["devices"].size(), 1u);
  EXPECT_EQ(report["devices"][0]["measured"], true);
  EXPECT_TRUE(report["devices"][0]["speed"].is_null());
  EXPECT_EQ(report["devices"][0]["levels"].size(), 6u);
  EXPECT_EQ(report["cpu_from_level"], 1);
  EXPECT_GT(report["step_s"].get<double>(), 0.0);
  for (const auto& options : {std::vector<std::string>{"--simulate", "cpu:measured"}, {}}) {
    const ChildResult text = run_program(plus(command, options));
    EXPECT_NE(text.out.find("cpu: times measured on this machine"), std::string::npos) << text.out;
  }
}

// Fails if --placement has no effect, or if an even split that does not fit is not an error.
TEST(PlanCommand, EvenSplit) {
  const std::string devices = "gpu:1.0x,3GB gpu:0.4x,1GB cpu:0.05x";
  const auto report = json_of(plus(plan("16383", devices), {"--placement", "even", "--json"}));
  ASSERT_EQ(report["parts"].size(), 3u);
  EXPECT_EQ(report["parts"][0]["hypercolumns"], 8191);
  EXPECT_EQ(report["parts"][1]["hypercolumns"], 8191);
  EXPECT_EQ(report["cpu_from_level"], 14);
  expect_error(plus(plan("32767", devices), {"--placement", "even"}),
               {"even share", "'gpu 1' is 1000000000 bytes"});
}

// Fails if --levels is not the hierarchy that is planned.
TEST(PlanCommand, AnyHierarchy) {
  const auto report = json_of({"cortex", "plan", "--levels", "12x12/4x4:64,2x2/2x2:32", "--size",
                               "64x48", "--simulate", "gpu:1x,1GB"});
  EXPECT_EQ(report["hypercolumns"], 14 * 10 + 7 * 5);
  EXPECT_EQ(report["levels"][1]["columns"], 7);
  EXPECT_EQ(report["levels"][0]["minicolumns"], 64);
}

// Fails if a malformed part is accepted, or if the message does not name it and what is valid.
TEST(PlanCommand, Mistakes) {
  const auto simulate = [](const std::string& devices, const std::vector<std::string>& says) {
    expect_error(plan("1023", devices), says);
  };
  simulate("tpu:1x,8GB", {"--simulate: 'tpu:1x,8GB'", "kind 'tpu'", "gpu or cpu"});
  simulate("gpu", {"'gpu'", "speed is missing"});
  simulate("gpu:1x", {"'gpu:1x'", "memory is missing", "gpu:1x,80GB"});
  for (const char* speed : {"", "1", "x", "0x", "-1x", "nanx", "infx", "1xx", "1e999x", "fastx"})
    simulate(std::string("gpu:") + speed + ",8GB", {"speed '" + std::string(speed) + "'", "0.4x"});
  for (const char* memory :
       {"", "8", "GB", "0GB", "-8GB", "8 ", "8gb", "nanGB", "1e30TB", "1e-9MB"})
    simulate(std::string("cpu:1x,") + memory, {"memory '", "80GB"});
  simulate("gpu:1x,8GB,2", {"3 parts"});
  simulate("gpu:measured,8GB", {"a simulated GPU is not measured", "gpu:1.0x,80GB", "--devices"});
  simulate("cpu:1x cpu:2x", {"CPUs", "one"});
  simulate(" ", {"no device"});
  simulate("", {"--simulate is empty"});
  simulate("gpu:1x,1MB", {"more than the memory of every GPU", "'gpu 0'"});
  simulate("gpu:1x,8GB gpu:\x1b[31mx,8GB", {"\\x1b"});
  const auto devices = [](const std::string& text, const std::vector<std::string>& says) {
    expect_error({"cortex", "plan", "--hypercolumns", "7", "--devices", text}, says);
  };
  devices("tpu", {"--devices: 'tpu'", "cpu, cuda or cuda:N"});
  devices("cuda:x", {"--devices: 'cuda:x'", "cuda:N"});
  devices("cpu,8", {"--devices: 'cpu,8'", "memory '8'", "80GB"});
  devices("cpu,8GB,2", {"3 parts"});
  devices("cpu cpu", {"CPUs", "one"});
  devices(" ", {"--devices names no device"});
  devices("cuda:1023", {"cuda:1023"});
  expect_error(plus(plan("7", "cpu:1x"), {"--devices", "cpu"}), {"--devices", "--simulate"});
  expect_error({"cortex", "plan"}, {"--hypercolumns"});
  expect_error({"cortex", "plan", "--hypercolumns", "0"}, {"--hypercolumns"});
  expect_error({"cortex", "plan", "--hypercolumns", "7", "--inputs", "3"}, {"even"});
  expect_error({"cortex", "plan", "--hypercolumns", "7", "--levels", "2x1/2x1:8", "--size", "8x1"},
               {"--hypercolumns", "--levels has the whole network"});
  expect_error({"cortex", "plan", "--levels", "2x1/2x1:8"}, {"--size is missing"});
  expect_error({"cortex", "plan", "--hypercolumns", "7", "--size", "8x1"}, {"--size"});
  expect_error({"cortex", "plan", "--levels", "2x1/2x1", "--size", "8x1"}, {"'2x1/2x1'"});
  expect_error({"cortex", "plan", "--levels", "2x1/2x1:8,1x1/1x1:8", "--size", "8x1", "--simulate",
                "cpu:1x"},
               {"level 2", "must converge"});
  // cortex without the subcommand still takes files.
  expect_error({"cortex", "no-such-plan.png"}, {"no-such-plan.png"});
  expect_error({"train", "plan"}, {"unknown subcommand 'plan'"});
}

}  // namespace
}  // namespace ocellus::test
