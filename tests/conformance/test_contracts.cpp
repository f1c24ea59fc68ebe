// The contracts of OperatorHandle, for every operator and every backend: errors that name what is
// wrong, tickets, memory, lifetimes, threads, temporal state.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "core/backend.h"
#include "ocellus/buffer.h"
#include "support/fork.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::expect_words;
using test::FrameBuffer;
using test::make_rig;
using test::moving_frames;
using test::must;
using test::noise_frames;
using test::operator_cases;
using test::OperatorCase;
using test::OutputBuffer;
using test::Results;

constexpr ImageSize kSize{24, 18};

using Parameters = std::tuple<OperatorCase, BackendChoice>;

class Contracts : public testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override { test::skip_without(backend()); }
  static const OperatorCase& what() { return std::get<0>(GetParam()); }
  static BackendChoice backend() { return std::get<1>(GetParam()); }
  static bool cuda() { return backend() == BackendChoice::kCuda; }
  static EngineConfig settings(int workers = 2) { return test::engine_config(workers, backend()); }
  static Engine engine_for(const OperatorConfig& config) {
    return must(create_engine(settings(), {config}));
  }
  static test::Rig<OperatorHandle> rig(const OperatorConfig& config, int workers = 2) {
    return make_rig(config, workers, backend());
  }
  static Results results(const OperatorConfig& config, const std::vector<FrameBuffer>& frames,
                         int workers = 2, int in_flight = 1) {
    return test::run(config, frames, workers, in_flight, backend());
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Contracts,
                         testing::Combine(testing::ValuesIn(operator_cases()),
                                          testing::ValuesIn(test::conformance_backends())),
                         [](const auto& made) {
                           return std::get<0>(made.param).name +
                                  (std::get<1>(made.param) == BackendChoice::kCuda ? "_cuda"
                                                                                   : "_cpu");
                         });

