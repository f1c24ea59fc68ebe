// The paper's schedules of cortical networks over the fake driver, whose kernels run on the host.
// Needs no GPU. Blocks run one after the other: what waiting and atomic increments are for is not
// tested here, but in test_device_network.cpp.
#include <gtest/gtest.h>

#include "bench/paper_schedule_cases.h"
#include "kernels/fake_driver.h"
#include "kernels/host_work.h"

namespace ocellus::test {
namespace {

class PaperSchedules : public testing::Test {
 protected:
  void SetUp() override {
    reset_fake_driver();
    fake_driver().resident_blocks = kHostResidentBlocks;
    fake_driver().kernel = [](const cudaLaunchConfig_t& config, const void* kernel,
                              void** arguments) {
      return host_work({kernel, config.gridDim.x, config.gridDim.y, config.gridDim.z,
                        config.blockDim.x, config.dynamicSmemBytes, arguments});
    };
  }
  void TearDown() override {
    EXPECT_TRUE(fake_driver().empty()) << "leaks";
    reset_fake_driver();
  }
};

// Fails when a schedule or a variant of its kernel computes a hypercolumn before one below it,
// twice, or not at all, or has another winner or another weight; or does not end, because a counter
// is incremented too seldom.
TEST_F(PaperSchedules, EqualTheCpu) {
  for (const auto& [schedule, variant] : kPaperSchedules) {
    SCOPED_TRACE(static_cast<int>(schedule));
    SCOPED_TRACE(static_cast<int>(variant.sync));
    compare_schedule(binary_tree(8, 64), schedule, 40, 0, variant);
    compare_schedule(overlapping_tiles(), schedule, 12, 0, variant);
    if (HasFatalFailure()) return;
  }
}

// Fails when a counter is not the number of hypercolumns below: without waiting nothing else would
// show it here. Windows overlap, so that one hypercolumn increments several counters.
TEST_F(PaperSchedules, CountersCountTheHypercolumnsBelow) {
  const CorticalNetworkConfig config = overlapping_tiles();
  for (const QueueSync sync : {QueueSync::kCounters, QueueSync::kNoSpin, QueueSync::kNoAtomics}) {
    Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
    PaperDeviceNetwork network =
        must(PaperDeviceNetwork::create(engine, config, NetworkSchedule::kQueue, 0, {sync}));
    const std::vector<std::uint8_t> image(
        static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), 200);
    for (int step = 0; step < 3; ++step) must(network.step(image.data(), config.width, true));
    const detail::Hierarchy& h = network.memory().plan().hierarchy;
    std::vector<unsigned> done(static_cast<std::size_t>(h.hypercolumns));
    must(network.memory().read(done.data(), network.memory().arguments().done,
                               done.size() * sizeof(unsigned)));
    for (int l = 0; l < h.level_count; ++l) {
      const detail::LevelPlan& level = h.level(l);
      const int below = l == 0 ? 0 : level.window_width * level.window_height;
      for (int i = 0; i < level.hypercolumns; ++i)
        EXPECT_EQ(done[static_cast<std::size_t>(level.first + i)],
                  3u * static_cast<unsigned>(below))
            << "level " << l << " hypercolumn " << i;
    }
  }
}

// Fails when a hypercolumn that is queued again has another expectation, hypothesis or winner, or
// waits for one that comes later.
TEST_F(PaperSchedules, QueuedFeedbackEqualsTheCpu) {
  CorticalNetworkConfig tree = binary_tree(8, 32);
  tree.learning.potentiation = 0.6f;
  compare_feedback(tree, 90);
  compare_feedback(overlapping_tiles(), 45);
  compare_feedback(tree, 30, 1);
}

// Fails when the levels of a step that is timed level by level are not those of a step.
TEST_F(PaperSchedules, TimedLevelsEqualTheCpu) {
  const CorticalNetworkConfig config = binary_tree(8, 32);
  Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
  PaperDeviceNetwork network =
      must(PaperDeviceNetwork::create(engine, config, NetworkSchedule::kLevels));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  Patterns patterns(4, static_cast<std::size_t>(config.width), 0.0, 5);
  std::vector<double> ms(static_cast<std::size_t>(config.level_count));
  for (int step = 0; step < 30; ++step) {
    const auto image = patterns.next();
    must(network.step_levels(image.data(), config.width, ms));
    EXPECT_GT(must(network.launches_ms()), 0.0);
    expected.step(image.data(), config.width, true);
    for (int l = 0; l < config.level_count; ++l) expect_winners(network, expected, l);
  }
}

}  // namespace
}  // namespace ocellus::test
