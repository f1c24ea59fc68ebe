// Deadlines of `wait` beside every operator in a much larger size. The clock counts the CPU time of
// the calling thread, so that other processes do not count.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "support/cpu_time.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::thread_cpu_ns;

/// The time by which calls of `wait` overran their deadlines, in CPU time of the caller.
struct Overruns {
  std::vector<std::int64_t> ns;

  /// One call with a deadline of 0.1 to 5 ms.
  Expected<FrameInfo> wait(OperatorHandle& op, Ticket ticket, std::mt19937& random) {
    const double exponent = std::uniform_real_distribution<double>(0.0, 1.0)(random);
    const auto length =
        std::chrono::nanoseconds(static_cast<std::int64_t>(1e5 * std::pow(50.0, exponent)));
    const Deadline deadline = Deadline::after(length);
    const std::int64_t before = thread_cpu_ns();
    Expected<FrameInfo> done = op.wait(ticket, deadline);
    ns.push_back(std::max<std::int64_t>(0, thread_cpu_ns() - before - length.count()));
    return done;
  }

  std::int64_t percentile(double share) {
    std::sort(ns.begin(), ns.end());
    return ns[static_cast<std::size_t>(share * static_cast<double>(ns.size() - 1))];
  }
};

/// The largest square image, up to `side`, for which the operator needs at most `bytes`.
OperatorConfig largest(const test::OperatorCase& what, int side, std::size_t bytes) {
  const EngineInfo engine = test::must(Engine::probe(test::engine_config(2)));
  for (;; side /= 2) {
    const OperatorConfig config = what.with({side, side});
    if (side <= 512 || test::must(config.footprint(engine)).host <= bytes) return config;
  }
}

/// A small operator behind a large one. Waits for both in turn with short deadlines.
void expect_deadlines_hold(const OperatorConfig& large, int calls) {
  const OperatorConfig small = test::operator_cases().front().with({64, 64});
  Engine engine = test::must(create_engine(test::engine_config(2), {large, small}));
  OperatorHandle slow = test::must(large.create(engine));
  OperatorHandle quick = test::must(small.create(engine));

  const OperatorInfo& info = slow.info();
  // Flat parts may take a fraction of the time of others.
  const auto pixels = test::in_bytes(info);
  std::vector<std::uint8_t> noise(pixels);
  const std::vector<std::uint8_t> flat(pixels, 255);
  std::vector<std::uint8_t> result(test::out_bytes(info));
  std::mt19937 random(3);
  std::uint32_t state = 1;
  for (std::uint8_t& pixel : noise)
    pixel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  Frame frame;
  frame.size = info.size;
  frame.stride = info.size.width;
  const OperatorOutput out = test::output_at(result.data(), info);
  const test::FrameBuffer little({64, 64}, PixelFormat::kGray8);
  test::OutputBuffer little_out(quick.info());

  Overruns overruns;
  int missed = 0;
  int rounds = 0;
  while (static_cast<int>(overruns.ns.size()) < calls) {
    frame.data = ++rounds % 4 == 0 ? noise.data() : flat.data();
    const Ticket long_one = test::must(slow.submit(frame, out));
    const Ticket short_one = test::must(quick.submit(little.frame(), little_out.output()));
    while (!overruns.wait(quick, short_one, random)) ++missed;
    ASSERT_TRUE(slow.wait(long_one, Deadline::never()));
    const Ticket alone = test::must(slow.submit(frame, out));
    while (!overruns.wait(slow, alone, random)) ++missed;
  }
  const std::int64_t p999 = overruns.percentile(0.999);
  const std::int64_t most = overruns.percentile(1.0);
  std::printf("%zu calls, %d missed, overrun in CPU time: p99.9 %.3f ms, largest %.3f ms\n",
              overruns.ns.size(), missed, static_cast<double>(p999) / 1e6,
              static_cast<double>(most) / 1e6);
  EXPECT_GT(missed, calls / 4) << "the large operator was too fast: the test shows nothing";
  // The largest overrun may be the machine's: a virtual CPU that is taken away counts as used.
  EXPECT_LE(p999, 1'000'000) << "nanoseconds";
}

/// Every operator by default: what `wait` computes depends on the operator, not on its path.
std::vector<test::OperatorCase> defaults() {
  std::vector<test::OperatorCase> all;
  for (const OperatorDescription& description : operators())
    all.push_back({description.name, OperatorConfig(description)});
  return all;
}

class Deadlines : public testing::TestWithParam<test::OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Operators, Deadlines, testing::ValuesIn(defaults()), test::case_label);
class SlowDeadlines : public Deadlines {};
INSTANTIATE_TEST_SUITE_P(Operators, SlowDeadlines, testing::ValuesIn(defaults()), test::case_label);

// Fails when `wait` with a deadline takes work that lasts beyond it.
// Promises: RT-004.
TEST_P(Deadlines, BesideALargerOperator) {
  expect_deadlines_hold(largest(GetParam(), 2048, std::size_t{512} << 20), 1'000);
}
// Promises: RT-004.
TEST_P(SlowDeadlines, BesideAMuchLargerOperator) {
  expect_deadlines_hold(largest(GetParam(), 8192, std::size_t{1} << 30), 25'000);
}

}  // namespace
}  // namespace ocellus