/// All operators on one engine.
class Together : public test::OnBackend {
 protected:
  /// Every case in a size of its own.
  static std::vector<OperatorConfig> configs(int depth) {
    std::vector<OperatorConfig> all;
    for (const OperatorCase& what : operator_cases()) {
      const int n = static_cast<int>(all.size());
      all.push_back(what.with({24 + 7 * (n % 5), 18 + 5 * (n % 4)}, depth));
    }
    return all;
  }
  static Engine engine_for(const std::vector<OperatorConfig>& configs) {
    return must(create_engine(test::engine_config(2, GetParam()), configs));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Together, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

std::vector<OutputBuffer> outputs(const OperatorHandle& op, std::size_t count) {
  return std::vector<OutputBuffer>(count, OutputBuffer(op.info()));
}

std::string text_of(ImageSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

/// The memory that holds an operator's state.
std::size_t Footprint::*state_memory(BackendChoice backend) {
  return backend == BackendChoice::kCuda ? &Footprint::device : &Footprint::host;
}

// ---- backend and configuration

// Fails when another backend computes than the one that the configuration names.
// Promises: ERR-005.
TEST_P(Contracts, TheRequestedBackendComputes) {
  const OperatorConfig config = what().with(kSize);
  const EngineInfo info = must(Engine::probe(settings()));
  EXPECT_EQ(info.backend, cuda() ? BackendKind::kCuda : BackendKind::kCpu);
  const detail::Backend* backend = detail::find_backend(info.backend);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(backend->kind, info.backend);
  EXPECT_EQ(must(config.footprint(info)).device > 0, cuda())
      << "only an operator on a device takes device memory";
  const auto made = rig(config);
  EXPECT_EQ(made.engine.info().backend, info.backend);
  EXPECT_EQ(made.engine.memory_use().used.device > 0, cuda());
}

// Fails when an operator takes a bad size or format, when the error does not name the value and its
// range, or when the refused operator keeps memory.
// Promises: ERR-010.
TEST_P(Contracts, BadSizesAndFormatsAreRefused) {
  Engine engine = engine_for(what().with(kSize));
  const auto expect_refused = [&](ImageSize size, PixelFormat format,
                                  const std::vector<std::string>& words) {
    OperatorConfig config = what().config;
    config.set_input(size, format);
    const auto made = config.create(engine);
    ASSERT_FALSE(made) << "create took it";
    expect_words(made.error(), Status::kInvalidArgument, words);
    const auto footprint = config.footprint(engine.info());
    ASSERT_FALSE(footprint) << "footprint took it";
    EXPECT_STREQ(footprint.error().text, made.error().text);
    EXPECT_EQ(engine.memory_use().used, Footprint{});
  };
  const auto gray = PixelFormat::kGray8;
  expect_refused({0, 0}, gray, {"size", "0x0", "1", "16384"});
  expect_refused({0, 18}, gray, {"size", "0x18"});
  expect_refused({24, -5}, gray, {"size", "24x-5"});
  expect_refused({kMaxImageSide + 1, 18}, gray, {"size", "16385", "16384"});
  expect_refused({24, std::numeric_limits<int>::max()}, gray, {"size", "2147483647"});
  expect_refused(kSize, static_cast<PixelFormat>(9), {"format", "9", "kGray8"});
}

// ---- frames and outputs

struct BadSubmit {
  std::string name;
  std::function<void(Frame&, OperatorOutput&)> change;
  std::vector<std::string> words;
};

/// Bad frames of kSize in 16 bits, and bad outputs for the operator's planes.
std::vector<BadSubmit> bad_submits(const OperatorInfo& info) {
  using O = OperatorOutput;
  std::vector<BadSubmit> table = {
      {"no data", [](Frame& f, O&) { f.data = nullptr; }, {"frame.data", "null"}},
      {"width", [](Frame& f, O&) { f.size.width = 23; }, {"frame.size", "23x18", "24x18"}},
      {"height", [](Frame& f, O&) { f.size.height = 19; }, {"frame.size", "24x19", "24x18"}},
      {"format",
       [](Frame& f, O&) { f.format = PixelFormat::kFloat32; },
       {"frame.format", "kFloat32", "kGray16"}},
      {"no format",
       [](Frame& f, O&) { f.format = static_cast<PixelFormat>(77); },
       {"frame.format", "unknown", "kGray16"}},
      {"short stride", [](Frame& f, O&) { f.stride = 47; }, {"frame.stride", "47", "48"}},
      {"negative stride", [](Frame& f, O&) { f.stride = -64; }, {"frame.stride", "-64", "48"}},
      {"odd stride", [](Frame& f, O&) { f.stride = 51; }, {"frame.stride", "2 bytes"}},
      {"odd address",
       [](Frame& f, O&) { f.data = static_cast<const char*>(f.data) + 1; },
       {"frame.data", "2 bytes"}},
  };
  for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
    const PlaneInfo& plane = info.planes[p];
    const std::string name = std::string("output plane ") + plane.name;
    const int element = bytes_per_pixel(plane.format);
    const std::ptrdiff_t least = std::ptrdiff_t{plane.size.width} * element;
    const auto add = [&](const char* what, auto change, std::vector<std::string> words) {
      words.push_back(name);
      table.push_back(
          {what + (" of " + name), [change, p](Frame&, O& out) { change(out.planes[p]); }, words});
    };
    if (!plane.optional) {
      add("null data", [](ImageView& v) { v.data = nullptr; }, {"null"});
    }
    ImageSize wrong = plane.size;
    ++wrong.width;
    add("width", [wrong](ImageView& v) { v.size = wrong; }, {text_of(wrong), text_of(plane.size)});
    const PixelFormat other =
        plane.format == PixelFormat::kGray16 ? PixelFormat::kGray8 : PixelFormat::kGray16;
    add("format", [other](ImageView& v) { v.format = other; }, {"format"});
    add("short stride", [=](ImageView& v) { v.stride = least - element; },
        {"stride", std::to_string(least - element), std::to_string(least)});
    if (element == 1) continue;
    add("odd stride", [=](ImageView& v) { v.stride = least + 1; },
        {"stride", std::to_string(least + 1)});
    add("odd address", [](ImageView& v) { v.data = v.row<char>(0) + 1; }, {"aligned"});
  }
  for (std::size_t p = 1; p < static_cast<std::size_t>(info.plane_count); ++p) {
    if (info.planes[p].size != info.planes[0].size ||
        info.planes[p].format != info.planes[0].format)
      continue;
    table.push_back({"one plane twice",
                     [p](Frame&, O& out) { out.planes[p] = out.planes[0]; },
                     {"planes", info.planes[0].name, info.planes[p].name, "same"}});
  }
  return table;
}

// Fails when `submit` takes a bad frame or a bad output, when the error does not name the field and
// the value, or when the refusal changes later results.
// Promises: ERR-010.
TEST_P(Contracts, BadFramesAndOutputsAreRefused) {
  const OperatorConfig config = what().with(kSize, 2, PixelFormat::kGray16);
  const auto frames = noise_frames(kSize, PixelFormat::kGray16, 4, 2);
  const Results undisturbed = results(config, frames);
  auto made = rig(config);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    OutputBuffer out(made.op.info());
    for (const BadSubmit& bad : bad_submits(made.op.info())) {
      SCOPED_TRACE(bad.name);
      Frame frame = frames[0].frame();
      OperatorOutput view = out.output();
      bad.change(frame, view);
      const auto ticket = made.op.submit(frame, view);
      ASSERT_FALSE(ticket);
      expect_words(ticket.error(), Status::kInvalidArgument, bad.words);
    }
    must(made.op.wait(must(made.op.submit(frames[f].frame(f), out.output())), Deadline::never()));
    for (int p = 0; p < out.plane_count(); ++p)
      EXPECT_TRUE(
          test::same_bytes(out.plane(p), undisturbed.planes[f][static_cast<std::size_t>(p)]));
  }
}

// Fails when an optional plane cannot be left out, is written although it was, or when leaving it
// out changes the other planes or the record.
TEST_P(Contracts, OptionalPlanesMayBeLeftOut) {
  const OperatorConfig config = what().with({64, 48});
  const OperatorInfo info = must(config.info());
  const auto frames = moving_frames(info.size, PixelFormat::kGray8, 4, true);
  const Results complete = results(config, frames);
  for (int left_out = 0; left_out < info.plane_count; ++left_out) {
    if (!info.planes[static_cast<std::size_t>(left_out)].optional) continue;
    auto made = rig(config);
    for (std::size_t f = 0; f < frames.size(); ++f) {
      OutputBuffer out(info);
      OperatorOutput view = out.output();
      view.planes[static_cast<std::size_t>(left_out)] = {};
      must(made.op.wait(must(made.op.submit(frames[f].frame(f), view)), Deadline::never()));
      EXPECT_EQ(out.record(), complete.records[f]);
      for (int p = 0; p < info.plane_count; ++p) {
        if (p == left_out) {
          EXPECT_TRUE(out.plane_untouched(p));
        } else {
          EXPECT_TRUE(
              test::same_bytes(out.plane(p), complete.planes[f][static_cast<std::size_t>(p)]));
        }
      }
    }
  }
}

// Fails when the operator needs a record from the caller, or when a result differs without one.
TEST_P(Contracts, TheRecordMayBeLeftOut) {
  const OperatorConfig config = what().with(kSize);
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 2, 3);
  const Results complete = results(config, frames);
  auto made = rig(config);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    OutputBuffer out(made.op.info());
    OperatorOutput view = out.output();
    view.record = nullptr;
    must(made.op.wait(must(made.op.submit(frames[f].frame(f), view)), Deadline::never()));
    EXPECT_TRUE(test::same_bytes(out.plane(0), complete.planes[f][0]));
  }
}

