// Priorities of the operators of one engine: three operators under overload.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

using Clock = Deadline::Clock;

constexpr ImageSize kSize{320, 240};
constexpr std::chrono::milliseconds kPeriod(20);
constexpr std::size_t kOperators = 3;
constexpr std::size_t kDepth = 4;  // frames in flight

/// What an overload did to each operator.
struct Outcome {
  std::array<int, kOperators> frames{};
  std::int64_t p50_ns = 0;  ///< of the first one, from `submit` to `wait`
  std::int64_t p99_ns = 0;
  int most_others = 0;  ///< frames of the first two that were done between two of the last one
};

/// One worker and three operators. The first gets a frame each 20 ms, the other two have four
/// frames in flight at all times, so they want more than the worker can give.
Outcome overload(bool by_priority) {
  // What the digits cost depends on their number; a texture has many.
  const char* const names[kOperators] = {"halftone", "flow", "digits"};
  const char* const priorities[kOperators] = {"high", "normal", "low"};
  std::vector<OperatorConfig> configs;
  for (std::size_t i = 0; i < kOperators; ++i) {
    configs.emplace_back(*find_operator(names[i]));
    must(configs[i].set_option("depth", "4"));
    if (i == 2) must(configs[i].set_option("max_characters", "4"));
    if (by_priority) must(configs[i].set_option("priority", priorities[i]));
    configs[i].set_input(kSize, PixelFormat::kGray8);
  }
  EngineConfig engine_config;
  engine_config.backend.choice = BackendChoice::kCpu;
  engine_config.workers = 1;
  engine_config.workers_only = true;
  Engine engine = must(create_engine(engine_config, configs));
  const auto frames = moving_frames(kSize, PixelFormat::kGray8, 2, true);

  std::vector<OperatorHandle> ops;
  std::vector<std::vector<char>> memory;
  std::array<std::deque<Ticket>, kOperators> tickets;
  std::array<OperatorHandle*, kOperators> all{};
  for (const OperatorConfig& config : configs) ops.push_back(must(config.create(engine)));
  for (std::size_t i = 0; i < kOperators; ++i) {
    all[i] = &ops[i];
    for (std::size_t slot = 0; slot < kDepth; ++slot) memory.emplace_back(out_bytes(ops[i].info()));
  }
  std::array<std::uint64_t, kOperators> sent{};
  const auto submit = [&](std::size_t i) {
    const std::size_t slot = sent[i]++ % kDepth;
    tickets[i].push_back(
        must(ops[i].submit(frames[slot % 2].frame(sent[i]),
                           output_at(memory[kDepth * i + slot].data(), ops[i].info()))));
  };
  Outcome outcome;
  int others = 0;
  std::size_t last = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(1500);
  auto next = Clock::now();
  for (std::size_t n = 0; n < 2 * kDepth; ++n) submit(1 + n % 2);
  while (Clock::now() < end) {
    if (Clock::now() >= next && tickets[0].size() < kDepth) {
      submit(0);
      next += kPeriod;
    }
    const Expected<std::size_t> done = wait_any(all, Deadline::at(next), last);
    if (!done) {
      EXPECT_EQ(done.error().status, Status::kDeadlineMissed) << done.error().text;
      continue;
    }
    last = *done;
    must(ops[last].wait(tickets[last].front(), Deadline::never()));
    tickets[last].pop_front();
    ++outcome.frames[last];
    others = last == 2 ? 0 : others + 1;
    outcome.most_others = std::max(outcome.most_others, others);
    if (last != 0) submit(last);
  }
  outcome.p50_ns = ops[0].stats().p50_ns;
  outcome.p99_ns = ops[0].stats().p99_ns;
  std::printf("%s: frames %d %d %d, latency of the first: median %.2f ms, 99 %% %.2f ms\n",
              by_priority ? "by priority" : "in order", outcome.frames[0], outcome.frames[1],
              outcome.frames[2], static_cast<double>(outcome.p50_ns) * 1e-6,
              static_cast<double>(outcome.p99_ns) * 1e-6);
  return outcome;
}

// Fails when the operator of the highest priority waits for the others as if it had none, or when
// the lowest makes less progress than kMaxOvertakes allows: the frames that are done between two of
// its own are those that overtake it and those that were in flight before it. What
// was done before this thread looked may count as well.
// Promises: RT-008.
TEST(Priority, UnderOverloadTheHighestIsSoonerAndTheLowestGoesOn) {
  const Outcome in_order = overload(false);
  const Outcome by_priority = overload(true);
  EXPECT_LT(by_priority.p50_ns, in_order.p50_ns / 2);
  EXPECT_GT(by_priority.frames[2], 0);
  EXPECT_LE(by_priority.most_others, kMaxOvertakes + static_cast<int>(2 * kDepth) + 2);
}

// Fails when a frame that was interrupted by another operator's gives another result.
// Promises: RES-001.
TEST(Priority, InterruptedFramesHaveTheSameResults) {
  for (const OperatorCase& tested : all_operator_cases()) {
    SCOPED_TRACE(tested.name);
    std::array<std::vector<char>, 2> results;
    for (const bool beside : {false, true}) {
      OperatorConfig config = tested.with({64, 48});
      OperatorConfig other(*find_operator("restore"));
      other.set_input({64, 48}, PixelFormat::kGray8);
      must(config.set_option("priority", "low"));
      must(other.set_option("priority", "high"));
      EngineConfig engine_config;
      engine_config.backend.choice = BackendChoice::kCpu;
      engine_config.workers = 2;
      Engine engine = must(create_engine(engine_config, {config, other}));
      OperatorHandle op = must(config.create(engine));
      OperatorHandle high = must(other.create(engine));
      std::vector<char>& result = results[beside ? 1 : 0];
      result.assign(out_bytes(op.info()), 0);
      std::vector<char> unused(out_bytes(high.info()));
      const auto frames = moving_frames({64, 48}, PixelFormat::kGray8, 4, true);
      for (std::size_t n = 0; n < frames.size(); ++n) {
        const Frame frame = frames[n].frame(n);
        const Ticket ticket = must(op.submit(frame, output_at(result.data(), op.info())));
        bool done = false;
        while (beside && !done) {
          const Ticket one = must(high.submit(frame, output_at(unused.data(), high.info())));
          must(high.wait(one, Deadline::never()));
          done = must(op.cancel(ticket)) == CancelOutcome::kDone;
        }
        must(op.wait(ticket, Deadline::never()));
      }
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace ocellus::test
