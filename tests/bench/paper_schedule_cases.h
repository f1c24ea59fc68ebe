// The paper's schedules of cortical networks against the network on the CPU: winners after every
// step, and all weights at the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "bench/papers/cortical_network/paper_device_network.h"
#include "conformance/conformance.h"
#include "cortical_network/network_patterns.h"
#include "ocellus/cortical_network.h"

namespace ocellus::test {

using paper::ColumnMemory;
using paper::NetworkSchedule;
using paper::PaperDeviceNetwork;
using paper::PaperVariant;
using paper::QueueSync;

/// Schedules of the paper, and the variants of section 8 that compute the same.
struct PaperScheduleCase {
  NetworkSchedule schedule;
  PaperVariant variant{};
};
inline constexpr PaperScheduleCase kPaperSchedules[] = {
    {NetworkSchedule::kLevels},
    {NetworkSchedule::kPipelined},
    {NetworkSchedule::kResident},
    {NetworkSchedule::kQueue},
    {NetworkSchedule::kQueue, {QueueSync::kCounters}},
    {NetworkSchedule::kQueue, {QueueSync::kCounters, ColumnMemory::kShared, 100}},
    {NetworkSchedule::kQueue, {QueueSync::kCounters, ColumnMemory::kRegisters, 0}},
    {NetworkSchedule::kPipelined, {QueueSync::kFlags, ColumnMemory::kShared, 0}}};

inline Engine engine_for(const Footprint& bytes) {
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

inline void expect_weights(PaperDeviceNetwork& network, const CorticalNetwork& expected) {
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

/// Learning steps, then steps that do not learn, with feedback.
inline void compare_feedback(CorticalNetworkConfig config, int steps, int most_blocks = 0) {
  config.feedback_rounds = 2;
  config.feedback_tolerance = 3;
  Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
  PaperDeviceNetwork network = must(PaperDeviceNetwork::create(
      engine, config, NetworkSchedule::kQueue, most_blocks, {QueueSync::kFeedback}));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  CorticalNetwork without = must(CorticalNetwork::create(config));
  must(without.set_feedback(0, 1));
  Patterns patterns(
      3, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), 0.05, 5);
  int changed = 0;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto image = patterns.next();
    const bool learn = step % 3 != 2;
    in_time([&] { must(network.step(image.data(), config.width, learn)); });
    expected.step(image.data(), config.width, learn);
    without.step(image.data(), config.width, learn);
    for (int l = 0; l < expected.levels(); ++l) {
      expect_winners(network, expected, l);
      if (testing::Test::HasFatalFailure()) return;
      changed += !std::equal(expected.winners(l).begin(), expected.winners(l).end(),
                             without.winners(l).begin());
    }
  }
  EXPECT_GT(changed, 0) << "the feedback changes no winner";
}

inline void compare_schedule(const CorticalNetworkConfig& config, NetworkSchedule schedule,
                             int steps, int most_blocks = 0, const PaperVariant& variant = {}) {
  Engine engine = engine_for(must(PaperDeviceNetwork::footprint(config)));
  PaperDeviceNetwork network =
      must(PaperDeviceNetwork::create(engine, config, schedule, most_blocks, variant));
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

}  // namespace ocellus::test