// Fails when the CPU reads or writes device memory.
// Promises: ERR-010.
TEST_P(Contracts, DeviceMemoryOnTheCpuIsRefused) {
  if (cuda()) GTEST_SKIP() << "the device reads device memory";
  auto made = rig(what().with(kSize));
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 2);
  OutputBuffer out(made.op.info());
  Frame frame = frames[0].frame();
  frame.space = MemorySpace::kCuda;
  auto ticket = made.op.submit(frame, out.output());
  ASSERT_FALSE(ticket);
  expect_words(ticket.error(), Status::kInvalidArgument, {"cuda", "host"});
  OperatorOutput view = out.output();
  for (ImageView& plane : view.planes) plane.space = MemorySpace::kCuda;
  ticket = made.op.submit(frames[0].frame(), view);
  ASSERT_FALSE(ticket);
  expect_words(ticket.error(), Status::kInvalidArgument, {"cuda", "host"});
}

// ---- tickets

// Fails when `submit` takes more frames than the depth, when the error does not name the depth, or
// when `wait` makes no room.
// Promises: RT-007.
TEST_P(Contracts, FullQueueIsAnError) {
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 4);
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    auto made = rig(what().with(kSize, depth));
    auto outs = outputs(made.op, static_cast<std::size_t>(depth) + 1);
    std::vector<Ticket> tickets;
    for (int round = 0; round < 3; ++round) {
      while (static_cast<int>(tickets.size()) < depth) {
        tickets.push_back(must(made.op.submit(frames[0].frame(), outs[tickets.size()].output())));
      }
      const auto full = made.op.submit(frames[0].frame(), outs.back().output());
      ASSERT_FALSE(full);
      expect_words(full.error(), Status::kQueueFull, {std::to_string(depth), "depth"});
      must(made.op.wait(tickets.front(), Deadline::never()));
      tickets.erase(tickets.begin());
    }
    for (const Ticket ticket : tickets) must(made.op.wait(ticket, Deadline::never()));
  }
}

// Fails when a ticket works twice, when `wait` takes a number that was not given out, or when
// tickets do not count from 1.
// Promises: ERR-010.
TEST_P(Contracts, TicketsAreChecked) {
  auto made = rig(what().with(kSize, 2));
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 5);
  OutputBuffer out(made.op.info());
  for (std::uint64_t number = 1; number <= 5; ++number) {
    const Ticket ticket = must(made.op.submit(frames[0].frame(), out.output()));
    EXPECT_EQ(ticket.number, number);
    for (const std::uint64_t foreign :
         {std::uint64_t{0}, number + 1, number + 2, std::numeric_limits<std::uint64_t>::max()}) {
      const auto info = made.op.wait(Ticket{foreign, ticket.issuer}, Deadline::never());
      ASSERT_FALSE(info);
      expect_words(info.error(), Status::kInvalidTicket, {std::to_string(foreign)});
    }
    EXPECT_TRUE(made.op.wait(ticket, Deadline::never()));
    const auto twice = made.op.wait(ticket, Deadline::never());
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().status, Status::kInvalidTicket);
  }
}

// Fails when an operator takes the ticket of another operator for its own frame of that number.
// Promises: ERR-010.
TEST_P(Contracts, TicketsOfAnotherOperatorAreRefused) {
  auto one = rig(what().with(kSize));
  auto other = rig(what().with(kSize));
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 5);
  OutputBuffer out_one(one.op.info());
  OutputBuffer out_other(other.op.info());
  const Ticket mine = must(one.op.submit(frames[0].frame(), out_one.output()));
  const Ticket theirs = must(other.op.submit(frames[0].frame(), out_other.output()));
  const auto info = one.op.wait(theirs, Deadline::never());
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().status, Status::kInvalidTicket);
  EXPECT_TRUE(one.op.wait(mine, Deadline::never()));
  EXPECT_TRUE(other.op.wait(theirs, Deadline::never()));
}

// Fails when tickets can be waited for only in the order of submission.
TEST_P(Contracts, TicketsInAnyOrder) {
  const OperatorConfig config = what().with(kSize, 3);
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 3, 6);
  const Results expected = results(config, frames);
  std::vector<std::size_t> order = {0, 1, 2};
  do {
    auto made = rig(config);
    auto outs = outputs(made.op, 3);
    std::vector<Ticket> tickets;
    for (std::size_t f = 0; f < 3; ++f)
      tickets.push_back(must(made.op.submit(frames[f].frame(f), outs[f].output())));
    for (const std::size_t f : order)
      EXPECT_EQ(must(made.op.wait(tickets[f], Deadline::never())).sequence, f);
    for (std::size_t f = 0; f < 3; ++f)
      EXPECT_TRUE(test::same_bytes(outs[f].plane(0), expected.planes[f][0]));
  } while (std::next_permutation(order.begin(), order.end()));
}

// Fails when a frame that was waited for still counts as in flight because an older one was not, or
// when `reset` leaves a ticket valid.
// Promises: RT-007.
TEST_P(Contracts, EachFinishedFrameMakesRoom) {
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 6);
  auto outs = std::vector<OutputBuffer>(4, OutputBuffer(must(what().with(kSize).info())));
  auto made = rig(what().with(kSize, 3));  // goes before its outputs, with frames in flight
  const auto submit = [&](std::size_t out) {
    return made.op.submit(frames[0].frame(out), outs[out].output());
  };
  const Ticket oldest = must(submit(0));
  for (int round = 0; round < 5; ++round) {
    const Ticket second = must(submit(1));
    const Ticket third = must(submit(2));
    const auto full = submit(3);
    ASSERT_FALSE(full);
    expect_words(full.error(), Status::kQueueFull, {"3 frames", "depth"});
    EXPECT_EQ(must(made.op.wait(third, Deadline::never())).sequence, 2u);
    EXPECT_EQ(must(made.op.wait(second, Deadline::never())).sequence, 1u);
  }
  EXPECT_EQ(must(made.op.wait(oldest, Deadline::never())).sequence, 0u);
  const Ticket first = must(submit(0));
  const Ticket second = must(submit(1));
  EXPECT_TRUE(made.op.wait(first, Deadline::never()));
  const Ticket third = must(submit(2));
  made.op.reset();
  for (const Ticket dropped : {second, third}) {
    const auto info = made.op.wait(dropped, Deadline::never());
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().status, Status::kInvalidTicket);
  }
  for (std::size_t out = 0; out < 3; ++out) EXPECT_TRUE(submit(out));
}

