// Cortical networks on a CUDA device, with all schedules, against the network on the CPU: winners,
// weights and numbers of wins are equal after every step.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/cortical_network/device_network.h"
#include "bench/paper_schedule_cases.h"

namespace ocellus::test {
namespace {

using cuda::DeviceNetwork;

using NetworkOnDevice = OnDevice;

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
  for (const auto& [schedule, variant] : kPaperSchedules) {
    SCOPED_TRACE(static_cast<int>(schedule));
    compare_schedule(binary_tree(64, 32), schedule, 400, 0, variant);
    compare_schedule(overlapping_tiles(), schedule, 200, 0, variant);
    if (HasFatalFailure()) return;
  }
}

// Fails (the program ends) when blocks of the work queue wait for tasks that nobody has: with one
// block, with few, and with far more than can be resident.
TEST_F(NetworkOnDevice, TheWorkQueueAlwaysEnds) {
  for (const QueueSync sync : {QueueSync::kFlags, QueueSync::kCounters}) {
    for (const int blocks : {1, 3, 100'000}) {
      SCOPED_TRACE(blocks);
      compare_schedule(binary_tree(256, 32), NetworkSchedule::kQueue, 60, blocks, {sync});
    }
  }
}

// Fails when feedback on the device differs, or when blocks wait for hypercolumns that are queued
// behind their own.
TEST_F(NetworkOnDevice, QueuedFeedbackEqualsCpu) {
  for (const int blocks : {0, 1, 3}) {
    compare_feedback(binary_tree(64, 32), 150, blocks);
    compare_feedback(overlapping_tiles(), 60, blocks);
  }
}

// Fails when a queue without waiting does not end, or computes another lowest level, which needs no
// waiting; when the times of levels or launches are none; or when a kernel tells no registers.
TEST_F(NetworkOnDevice, ExperimentsOfThePaperRun) {
  const CorticalNetworkConfig config = binary_tree(64, 32);
  Patterns patterns(4, static_cast<std::size_t>(config.width), 0.0, 5);
  for (const QueueSync sync : {QueueSync::kNoSpin, QueueSync::kNoAtomics}) {
    Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
    PaperDeviceNetwork network =
        must(PaperDeviceNetwork::create(engine, config, NetworkSchedule::kQueue, 0, {sync}));
    CorticalNetwork expected = must(CorticalNetwork::create(config));
    for (int step = 0; step < 50; ++step) {
      const auto image = patterns.next();
      in_time([&] { must(network.step(image.data(), config.width, true)); });
      expected.step(image.data(), config.width, true);
      expect_winners(network, expected, 0);
    }
    EXPECT_GT(must(network.kernel_use()).registers, 0);
  }
  Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
  PaperDeviceNetwork network =
      must(PaperDeviceNetwork::create(engine, config, NetworkSchedule::kLevels));
  std::vector<double> ms(static_cast<std::size_t>(config.level_count));
  must(network.step_levels(patterns.next().data(), config.width, ms));
  for (const double level : ms) EXPECT_GT(level, 0.0);
  EXPECT_GT(must(network.launches_ms()), 0.0);
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
