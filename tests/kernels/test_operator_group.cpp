// OperatorGroup over the fake driver: several devices, of which one fails. Needs no GPU.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fake_driver.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

constexpr int kDevices = 3;
constexpr ImageSize kSize{24, 24};

std::vector<EngineConfig> all_devices() {
  std::vector<EngineConfig> engines;
  for (int device = 0; device < kDevices; ++device) {
    engines.push_back(engine_config(1, BackendChoice::kCuda));
    engines.back().backend.device = device;
  }
  return engines;
}

OperatorConfig restoration(int depth = 2) {
  OperatorConfig config(*find_operator("restore"));
  config.set_input(kSize, PixelFormat::kGray8);
  must(config.set_option("depth", std::to_string(depth)));
  return config;
}

struct Outcome {
  std::optional<Error> creation;
  std::optional<Error> frame;          ///< of `submit` or `wait`
  std::vector<std::uint64_t> results;  ///< sequence numbers
  long calls_before_frames = 0;
  long calls_after_frames = 0;
};

/// Creates a group on all devices, sends frames with as many in flight as there is room for, and
/// destroys all. Stops at the first error.
Outcome run_once(const OperatorConfig& config, std::uint64_t count) {
  Outcome outcome;
  auto group = OperatorGroup::create(all_devices(), config);
  if (!group) {
    outcome.creation = group.error();
    return outcome;
  }
  outcome.calls_before_frames = fake_driver().calls;
  const FrameBuffer frame(kSize, PixelFormat::kGray8);
  std::deque<OutputBuffer> outs;
  for (std::uint64_t f = 0; f < count; ++f) outs.emplace_back(group->info());
  int flying = 0;
  const auto land = [&] {
    const auto done = group->wait(0, Deadline::never());
    if (!done) {
      outcome.frame = done.error();
      return false;
    }
    --flying;
    EXPECT_EQ(done->engine, static_cast<int>(done->info.sequence % kDevices));
    outcome.results.push_back(done->info.sequence);
    return true;
  };
  for (std::uint64_t f = 0; f < count; ++f) {
    while (group->next_engine(0) < 0)
      if (!land()) return outcome;
    const auto submitted = group->submit(0, frame.frame(f), outs[f].output());
    if (!submitted) {
      outcome.frame = submitted.error();
      return outcome;
    }
    ++flying;
  }
  while (flying > 0)
    if (!land()) return outcome;
  outcome.calls_after_frames = fake_driver().calls;
  return outcome;
}

void expect_in_order(const Outcome& outcome) {
  for (std::size_t f = 0; f < outcome.results.size(); ++f) EXPECT_EQ(outcome.results[f], f);
}

// Fails when results come in another order than their frames, when a call is made for a device
// while another one is current, or when something is left on a device.
TEST(OperatorGroup, UsesAllDevices) {
  for (const bool lazy : {false, true}) {
    for (const int depth : {1, 2, 3}) {
      SCOPED_TRACE("depth " + std::to_string(depth) + (lazy ? ", lazy" : ""));
      reset_fake_driver();
      FakeDriver& driver = fake_driver();
      driver.devices = kDevices;
      driver.lazy = lazy;
      const Outcome outcome = run_once(restoration(depth), 11);
      ASSERT_FALSE(outcome.creation) << outcome.creation->text;
      ASSERT_FALSE(outcome.frame) << outcome.frame->text;
      EXPECT_EQ(outcome.results.size(), 11u);
      expect_in_order(outcome);
      EXPECT_TRUE(driver.misplaced.empty()) << driver.misplaced.front();
      EXPECT_EQ(driver.without_context, 0);
      EXPECT_TRUE(driver.empty());
    }
  }
}

struct Failure {
  cudaError_t code;
  Status status;
};

// Fails when the failure of a device in the middle of a run is ignored, is not said to be of that
// device, changes the order of the results before it, leaks, or lets the group hang.
TEST(OperatorGroup, NamesTheDeviceThatFails) {
  const OperatorConfig config = restoration();
  constexpr std::uint64_t kFrames = 7;
  FakeDriver& driver = fake_driver();
  for (const Failure& failure : {Failure{cudaErrorInvalidValue, Status::kSystem},
                                 Failure{cudaErrorIllegalAddress, Status::kDeviceLost}}) {
    reset_fake_driver();
    driver.devices = kDevices;
    const Outcome whole = run_once(config, kFrames);
    ASSERT_EQ(whole.results.size(), kFrames);
    const long begin = whole.calls_before_frames;
    const long end = whole.calls_after_frames;
    ASSERT_GT(end - begin, 50);
    int failed = 0;
    std::vector<bool> named(kDevices, false);
    for (long call = begin; call < end; ++call) {
      reset_fake_driver();
      driver.devices = kDevices;
      driver.fail_at = call;
      driver.failure = failure.code;
      driver.stays_failed = failure.status == Status::kDeviceLost;
      const Outcome outcome = run_once(config, kFrames);
      SCOPED_TRACE("call " + std::to_string(call) + ", " + driver.failed_call);
      ASSERT_FALSE(outcome.creation);
      expect_in_order(outcome);
      if (only_releases(driver.failed_call)) continue;
      EXPECT_TRUE(driver.empty()) << "leaks";
      ASSERT_TRUE(outcome.frame) << "ignored";
      ++failed;
      EXPECT_EQ(outcome.frame->status, failure.status) << outcome.frame->text;
      const std::string text = outcome.frame->text;
      bool one = false;
      for (int device = 0; device < kDevices; ++device) {
        const std::string number = std::to_string(device);
        if (text.find("engine " + number + " (cuda:" + number + "): ") != 0) continue;
        named[static_cast<std::size_t>(device)] = one = true;
      }
      EXPECT_TRUE(one) << text;
    }
    EXPECT_GT(failed, 20) << "too few calls were made to fail";
    for (const bool device : named) EXPECT_TRUE(device) << "no error named this device";
  }
}

// Fails when the creation on a later device that fails leaves anything on the devices before it.
TEST(OperatorGroup, LeavesNothingWhenCreationFails) {
  const OperatorConfig config = restoration(1);
  FakeDriver& driver = fake_driver();
  reset_fake_driver();
  driver.devices = kDevices;
  const long calls = run_once(config, 1).calls_before_frames;
  ASSERT_GT(calls, 100);
  for (long call = 0; call < calls; call += 3) {
    reset_fake_driver();
    driver.devices = kDevices;
    driver.fail_at = call;
    const Outcome outcome = run_once(config, 1);
    SCOPED_TRACE("call " + std::to_string(call) + ", " + driver.failed_call);
    if (only_releases(driver.failed_call)) continue;
    EXPECT_TRUE(driver.empty()) << "leaks";
    ASSERT_TRUE(outcome.creation) << "ignored";
    EXPECT_NE(std::string(outcome.creation->text).find("(cuda:"), std::string::npos)
        << outcome.creation->text;
  }
  reset_fake_driver();
  driver.devices = 2;
  const Outcome missing = run_once(config, 1);
  ASSERT_TRUE(missing.creation);
  EXPECT_EQ(missing.creation->status, Status::kBackendUnavailable);
  EXPECT_EQ(std::string(missing.creation->text).find("engine 2 (cuda:2): "), 0u)
      << missing.creation->text;
  EXPECT_TRUE(driver.empty());
}

}  // namespace
}  // namespace ocellus::test