// Fails when a loop around poll() is not told of a frame that is done, or is told of one that is
// not; or when a frame that `cancel` dropped changes a later result.
// Promises: RT-010.
TEST_P(Contracts, ALoopGetsEveryFrameThatWasNotCanceled) {
  const OperatorConfig config = what().with(kSize, 3);
  const auto frames = moving_frames(kSize, PixelFormat::kGray8, 6, true);
  const Results expected = results(config, frames);
  auto made = rig(config, 1);
  const int fd = must(made.op.create_event_fd());
  const auto readable = [&](int timeout_ms) {
    pollfd look{fd, POLLIN, 0};
    return poll(&look, 1, timeout_ms) == 1;
  };
  EXPECT_FALSE(readable(0));
  auto outs = outputs(made.op, 3);
  std::uint64_t canceled = 0;
  std::uint64_t submitted = 0;
  // A frame may begin at once. On a busy machine no frame of a round might be early enough.
  for (int round = 0; round < 200 && (round == 0 || (!cuda() && canceled == 0)); ++round) {
    made.op.reset();
    submitted += 2 * frames.size();
    const std::uint64_t before = canceled;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      const Ticket ticket = must(made.op.submit(frames[f].frame(f), outs[0].output()));
      // This frame shows something else. It is taken back before a worker begins, or it is too
      // late, and then the operator starts again.
      const Ticket other = must(made.op.submit(frames[5 - f].frame(f), outs[1].output()));
      const CancelOutcome outcome = must(made.op.cancel(other));
      ASSERT_TRUE(readable(60'000));
      const FrameInfo info = must(made.op.wait(ticket, Deadline::immediate()));
      EXPECT_EQ(info.sequence, f);
      if (outcome == CancelOutcome::kCanceled) {
        ++canceled;
        EXPECT_FALSE(made.op.wait(other, Deadline::never()));
      } else {
        ASSERT_TRUE(readable(60'000));
        must(made.op.wait(other, Deadline::immediate()));
      }
      EXPECT_FALSE(readable(0));
      if (canceled == before + f + 1) {
        EXPECT_TRUE(test::same_bytes(outs[0].plane(0), expected.planes[f][0])) << "frame " << f;
      }
    }
  }
  EXPECT_EQ(made.op.stats().canceled_frames, canceled);
  EXPECT_EQ(made.op.stats().frames, submitted - canceled);
  if (cuda()) {
    EXPECT_EQ(canceled, 0u);
  } else {
    EXPECT_GT(canceled, 0u) << "every frame had begun: the test shows little";
  }
}

// ---- time

// Fails when the times of a frame are wrong: a frame behind another one waits in the queue until
// that one is done, and queue, copy and computation together last no longer than the calls.
TEST_P(Contracts, TimesAddUp) {
  using Clock = std::chrono::steady_clock;
  const ImageSize size{320, 240};
  const auto frames = noise_frames(size, PixelFormat::kGray8, 2, 11);
  auto made = rig(what().with(size, 2));
  auto outs = outputs(made.op, 2);
  int behind = 0;
  // Short frames may all be done before the next one comes, if another program takes the CPU of
  // this thread.
  for (int round = 0; round < 8 || (behind == 0 && round < 5000); ++round) {
    const auto begin = Clock::now();
    const Ticket first = must(made.op.submit(frames[0].frame(0), outs[0].output()));
    const Ticket second = must(made.op.submit(frames[1].frame(1), outs[1].output()));
    const std::int64_t between = (Clock::now() - begin).count();
    const FrameInfo one = must(made.op.wait(first, Deadline::never()));
    const FrameInfo two = must(made.op.wait(second, Deadline::never()));
    const std::int64_t all = (Clock::now() - begin).count();
    for (const FrameInfo& info : {one, two}) {
      ASSERT_GE(info.queue_ns, 0);
      ASSERT_GE(info.copy_ns, 0);
      ASSERT_GT(info.compute_ns, 0);
      ASSERT_LE(info.queue_ns + info.copy_ns + info.compute_ns, all);
    }
    if (cuda()) {
      // The device copies one frame while it computes another one.
      behind += two.queue_ns > 0;
      ASSERT_GT(one.copy_ns, 0);
    } else {
      const std::int64_t done = one.queue_ns + one.copy_ns + one.compute_ns;
      ASSERT_GE(two.queue_ns, done - between) << "the second frame began before the first was done";
      behind += done > between;
      ASSERT_EQ(one.copy_ns, 0);
    }
  }
  EXPECT_GT(behind, 0) << "no frame waited: the test shows nothing";
}

// Fails when `wait` says done at a deadline that has passed, loses the frame, or waits for it.
// Promises: RT-005.
TEST_P(Contracts, AMissedDeadlineCanBeWaitedForAgain) {
  const bool fast = cuda() && !what().sequential;
  const ImageSize size = fast ? ImageSize{1920, 1080} : ImageSize{320, 240};
  const auto frames = noise_frames(size, PixelFormat::kGray8, 1, 12);
  auto made = rig(what().with(size), 1);
  OutputBuffer out(made.op.info());
  int missed = 0;
  // On a loaded machine the worker may end the frame before this thread runs again.
  for (int round = 0; round < 5 || (missed == 0 && round < 500); ++round) {
    const Ticket ticket = must(made.op.submit(frames[0].frame(), out.output()));
    const auto info = made.op.wait(ticket, Deadline::immediate());
    if (info) continue;
    ASSERT_EQ(info.error().status, Status::kDeadlineMissed);
    ++missed;
    EXPECT_TRUE(made.op.wait(ticket, Deadline::never()));
  }
  EXPECT_GT(missed, 0) << "no deadline was missed: the test shows nothing";
}

// ---- memory and lifetimes

// Fails when an operator takes more or less than its footprint, does not give it back, or when an
// engine with less refuses without the number of bytes.
// Promises: MEM-001.
TEST_P(Contracts, FootprintsAreExact) {
  for (const ImageSize size : {ImageSize{1, 1}, kSize, {101, 67}}) {
    for (const int depth : {1, kMaxDepth}) {
      SCOPED_TRACE(text_of(size) + ", depth " + std::to_string(depth));
      const OperatorConfig config = what().with(size, depth);
      const Footprint needs = must(config.footprint(must(Engine::probe(settings()))));
      {
        Engine engine = engine_for(config);
        {
          const auto op = must(config.create(engine));
          EXPECT_EQ(engine.memory_use().used, needs);
          EXPECT_EQ(engine.memory_use().pieces, 1);
          const auto second = config.create(engine);
          ASSERT_FALSE(second);
          expect_words(second.error(), Status::kOutOfMemory,
                       {std::to_string(needs.*state_memory(backend())), "EngineConfig::memory"});
        }
        EXPECT_EQ(engine.memory_use().used, Footprint{});
        EXPECT_EQ(engine.memory_use().peak, needs);
        EXPECT_TRUE(config.create(engine)) << "the memory did not come back";
      }
      for (const auto kind : {&Footprint::host, &Footprint::pinned, &Footprint::device}) {
        EXPECT_EQ(needs.*kind % kMemoryAlignment, 0u);
        if (needs.*kind == 0) continue;
        EngineConfig less = settings();
        less.memory = needs;
        // The engine cuts device memory in pieces of 256 bytes.
        less.memory.*kind -= std::min<std::size_t>(needs.*kind, 256);
        Engine small = must(Engine::create(less));
        const auto refused = config.create(small);
        ASSERT_FALSE(refused) << "created in less than its footprint";
        EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
        EXPECT_EQ(small.memory_use().used, Footprint{});
      }
    }
  }
}

// Fails when an engine of too little memory takes the largest image, or when the error does not
// name the bytes that it has and the bytes that it needs.
// Promises: MEM-004.
TEST_P(Contracts, SizesBeyondTheMemoryAreRefused) {
  const auto kind = state_memory(backend());
  const OperatorConfig config = what().with({kMaxImageSide, kMaxImageSide});
  const Footprint needs = must(config.footprint(must(Engine::probe(settings()))));
  // An operator may need a few rows only.
  const std::size_t too_little = std::min<std::size_t>(1 << 20, needs.*kind / 2);
  ASSERT_GT(too_little, 0u);
  EngineConfig little = settings();
  little.memory.*kind = too_little;
  Engine engine = must(Engine::create(little));
  const auto made = config.create(engine);
  ASSERT_FALSE(made);
  expect_words(made.error(), Status::kOutOfMemory,
               {std::to_string(needs.*kind), std::to_string(too_little), "EngineConfig::memory"});
}

// Fails when an engine of the sum of all footprints has no room for all operators, in any order.
// Promises: MEM-002.
TEST_P(Together, FootprintsAddUp) {
  const std::vector<OperatorConfig> all = configs(2);
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(5);
  for (int round = 0; round < 5; ++round) {
    Engine engine = engine_for(all);
    Footprint sum;
    std::vector<OperatorHandle> handles;
    for (const std::size_t which : order) {
      sum += must(all[which].footprint(engine.info()));
      handles.push_back(must(all[which].create(engine)));
    }
    EXPECT_EQ(engine.memory_use().used, sum);
    EXPECT_EQ(engine.memory_use().capacity, sum);
    EXPECT_EQ(engine.memory_use().pieces, static_cast<int>(all.size()));
    std::shuffle(order.begin(), order.end(), random);
  }
}

// Fails when operators whose footprints add up to the engine's memory find no room after some of
// them were destroyed and created in another order, or when the error for another footprint does
// not say that the block is fragmented.
// Promises: MEM-002.
TEST_P(Together, OperatorsComeAndGoInAnyOrder) {
  const bool cuda = GetParam() == BackendChoice::kCuda;
  std::vector<OperatorConfig> all = configs(2);
  all.push_back(all.front());  // two of one footprint
  EngineConfig settings = test::engine_config(1, GetParam());
  settings.memory += Buffer::footprint(MemorySpace::kHost, 5000);
  Engine engine = must(create_engine(settings, all));
  std::vector<std::optional<OperatorHandle>> handles(all.size());
  std::optional<Buffer> buffer;
  const auto toggle = [](auto& held, auto create) {
    if (held) {
      held.reset();
      return;
    }
    auto made = create();
    ASSERT_TRUE(made) << made.error().text;
    held.emplace(std::move(*made));
  };
  std::mt19937 random(7);
  for (int step = 0; step < (cuda ? 300 : 5'000) && !HasFatalFailure(); ++step) {
    const std::size_t which = random() % (all.size() + 1);
    if (which < all.size()) {
      toggle(handles[which], [&] { return all[which].create(engine); });
    } else {
      toggle(buffer, [&] { return Buffer::create(engine, MemorySpace::kHost, 5000); });
    }
  }
  handles.clear();
  buffer.reset();
  EXPECT_EQ(engine.memory_use().used, Footprint{});
  if (cuda) return;
  // Every second piece of half the block is free, so there is no room for a larger one.
  const std::size_t capacity = engine.memory_use().capacity.host;
  const std::size_t piece = capacity / 12 / kMemoryAlignment * kMemoryAlignment;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 12; ++i)
    buffers.push_back(must(Buffer::create(engine, MemorySpace::kHost, piece)));
  for (int i = 0; i < 6; ++i) buffers.erase(buffers.begin() + i);
  const auto refused = Buffer::create(engine, MemorySpace::kHost, 3 * piece);
  ASSERT_FALSE(refused);
  expect_words(refused.error(), Status::kOutOfMemory, {"fragmented", std::to_string(3 * piece)});
}

// Fails when the engine's threads or memory end before the operators that use them.
// Promises: MEM-006.
TEST_P(Contracts, TheEngineHandleMayGoFirst) {
  const OperatorConfig config = what().with(kSize, 2);
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 6, 7);
  const Results expected = results(config, frames);
  std::optional<OperatorHandle> op;
  {
    Engine engine = engine_for(config);
    op.emplace(must(config.create(engine)));
  }
  EXPECT_TRUE(same_bytes(expected, send(*op, frames)));
}

// Fails when a move loses frames in flight, or when the operator that is assigned over keeps its
// memory.
TEST_P(Contracts, OperatorsMove) {
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 3, 8);
  auto made = rig(what().with(kSize));
  OutputBuffer out(made.op.info());
  const Ticket ticket = must(made.op.submit(frames[0].frame(42), out.output()));
  OperatorHandle moved = std::move(made.op);
  EXPECT_EQ(must(moved.wait(ticket, Deadline::never())).sequence, 42u);
  auto other = rig(what().with({10, 10}));
  other.op = std::move(moved);
  EXPECT_EQ(other.op.info().size, kSize);
  EXPECT_EQ(other.engine.memory_use().used, Footprint{});
}

// Fails when an operator writes after its destructor has returned, or keeps its memory.
// Promises: MEM-006.
TEST_P(Contracts, FramesInFlightEndWithTheOperator) {
  const OperatorConfig config = what().with({160, 120}, 4);
  const auto frames = noise_frames({160, 120}, PixelFormat::kGray8, 1, 13);
  Engine engine = engine_for(config);
  for (int round = 0; round < 4; ++round) {
    auto outs = std::vector<OutputBuffer>(4, OutputBuffer(must(config.info())));
    {
      auto op = must(config.create(engine));
      for (auto& out : outs) must(op.submit(frames[0].frame(), out.output()));
    }
    std::vector<test::PlaneF> before;
    for (auto& out : outs) before.push_back(out.plane(0));
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (std::size_t i = 0; i < outs.size(); ++i)
      EXPECT_TRUE(test::same_bytes(before[i], outs[i].plane(0)));
  }
}

// Fails when a child process uses an operator of its parent, hangs or ends when it destroys one, or
// when the parent's operator is disturbed. A process with a CUDA driver cannot fork and continue.
// Promises: ERR-006.
TEST_P(Contracts, AChildOfForkCanOnlyDestroyOperators) {
  if (cuda()) GTEST_SKIP() << "CUDA does not survive fork()";
  const OperatorConfig config = what().with({160, 120}, 3);
  const auto frames = noise_frames({160, 120}, PixelFormat::kGray8, 1, 6);
  for (int round = 0; round < 3; ++round) {
    auto made = std::make_unique<test::Rig<OperatorHandle>>(rig(config, 3));
    OutputBuffer out(made->op.info());
    OutputBuffer second(made->op.info());
    const Ticket flying = must(made->op.submit(frames[0].frame(), out.output()));
    // fork() meets different moments of the frame.
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      const auto unsupported = [](const auto& result) {
        return !result && result.error().status == Status::kUnsupported &&
               std::strstr(result.error().text, "fork") != nullptr;
      };
      if (!unsupported(made->op.submit(frames[0].frame(), second.output()))) _exit(1);
      if (!unsupported(made->op.wait(flying, Deadline::never()))) _exit(2);
      if (!unsupported(config.create(made->engine))) _exit(3);
      made->op.reset();
      made.reset();
      if (!test::threads_after_fork()) _exit(0);
      auto own = rig(config, 2);
      const auto ticket = own.op.submit(frames[0].frame(), second.output());
      _exit(ticket && own.op.wait(*ticket, Deadline::never()) ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << ", round " << round;
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
    EXPECT_TRUE(made->op.wait(flying, Deadline::never())) << "the parent's frame was lost";
  }
}

// ---- threads

// Fails when a result depends on chance, on the number of workers, or on the parts that they take.
// Promises: RES-001.
TEST_P(Contracts, TheNumberOfWorkersChangesNothing) {
  for (const ImageSize size : {ImageSize{67, 43}, {5, 61}, {130, 3}, {102, 60}}) {
    const OperatorConfig config = what().with(size);
    const auto frames = moving_frames(size, PixelFormat::kGray8, 4, true);
    const Results one = results(config, frames, 1);
    for (const int workers : {1, 2, 3, 7, 16}) {
      EXPECT_TRUE(same_bytes(one, results(config, frames, workers)))
          << text_of(size) << ", " << workers << " workers";
    }
  }
}

// Fails when frames in flight overtake or disturb each other, at any depth.
// Promises: RES-001.
TEST_P(Contracts, FramesInFlightChangeNothing) {
  const ImageSize size{40, 30};
  const auto frames = moving_frames(size, PixelFormat::kGray8, 12, true);
  const Results one = results(what().with(size), frames);
  for (int depth = 2; depth <= kMaxDepth; ++depth)
    EXPECT_TRUE(same_bytes(one, results(what().with(size, depth), frames, 2, depth)))
        << "depth " << depth;
}

// Fails when engine and operator cannot be created and used in a thread of the program.
TEST_P(Contracts, AThreadOfTheProgramCanDoEverything) {
  const OperatorConfig config = what().with(kSize, 2);
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 6, 9);
  const Results expected = results(config, frames);
  Results got;
  std::thread([&] { got = results(config, frames, 2, 2); }).join();
  EXPECT_TRUE(same_bytes(expected, got));
}

// Fails when one thread cannot submit while another one waits.
TEST_P(Contracts, OneThreadSubmitsAnotherWaits) {
  constexpr std::size_t kFrames = 300;
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 10, 10);
  auto made = rig(what().with(kSize, 4));
  auto outs = outputs(made.op, 4);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Ticket> queue;
  std::vector<std::uint64_t> sequences;
  std::thread consumer([&] {
    while (sequences.size() < kFrames) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const Ticket ticket = queue.front();
      lock.unlock();
      const FrameInfo info = must(made.op.wait(ticket, Deadline::after(std::chrono::seconds(60))));
      sequences.push_back(info.sequence);
      lock.lock();
      queue.pop_front();
      changed.notify_all();
    }
  });
  for (std::size_t f = 0; f < kFrames; ++f) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return queue.size() < 4; });
    }
    const Ticket ticket = must(made.op.submit(frames[f % 10].frame(f), outs[f % 4].output()));
    const std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(ticket);
    changed.notify_all();
  }
  consumer.join();
  for (std::size_t f = 0; f < kFrames; ++f) ASSERT_EQ(sequences[f], f);
}

