// Cortical networks on a CUDA device, with all schedules, against the network on the CPU: winners,
// weights and numbers of wins are equal after every step.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "bench/cortical_network/device_network.h"
#include "bench/papers/cortical_network/paper_device_network.h"
#include "conformance/conformance.h"
#include "cortical_network/network_patterns.h"
#include "ocellus/cortical_network.h"

namespace ocellus::test {
namespace {

using cuda::DeviceNetwork;
using paper::NetworkSchedule;
using paper::PaperDeviceNetwork;

using NetworkOnDevice = OnDevice;

Engine engine_for(const Footprint& bytes) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory += bytes;
  return must(Engine::create(settings));
}

/// Ends the program if the kernels take 60 seconds: nothing can stop a kernel whose blocks wait for
/// ever.
template <typename Run>
void in_time(const Run& run) {
  std::promise<void> ended;
  std::thread guard([done = ended.get_future()] {
    if (done.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return;
    std::fprintf(stderr, "the schedule did not end\n");
    std::_Exit(1);
  });
  run();
  ended.set_value();
  guard.join();
}

template <typename Network>
void expect_winners(Network& network, const CorticalNetwork& expected, int level) {
  const auto winners = expected.winners(level);
  std::vector<std::int32_t> got(winners.size());
  must(network.read_winners(level, got));
  for (std::size_t h = 0; h < got.size(); ++h)
    ASSERT_EQ(got[h], winners[h]) << "level " << level << " hypercolumn " << h;
}

/// Weights as CorticalNetwork::weight has them.
void expect_weights(DeviceNetwork& network, const CorticalNetwork& expected) {
  auto& memory = network.memory();
  const detail::Hierarchy& hierarchy = memory.plan().hierarchy;
  std::vector<std::uint16_t> weights(hierarchy.weights);
  must(memory.read(weights.data(), memory.arguments().weights,
                   weights.size() * sizeof(std::uint16_t)));
  for (int l = 0; l < expected.levels(); ++l) {
    const int hypercolumns = static_cast<int>(expected.winners(l).size());
    for (int h = 0; h < hypercolumns; ++h)
      for (int m = 0; m < expected.minicolumns(l); ++m)
        for (int i = 0; i < expected.inputs(l); ++i)
          ASSERT_EQ(weights[hierarchy.weights_of(l, h, m) + static_cast<std::size_t>(i)],
                    expected.weight(l, h, i, m))
              << "level " << l << " hypercolumn " << h << " of " << m << " input " << i;
  }
}

void expect_weights(PaperDeviceNetwork& network, const CorticalNetwork& expected) {
  auto& memory = network.memory();
  const detail::Hierarchy& hierarchy = memory.plan().hierarchy;
  const auto& striped_at = memory.arguments().striped_at;
  const auto top = static_cast<std::size_t>(expected.levels() - 1);
  const detail::LevelPlan& highest = hierarchy.level(expected.levels() - 1);
  std::vector<std::uint16_t> weights(static_cast<std::size_t>(
      striped_at[top] + std::int64_t{highest.hypercolumns} * highest.inputs * highest.padded));
  must(memory.read(weights.data(), memory.arguments().weights,
                   weights.size() * sizeof(std::uint16_t)));
  for (int l = 0; l < expected.levels(); ++l) {
    const int hypercolumns = static_cast<int>(expected.winners(l).size());
    for (int h = 0; h < hypercolumns; ++h)
      for (int i = 0; i < expected.inputs(l); ++i)
        for (int m = 0; m < expected.minicolumns(l); ++m)
          ASSERT_EQ(
              weights[static_cast<std::size_t>(
                  striped_at[static_cast<std::size_t>(l)] +
                  (std::int64_t{h} * expected.inputs(l) + i) * hierarchy.level(l).padded + m)],
              expected.weight(l, h, i, m))
              << "level " << l << " hypercolumn " << h << " of " << m << " input " << i;
  }
}

/// Steps with both networks; every seventh step does not learn.
void compare_steps(const CorticalNetworkConfig& config, int steps, double noise) {
  Engine engine = engine_for(must(DeviceNetwork::footprint(config)));
  DeviceNetwork network = must(DeviceNetwork::create(engine, config));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  expect_weights(network, expected);
  Patterns patterns(
      12, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), noise,
      3);
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto image = patterns.next();
    const bool learn = step % 7 != 6;
    must(network.step(image.data(), config.width, learn));
    expected.step(image.data(), config.width, learn);
    for (int l = 0; l < expected.levels(); ++l) {
      expect_winners(network, expected, l);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  expect_weights(network, expected);
}

void compare_schedule(const CorticalNetworkConfig& config, NetworkSchedule schedule, int steps,
                      int most_blocks = 0) {
  Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
  PaperDeviceNetwork network =
      must(PaperDeviceNetwork::create(engine, config, schedule, most_blocks));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  Patterns patterns(
      12, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), 0.02,
      5);
  const bool pipelined =
      schedule == NetworkSchedule::kPipelined || schedule == NetworkSchedule::kResident;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto image = patterns.next();
    in_time([&] { must(network.step(image.data(), config.width, true)); });
    expected.step(image.data(), config.width, true);
    // The levels of a pipeline are of different steps.
    for (int l = 0; l < (pipelined ? 1 : expected.levels()); ++l) {
      expect_winners(network, expected, l);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  must(network.finish());
  for (int l = 0; l < expected.levels(); ++l) expect_winners(network, expected, l);
  expect_weights(network, expected);
}

// Fails when a candidate is missed, when a lower minicolumn does not win a tie, when an update
// differs in one unit, or when a level starts before the one below has ended.
TEST_F(NetworkOnDevice, TreeEqualsCpu) {
  compare_steps(binary_tree(128, 32), 1000, 0.0);
  compare_steps(binary_tree(64, 128), 300, 0.01);
}

// Fails when a block computes a hypercolumn of another block's subtree, misses one of its own, or
// reads a winner before it is there.
TEST_F(NetworkOnDevice, SubtreesEqualCpu) {
  compare_steps(binary_tree(2048, 32), 100, 0.0);
  // Hypercolumns that no window reads.
  CorticalNetworkConfig config;
  config.width = 3 * 1003;
  config.height = 1;
  config.level_count = 5;
  config.levels[0] = {3, 1, 3, 1, 40};
  config.levels[1] = {2, 1, 2, 1, 33};
  config.levels[2] = {3, 1, 3, 1, 32};
  config.levels[3] = {2, 1, 2, 1, 65};
  config.levels[4] = {5, 1, 4, 1, 32};
  compare_steps(config, 200, 0.0);
}

// As above for windows that overlap, contrast cells, padded minicolumns and many random firings.
TEST_F(NetworkOnDevice, OverlappingTilesEqualCpu) {
  compare_steps(overlapping_tiles(), 1000, 0.02);
}

// Fails when a list of inputs has an end in the middle of a window, or a row more than 32 words.
TEST_F(NetworkOnDevice, LargeHypercolumnsEqualCpu) {
  CorticalNetworkConfig config;
  config.width = 40;
  config.height = 23;
  config.level_count = 2;
  config.levels[0] = {20, 20, 10, 3, 1000};
  config.levels[1] = {3, 2, 1, 1, 130};
  config.learning.random_firing = 0.2f;
  compare_steps(config, 120, 0.0);
}

// Fails when a hypercolumn is computed before one below it, twice, or not at all.
TEST_F(NetworkOnDevice, SchedulesOfThePaperEqualCpu) {
  for (const NetworkSchedule schedule : {NetworkSchedule::kLevels, NetworkSchedule::kPipelined,
                                         NetworkSchedule::kResident, NetworkSchedule::kQueue}) {
    SCOPED_TRACE(static_cast<int>(schedule));
    compare_schedule(binary_tree(64, 32), schedule, 400);
    compare_schedule(overlapping_tiles(), schedule, 200);
    if (HasFatalFailure()) return;
  }
}

// Fails (the program ends) when blocks of the work queue wait for tasks that nobody has: with one
// block, with few, and with far more than can be resident.
TEST_F(NetworkOnDevice, TheWorkQueueAlwaysEnds) {
  for (const int blocks : {1, 3, 100'000}) {
    SCOPED_TRACE(blocks);
    compare_schedule(binary_tree(256, 32), NetworkSchedule::kQueue, 60, blocks);
  }
}

// Fails when a configuration that the CPU refuses is accepted, or the text does not name the cause.
TEST_F(NetworkOnDevice, RefusesBadConfigurations) {
  CorticalNetworkConfig config = binary_tree(8, 32);
  config.levels[1].minicolumns = 0;
  const auto bytes = DeviceNetwork::footprint(config);
  ASSERT_FALSE(bytes);
  EXPECT_NE(std::string(bytes.error().text).find("minicolumns"), std::string::npos)
      << bytes.error().text;
  config = binary_tree(8, 32);
  config.feedback_rounds = 2;
  Engine engine = engine_for(must(DeviceNetwork::footprint(config)));
  const auto network = DeviceNetwork::create(engine, config);
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().status, Status::kUnsupported);
  EXPECT_NE(std::string(network.error().text).find("feedback_rounds is 2"), std::string::npos)
      << network.error().text;
}

// Needs no device.
TEST(Network, NeedsACudaEngine) {
  Engine engine = must(Engine::create(engine_config(1, BackendChoice::kCpu)));
  const auto network = DeviceNetwork::create(engine, binary_tree(4, 32));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().status, Status::kUnsupported) << network.error().text;
}

}  // namespace
}  // namespace ocellus::test
