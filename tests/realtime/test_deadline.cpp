// Deadlines of `wait` beside an operator of quite another size, by the calling thread's own clock:
// how long it was kept from the processor by others is not the library's doing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "ocellus/halftone.h"
#include "support/cpu_time.h"
#include "support/run.h"

namespace ocellus {
namespace {

using test::thread_cpu_ns;

/// By how much calls of `wait` overran their deadline, in CPU time of the caller.
struct Overruns {
  std::vector<std::int64_t> ns;

  /// One call with a deadline of 0.1 to 5 ms.
  template <typename Operator>
  Expected<FrameInfo> wait(Operator& op, Ticket ticket, std::mt19937& random) {
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

/// A small flow behind a halftone of `side` squared, waited for in turn with short deadlines.
void expect_deadlines_hold(int side, int calls) {
  const CellularNetworkConfig large = halftone_config({side, side}, HalftonePreset::kQuality);
  const OpticalFlowConfig small = OpticalFlowConfig::fast({64, 64});
  EngineConfig settings = test::engine_config(2);
  const EngineInfo info = test::must(Engine::probe(settings));
  settings.memory = test::must(CellularNetwork::footprint(info, large)) +
                    test::must(OpticalFlow::footprint(info, small));
  Engine engine = test::must(Engine::create(settings));
  CellularNetwork cells = test::must(CellularNetwork::create(engine, large));
  OpticalFlow flow = test::must(OpticalFlow::create(engine, small));

  const auto pixels = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  // A part takes a fraction of the time where the picture is flat.
  std::vector<std::uint8_t> image(pixels);
  const std::vector<std::uint8_t> flat(pixels, 255);
  std::vector<std::uint8_t> dots(pixels);
  std::mt19937 random(3);
  std::uint32_t state = 1;
  for (std::uint8_t& pixel : image)
    pixel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  std::vector<std::uint8_t> texture(64 * 64, 7);
  test::OutputBuffer field({64, 64}, 3);
  Frame frame;
  frame.data = image.data();
  frame.size = {side, side};
  frame.stride = side;
  ImageView view;
  view.data = dots.data();
  view.size = frame.size;
  view.stride = side;
  Frame little;
  little.data = texture.data();
  little.size = {64, 64};
  little.stride = 64;

  Overruns overruns;
  int missed = 0;
  int rounds = 0;
  while (static_cast<int>(overruns.ns.size()) < calls) {
    frame.data = ++rounds % 4 == 0 ? image.data() : flat.data();
    const Ticket long_one = test::must(cells.submit(frame, view));
    const Ticket short_one = test::must(flow.submit(little, field.flow()));
    while (!overruns.wait(flow, short_one, random)) ++missed;
    ASSERT_TRUE(cells.wait(long_one, Deadline::never()));
    const Ticket alone = test::must(cells.submit(frame, view));
    while (!overruns.wait(cells, alone, random)) ++missed;
  }
  const std::int64_t p999 = overruns.percentile(0.999);
  const std::int64_t most = overruns.percentile(1.0);
  std::printf("%zu calls, %d missed, overrun in CPU time: p99.9 %.3f ms, largest %.3f ms\n",
              overruns.ns.size(), missed, static_cast<double>(p999) / 1e6,
              static_cast<double>(most) / 1e6);
  EXPECT_GT(missed, calls / 4) << "the large operator was too fast to be in the way";
  // The largest may be the machine's: a virtual CPU that is taken away counts as used.
  EXPECT_LE(p999, 1'000'000) << "nanoseconds";
}

// Fails when a caller that waits with a deadline takes work that lasts beyond it.
TEST(Deadlines, BesideALargerOperator) {
  expect_deadlines_hold(2048, 1'000);
}
TEST(SlowDeadlines, BesideAMuchLargerOperator) {
  expect_deadlines_hold(8192, 100'000);
}

}  // namespace
}  // namespace ocellus