// Fails when operators disturb each other: all on one engine with frames in flight, waited for in
// the reverse order and then used from a thread each.
TEST_P(Together, OperatorsDoNotDisturbEachOther) {
  constexpr std::size_t kFrames = 8;
  const std::vector<OperatorConfig> all = configs(2);
  std::vector<std::vector<FrameBuffer>> frames;
  std::vector<Results> alone;
  Engine engine = engine_for(all);
  std::vector<OperatorHandle> handles;
  for (const OperatorConfig& config : all) {
    handles.push_back(must(config.create(engine)));
    frames.push_back(moving_frames(handles.back().info().size, PixelFormat::kGray8, kFrames, true));
    alone.push_back(test::run(config, frames.back(), 2, 1, GetParam()));
  }
  for (std::size_t f = 0; f < kFrames; ++f) {
    std::vector<OutputBuffer> outs;
    std::vector<Ticket> tickets;
    for (std::size_t i = 0; i < all.size(); ++i) outs.emplace_back(handles[i].info());
    for (std::size_t i = 0; i < all.size(); ++i)
      tickets.push_back(must(handles[i].submit(frames[i][f].frame(f), outs[i].output())));
    for (std::size_t i = all.size(); i-- > 0;) {
      must(handles[i].wait(tickets[i], Deadline::never()));
      EXPECT_TRUE(test::same_bytes(outs[i].plane(0), alone[i].planes[f][0]))
          << handles[i].info().name << ", " << handles[i].info().summary;
    }
  }
  std::vector<Results> got(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] {
      handles[i].reset();
      got[i] = send(handles[i], frames[i], 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < all.size(); ++i) {
    // An operator that learns keeps what the first frames have taught.
    auto rig = make_rig(all[i], 2, GetParam());
    (void)send(rig.op, frames[i], 2);
    rig.op.reset();
    EXPECT_TRUE(same_bytes(send(rig.op, frames[i], 2), got[i]))
        << handles[i].info().name << ", " << handles[i].info().summary;
  }
}

// Fails when instances of one operator, created and used from three threads at once, disturb each
// other.
TEST_P(Contracts, SeveralThreads) {
  const ImageSize size{50, 33};
  const OperatorConfig config = what().with(size, 2);
  const auto frames = moving_frames(size, PixelFormat::kGray8, 12, true);
  const Results alone = results(config, frames);
  Engine shared = must(create_engine(settings(), {config, config, config}));
  for (const bool one_engine : {true, false}) {
    std::vector<Results> got(3);
    std::vector<std::thread> threads;
    for (Results& result : got) {
      threads.emplace_back([&] {
        if (one_engine) {
          auto op = must(config.create(shared));
          result = send(op, frames, 2);
        } else {
          result = results(config, frames, 2, 2);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const Results& result : got)
      EXPECT_TRUE(same_bytes(alone, result)) << (one_engine ? "one engine" : "an engine each");
    EXPECT_EQ(shared.memory_use().used, Footprint{});
  }
}

// ---- temporal state

// Fails when the flag of the warm-up, the described frame or the delay differ from OperatorInfo.
TEST_P(Contracts, EveryFrameTellsWhatItDescribes) {
  auto made = rig(what().with(kSize));
  const OperatorInfo& info = made.op.info();
  const int count = info.support_frames + 3;
  const Results got = send(made.op, noise_frames(kSize, PixelFormat::kGray8, count, 14));
  for (int f = 0; f < count; ++f) {
    SCOPED_TRACE("frame " + std::to_string(f));
    const FrameInfo& frame = got.infos[static_cast<std::size_t>(f)];
    EXPECT_EQ(frame.warming_up(), f + 1 < info.support_frames);
    EXPECT_FALSE(frame.bad_pixels());
    EXPECT_EQ(frame.sequence, static_cast<std::uint64_t>(f));
    EXPECT_EQ(frame.timestamp_ns, f * 1'000'000 + 7);
    EXPECT_EQ(frame.delay_frames, info.delay_frames);
    const int described = std::max(0, f - static_cast<int>(info.delay_frames));
    EXPECT_EQ(frame.described_sequence, static_cast<std::uint64_t>(described));
    EXPECT_EQ(frame.described_timestamp_ns, described * 1'000'000 + 7);
  }
}

// Fails when `reset` keeps anything of the past, or leaves the operator unusable; and when
// `keeps_state` is wrong, because then a result without `reset` depends on the past, too.
// Promises: RES-005.
TEST_P(Contracts, ResetForgetsThePast) {
  const ImageSize size{64, 48};
  const OperatorConfig config = what().with(size, 3);
  const auto before = noise_frames(size, PixelFormat::kGray8, 7, 36);
  const auto after = moving_frames(size, PixelFormat::kGray8, 6, true);
  const Results fresh = results(config, after);
  auto made = rig(config);
  if (made.op.info().learns) {
    EXPECT_TRUE(made.op.info().keeps_state);
    (void)send(made.op, before, 2);
    EXPECT_FALSE(same_bytes(fresh, send(made.op, after)));
    GTEST_SKIP() << "what was learned outlives a reset; conformance.cortex tests it";
  }
  for (int unfinished = 0; unfinished <= 3; ++unfinished) {
    (void)send(made.op, before, 2);
    if (unfinished == 0) {
      EXPECT_EQ(same_bytes(fresh, send(made.op, after)), !made.op.info().keeps_state);
    }
    auto outs = outputs(made.op, static_cast<std::size_t>(unfinished));
    std::vector<Ticket> tickets;
    for (auto& out : outs) tickets.push_back(must(made.op.submit(before[0].frame(), out.output())));
    made.op.reset();
    for (const Ticket ticket : tickets) {
      const auto gone = made.op.wait(ticket, Deadline::never());
      ASSERT_FALSE(gone);
      EXPECT_EQ(gone.error().status, Status::kInvalidTicket);
    }
    const Results again = send(made.op, after);
    EXPECT_TRUE(same_bytes(fresh, again)) << unfinished << " frames in flight";
    EXPECT_EQ(again.infos[0].warming_up(), fresh.infos[0].warming_up());
    EXPECT_EQ(again.infos[0].described_sequence, 0u);
    made.op.reset();
    made.op.reset();
    EXPECT_TRUE(same_bytes(fresh, send(made.op, after))) << "a second reset";
    made.op.reset();
  }
}

// Fails when a frame that was stopped is reported as done, when its ticket remains in flight, when
// a frame that is done loses its result, or when anything of a stopped frame remains after `reset`.
// The frames are stopped at different moments.
// Promises: RT-009.
TEST_P(Contracts, AStoppedFrameLeavesNoTrace) {
  const ImageSize size{96, 64};
  const OperatorConfig config = what().with(size, 2);
  const auto frames = moving_frames(size, PixelFormat::kGray8, 6, true);
  const Results fresh = results(config, frames);
  auto made = rig(config);
  OperatorHandle& op = made.op;
  const bool learns = op.info().learns;
  std::mt19937 random(5);
  for (int round = 0; round < 24; ++round) {
    auto outs = outputs(op, 2);
    std::vector<Ticket> tickets;
    for (auto& out : outs) tickets.push_back(must(op.submit(frames[0].frame(), out.output())));
    std::thread stopping([&, after = std::chrono::microseconds(random() % 2000)] {
      std::this_thread::sleep_for(after);
      op.stop();
    });
    for (const Ticket ticket : tickets) {
      const auto got = op.wait(ticket, Deadline::never());
      if (!got) {
        EXPECT_EQ(got.error().status, Status::kStopped) << got.error().text;
        EXPECT_FALSE(learns) << "it has learned from a part of a frame";
      }
      const auto again = op.wait(ticket, Deadline::immediate());
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().status, Status::kInvalidTicket);
    }
    stopping.join();
    const auto refused = op.submit(frames[0].frame(), outs[0].output());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kStopped);
    op.reset();
    if (!learns) {
      EXPECT_TRUE(same_bytes(fresh, send(op, frames))) << "round " << round;
    }
    op.reset();
  }
}

// Fails when a queued frame of an operator that was stopped runs, or when the frames of another
// operator on the engine are stopped, too.
// Promises: RT-009.
TEST_P(Contracts, AStopConcernsOneOperator) {
  const OperatorConfig config = what().with(kSize, 2);
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 1, 8);
  Engine engine = must(create_engine(settings(), {config, config}));
  OperatorHandle first = must(config.create(engine));
  OperatorHandle second = must(config.create(engine));
  auto outs = outputs(first, 2);
  OutputBuffer other(second.info());
  for (int round = 0; round < 8; ++round) {
    const Ticket one = must(first.submit(frames[0].frame(), outs[0].output()));
    const Ticket goes_on = must(second.submit(frames[0].frame(), other.output()));
    const Ticket two = must(first.submit(frames[0].frame(), outs[1].output()));
    first.stop();
    first.stop();
    for (const Ticket ticket : {one, two}) {
      const auto got = first.wait(ticket, Deadline::never());
      EXPECT_TRUE(got || got.error().status == Status::kStopped) << got.error().text;
    }
    EXPECT_TRUE(second.wait(goes_on, Deadline::never()));
    first.reset();
  }
}

// Fails when a frame with NaN or infinity is not flagged, when its result is not the same value
// everywhere, or when it changes a later result.
// Promises: ERR-008.
TEST_P(Contracts, BadPixelsLeaveNoTrace) {
  const ImageSize size{37, 21};
  const auto good = moving_frames(size, PixelFormat::kFloat32, 8, true);
  const Results clean = results(what().with(size, 1, PixelFormat::kFloat32), good);
  const double bad_values[] = {std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
  constexpr std::array<int, 2> kPlaces[] = {{0, 0}, {36, 20}, {18, 10}, {31, 3}};
  // The frames before which the bad ones come: first, one, in a row, last.
  const std::vector<std::vector<std::size_t>> orders = {{0}, {2}, {0, 0, 1, 3, 3, 3}, {7, 7}};
  std::size_t number = 0;
  for (const auto& order : orders) {
    for (const int in_flight : {1, 4}) {
      std::vector<FrameBuffer> frames;
      std::vector<std::optional<std::size_t>> originals;  // empty for a bad frame
      for (std::size_t f = 0; f < good.size(); ++f) {
        for (std::ptrdiff_t n = std::count(order.begin(), order.end(), f); n > 0; --n, ++number) {
          frames.push_back(noise_frames(size, PixelFormat::kFloat32, 1, 99)[0]);
          const auto& place = kPlaces[number % 4];
          frames.back().set(place[0], place[1], bad_values[number % 3]);
          originals.emplace_back();
        }
        frames.push_back(good[f]);
        originals.emplace_back(f);
      }
      const Results got =
          results(what().with(size, 4, PixelFormat::kFloat32), frames, 2, in_flight);
      for (std::size_t f = 0; f < frames.size(); ++f) {
        SCOPED_TRACE("frame " + std::to_string(f) + ", " + std::to_string(in_flight) +
                     " in flight");
        ASSERT_EQ(got.infos[f].bad_pixels(), !originals[f]);
        for (std::size_t p = 0; p < got.planes[f].size(); ++p) {
          const test::PlaneF& plane = got.planes[f][p];
          if (originals[f]) {
            ASSERT_TRUE(test::same_bytes(plane, clean.planes[*originals[f]][p]));
          } else {
            ASSERT_TRUE(test::same_bytes(
                plane, test::PlaneF(plane.width, plane.height, plane.data.front())));
          }
        }
        if (!originals[f]) continue;
        ASSERT_EQ(got.records[f], clean.records[*originals[f]]);
        ASSERT_EQ(got.infos[f].warming_up(), clean.infos[*originals[f]].warming_up());
      }
    }
  }
}

}  // namespace
}  // namespace ocellus
