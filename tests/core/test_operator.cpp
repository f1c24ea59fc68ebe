// OperatorHandle and CpuOperator with an operator of the tests.
// tests/conformance/test_contracts.cpp has the contracts of the library's operators.
#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "core/cpu_operator.h"
#include "core/scheduler_fixture.h"
#include "image/pixel_rows.h"
#include "ocellus/buffer.h"
#include "support/inverse.h"

namespace ocellus::test {
namespace {

using detail::Bands;
using detail::CpuOperator;
using detail::JobStep;
using detail::LayoutBuilder;

template <typename T>
class Inverse : public CpuOperator {
 public:
  /// Each part of the first step passes the gate, if there is one.
  Inverse(const OperatorInfo& info, int workers, Gate* gate = nullptr) noexcept
      : CpuOperator(info, workers),
        bands_(Bands::cut(info.size.height, workers, 2, 1)),
        gate_(gate) {}

 private:
  void layout(LayoutBuilder& builder) noexcept override {
    for (float*& frame : kept_) frame = builder.take<float>(pixels());
  }
  Expected<void> prepare() noexcept override { return {}; }
  int step_count() const noexcept override { return 2; }
  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[0] = {&keep, &contexts[0], bands_.count()};
    steps[1] = {&invert, &contexts[1], bands_.count()};
  }
  void write_bad(const FrameJob& frame) noexcept override {
    for (int p = 0; p < info_.plane_count; ++p) {
      if (!frame.wants(p)) continue;
      for (int y = 0; y < info_.size.height; ++y)
        std::fill_n(frame.template out_row<T>(p, y), info_.size.width, kInverseBad<T>);
    }
    std::memset(frame.record, 0xa5, sizeof(InverseRecord));
  }
  void complete(const FrameJob& frame) noexcept override {
    static_cast<InverseRecord*>(frame.record)->set(bright_.exchange(0));
  }

  static void keep(void* context, int part, int) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<Inverse*>(frame.owner);
    if (self.gate_ != nullptr) self.gate_->pass();
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      const char* const in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
      if (!detail::convert_row(in, self.info_.format, self.row(self.history_.head(), y),
                               self.info_.size.width))
        mark_bad(frame);
    }
  }
  static void invert(void* context, int part, int) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<Inverse*>(frame.owner);
    if (frame.bad.load(std::memory_order_relaxed)) return;
    const int width = self.info_.size.width;
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      const float* const now = self.row(self.history_.head(), y);
      const float* const before = self.row(self.history_.ring_index(1), y);
      self.bright_ += static_cast<std::uint32_t>(
          std::count_if(now, now + width, [](float p) { return p > kInverseBright; }));
      std::transform(now, now + width, frame.template out_row<T>(0, y), inverse_of<T>);
      if (!frame.wants(1)) continue;
      std::transform(before, before + width, frame.template out_row<T>(1, y),
                     [](float p) { return static_cast<T>(p); });
    }
  }

  std::size_t pixels() const {
    return static_cast<std::size_t>(info_.size.width * info_.size.height);
  }
  float* row(int frame, int y) { return kept_[frame] + y * info_.size.width; }

  Bands bands_;
  Gate* gate_;
  float* kept_[2] = {};
  std::atomic<std::uint32_t> bright_{0};
};

/// What it has learned are bytes, which may be refused from a place on.
class Learner final : public Inverse<std::uint8_t> {
 public:
  static constexpr std::uint64_t kBytes = 100'000;

  Learner(const OperatorInfo& info, char value) noexcept : Inverse(info, 1), bytes(kBytes, value) {}

  Learned learned() const noexcept override { return {kBytes, 1}; }
  Expected<void> read_learned(void* to, std::uint64_t at, std::size_t count) noexcept override {
    if (at >= reads_end) return tl::unexpected(make_error(Status::kSystem, "no copy from here"));
    std::memcpy(to, bytes.data() + at, count);
    return {};
  }
  Expected<void> write_learned(const void* from, std::uint64_t at,
                               std::size_t count) noexcept override {
    if (at >= writes_end) return tl::unexpected(make_error(Status::kSystem, "no copy to here"));
    std::memcpy(bytes.data() + at, from, count);
    return {};
  }
  Expected<void> save_learned(const char*) noexcept override { return {}; }

  std::vector<char> bytes;
  std::uint64_t reads_end = kBytes;
  std::uint64_t writes_end = kBytes;
};

/// An operator with such an instance.
struct LearnerRig {
  explicit LearnerRig(char value)
      : engine(make_engine()),
        learner(new Learner(inverse_info<std::uint8_t>(), value)),
        op(must(detail::make_operator(engine, inverse_info<std::uint8_t>(),
                                      std::unique_ptr<detail::OperatorInstance>(learner)))) {}

  static Engine make_engine() {
    EngineConfig config = engine_config(1);
    config.memory =
        must(detail::footprint_of(std::make_unique<Learner>(inverse_info<std::uint8_t>(), 'x')));
    return must(Engine::create(config));
  }
  bool all(char value) const {
    return std::count(learner->bytes.begin(), learner->bytes.end(), value) ==
           static_cast<std::ptrdiff_t>(Learner::kBytes);
  }
  Expected<void> send() {
    const std::vector<float> pixels = inverse_frame(0);
    InverseOutput<std::uint8_t> out;
    const auto ticket = op.submit(inverse_view(pixels, 0), out.view(true));
    if (!ticket) return tl::unexpected(ticket.error());
    const auto done = op.wait(*ticket, Deadline::never());
    return done ? Expected<void>() : tl::unexpected(done.error());
  }

  Engine engine;
  Learner* learner;  ///< of the operator
  OperatorHandle op;
};

template <typename T>
std::unique_ptr<detail::OperatorInstance> make_inverse(int workers, int depth = 2) {
  return std::make_unique<Inverse<T>>(inverse_info<T>(depth), workers);
}

/// Two operators on one engine with one worker. The frames of the first one wait at the gate.
struct TwoOperators {
  TwoOperators() : engine(make_engine()), blocker(make(&gate)), op(make(nullptr)) {}
  ~TwoOperators() { gate.open(); }

  static Engine make_engine() {
    EngineConfig config = engine_config(1);
    config.memory = must(detail::footprint_of(make_inverse<std::uint8_t>(1, kMaxDepth)));
    config.memory += config.memory;
    return must(Engine::create(config));
  }
  OperatorHandle make(Gate* at) {
    const OperatorInfo info = inverse_info<std::uint8_t>(kMaxDepth);
    return must(
        detail::make_operator(engine, info, std::make_unique<Inverse<std::uint8_t>>(info, 1, at)));
  }

  Gate gate;
  Engine engine;
  OperatorHandle blocker;
  OperatorHandle op;
};

bool readable(int fd, int timeout_ms = 0) {
  pollfd look{fd, POLLIN, 0};
  return poll(&look, 1, timeout_ms) == 1 && (look.revents & POLLIN) != 0;
}

/// An engine with memory for exactly one such operator, and the operator.
template <typename T>
struct InverseRig {
  explicit InverseRig(int workers, int depth = 2)
      : engine(make_engine(workers, depth)),
        op(must(detail::make_operator(engine, inverse_info<T>(depth),
                                      make_inverse<T>(workers, depth)))) {}

  static Engine make_engine(int workers, int depth) {
    EngineConfig config = engine_config(workers);
    config.memory = must(detail::footprint_of(make_inverse<T>(workers, depth)));
    return must(Engine::create(config));
  }

  Engine engine;
  OperatorHandle op;
};

template <typename T>
class Results : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(Results, Elements);

// Fails when results of 8 or 16 bits lie at a wrong place, when a plane that was left out is
// written, when a bad frame has no result or changes the next one, or when the record belongs to
// another frame.
TYPED_TEST(Results, ComeWithTheirRecord) {
  for (const int workers : {1, 3}) {
    for (const int depth : {1, 2, 7}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, depth " + std::to_string(depth));
      InverseRig<TypeParam> rig(workers, depth);
      EXPECT_EQ(rig.engine.memory_use().used, rig.engine.memory_use().capacity);
      expect_inverses<TypeParam>(rig.op);
      rig.op.reset();
      expect_inverses<TypeParam>(rig.op);
    }
  }
}

// Fails when the destructor keeps the operator's memory, or frees it while a frame is in flight.
TYPED_TEST(Results, MayBeInFlightAtTheEnd) {
  const int workers = 2;
  Engine engine = InverseRig<TypeParam>::make_engine(workers, 2);
  const std::vector<float> frame = inverse_frame(1);
  for (int round = 0; round < 3; ++round) {
    InverseOutput<TypeParam> first, second;
    OperatorHandle op = must(
        detail::make_operator(engine, inverse_info<TypeParam>(), make_inverse<TypeParam>(workers)));
    must(op.submit(inverse_view(frame, 1), first.view(true)));
    must(op.submit(inverse_view(frame, 2), second.view(true)));
  }
  EXPECT_EQ(engine.memory_use().used, Footprint{});
}

// Fails when an allocation that returned null is used.
TEST(Creation, NeedsAnObject) {
  const auto bytes = detail::footprint_of(nullptr);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().status, Status::kOutOfMemory);
  Engine engine = must(Engine::create(engine_config(1)));
  const auto made = detail::make_operator(engine, inverse_info<std::uint8_t>(), nullptr);
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().text, "the system gave no memory for the operator");
}

// Fails when an operator is created although the engine's block is too small.
TEST(Creation, NeedsRoomInTheBlock) {
  Engine engine = must(Engine::create(engine_config(1)));
  const auto made =
      detail::make_operator(engine, inverse_info<std::uint8_t>(), make_inverse<std::uint8_t>(1));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status, Status::kOutOfMemory);
}

// Fails when a refusal blames an operator for a buffer that finds no room.
TEST(Creation, ABufferNeedsRoomInTheBlock) {
  EngineConfig config = engine_config(1);
  config.memory = Buffer::footprint(MemorySpace::kHost, 100);
  Engine engine = must(Engine::create(config));
  const auto made = Buffer::create(engine, MemorySpace::kHost, 5000);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status, Status::kOutOfMemory);
  EXPECT_NE(std::string(made.error().text).find("5000 bytes of host memory are needed"),
            std::string::npos)
      << made.error().text;
  EXPECT_NE(std::string(made.error().text).find("footprint of this operator or buffer"),
            std::string::npos)
      << made.error().text;
}

// Fails when an operator computes with, saves or passes on a part of what two operators have
// learned, because a copy failed; or when it is of no use afterwards.
TEST(Handle, HalfOfWhatWasLearnedIsNotUsed) {
  LearnerRig from('a'), to('b'), third('c');
  const auto refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, Status::kSystem);
    EXPECT_NE(std::string(result.error().text).find("take_learned of inverse failed"),
              std::string::npos)
        << result.error().text;
  };
  from.learner->reads_end = 0;
  EXPECT_FALSE(to.op.take_learned(from.op));
  EXPECT_TRUE(to.all('b'));
  EXPECT_TRUE(to.send() && to.op.save_model("x"));
  for (const bool reading : {true, false}) {
    from.learner->reads_end = reading ? Learner::kBytes / 2 : Learner::kBytes;
    to.learner->writes_end = reading ? Learner::kBytes : Learner::kBytes / 2;
    const auto failed = to.op.take_learned(from.op);
    ASSERT_FALSE(failed);
    EXPECT_STREQ(failed.error().text, reading ? "no copy from here" : "no copy to here");
    EXPECT_FALSE(to.all('a') || to.all('b'));
    refused(to.send());
    refused(to.op.save_model("x"));
    refused(third.op.take_learned(to.op));
    to.op.reset();
    refused(to.send());
    EXPECT_TRUE(third.all('c') && from.all('a'));
    EXPECT_TRUE(from.send() && from.op.save_model("x"));
    from.learner->reads_end = to.learner->writes_end = Learner::kBytes;
    must(to.op.take_learned(from.op));
    EXPECT_TRUE(to.all('a'));
    EXPECT_TRUE(to.send() && to.op.save_model("x"));
    std::fill(to.learner->bytes.begin(), to.learner->bytes.end(), 'b');
  }
}

// Fails when a ticket of another operator counts as one that is done, or an empty one as another's.
TEST(Handle, TellsTicketsOfOtherOperators) {
  InverseRig<std::uint8_t> rig(1), other(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> out, out_of_other;
  const Ticket ticket = must(rig.op.submit(inverse_view(pixels, 0), out.view(true)));
  const Ticket of_other = must(other.op.submit(inverse_view(pixels, 0), out_of_other.view(true)));
  const auto wrong = other.op.wait(ticket, Deadline::never());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, Status::kInvalidTicket);
  EXPECT_NE(std::string(wrong.error().text).find("ticket 1 is of another operator"),
            std::string::npos)
      << wrong.error().text;
  const auto empty = rig.op.wait(Ticket{}, Deadline::never());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().status, Status::kInvalidTicket);
  EXPECT_STREQ(empty.error().text, "ticket 0 was not given out; submit counts from 1");
  must(rig.op.wait(ticket, Deadline::never()));
  must(other.op.wait(of_other, Deadline::never()));
  const auto done = rig.op.wait(ticket, Deadline::never());
  ASSERT_FALSE(done);
  EXPECT_STREQ(done.error().text, "ticket 1 is not in flight");
}

template <typename T>
void expect_refused(const std::function<void(Frame&, OperatorOutput&)>& spoil, const char* text) {
  InverseRig<T> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<T> out;
  Frame frame = inverse_view(pixels, 0);
  OperatorOutput planes = out.view(true);
  spoil(frame, planes);
  const auto ticket = rig.op.submit(frame, planes);
  ASSERT_FALSE(ticket) << text;
  EXPECT_EQ(ticket.error().status, Status::kInvalidArgument);
  EXPECT_STREQ(ticket.error().text, text);
  for (int p = 0; p < 2; ++p) out.expect_untouched(p);
}

// Fails when `submit` takes a plane whose bounds the operator would exceed, or when the error names
// another reason.
// Promises: ERR-004.
TEST(Handle, ErrorsNameTheBadPlane) {
  using B = std::uint8_t;
  using W = std::uint16_t;
  using O = OperatorOutput;
  expect_refused<B>([](Frame&, O& o) { o.planes[0].size.height = 20; },
                    "output plane now is 37x20; it must be 37x21");
  expect_refused<B>([](Frame&, O& o) { o.planes[1].size.width = 36; },
                    "output plane before is 36x21; it must be 37x21");
  expect_refused<B>([](Frame&, O& o) { o.planes[2] = o.planes[0]; },
                    "output has a plane 2; the operator has 2 planes");
  expect_refused<B>([](Frame&, O& o) { o.planes[0].format = PixelFormat::kFloat32; },
                    "output plane now has the format kFloat32; it must have kGray8");
  expect_refused<W>([](Frame&, O& o) { o.planes[1].format = PixelFormat::kGray8; },
                    "output plane before has the format kGray8; it must have kGray16");
  expect_refused<B>([](Frame&, O& o) { o.planes[0].stride = 36; },
                    "output plane now: stride is 36 bytes; it must be at least 37");
  expect_refused<W>(
      [](Frame&, O& o) { o.planes[0].stride = 72; },
      "output plane now: stride is 72 bytes; it must be a multiple of 2 and at least 74");
  expect_refused<W>(
      [](Frame&, O& o) { o.planes[1].stride = 75; },
      "output plane before: stride is 75 bytes; it must be a multiple of 2 and at least 74");
  expect_refused<B>([](Frame&, O& o) { o.planes[1].stride = 41; },
                    "output planes now and before have strides of 40 and 41 bytes; planes of one "
                    "size and format must have one stride");
  expect_refused<B>([](Frame&, O& o) { o.planes[0].data = nullptr; }, "output plane now is null");
  expect_refused<B>([](Frame&, O& o) { o.planes[1].data = o.planes[0].data; },
                    "output planes now and before are the same; each needs memory of its own");
  expect_refused<B>(
      [](Frame&, O& o) { o.planes[0].space = MemorySpace::kCuda; },
      "frame is in host and output in cuda memory; the backend cpu reads and writes host memory");
  expect_refused<B>(
      [](Frame&, O& o) { o.planes[1].space = MemorySpace::kPinned; },
      "output planes now and before are in host and pinned memory; all must be in memory of one "
      "kind");
  expect_refused<B>([](Frame& f, O&) { f.format = PixelFormat::kGray8; },
                    "frame.format is kGray8; the operator was made for kFloat32");

  // The error text has the address, so only its end is compared.
  InverseRig<W> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<W> out;
  OperatorOutput planes = out.view(true);
  planes.planes[1].data = planes.planes[1].row<char>(0) + 1;
  const auto ticket = rig.op.submit(inverse_view(pixels, 0), planes);
  ASSERT_FALSE(ticket);
  EXPECT_NE(std::string(ticket.error().text).find("it must be aligned to its 2-byte elements"),
            std::string::npos)
      << ticket.error().text;
}

// Fails when a plane of bytes at an odd address or with an odd stride is refused.
TEST(Handle, TakesBytesAtAnyAddress) {
  InverseRig<std::uint8_t> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  std::vector<std::uint8_t> memory(2 * 39 * 21 + 1);
  OperatorOutput planes;
  planes.planes[0] = {memory.data() + 1,   kInverseSize,       39,
                      PixelFormat::kGray8, MemorySpace::kHost, nullptr};
  const Ticket ticket = must(rig.op.submit(inverse_view(pixels, 0), planes));
  must(rig.op.wait(ticket, Deadline::never()));
  EXPECT_EQ(memory[1 + 39], inverse_of<std::uint8_t>(pixels[37]));
}

// Fails when a result depends on whether the caller computes, or when the engine does not tell it.
TEST(Handle, ResultsAreEqualWithoutTheCallersWork) {
  const int workers = 2;
  EngineConfig config = engine_config(workers);
  config.workers_only = true;
  config.memory = must(detail::footprint_of(make_inverse<std::uint8_t>(workers)));
  Engine engine = must(Engine::create(config));
  EXPECT_TRUE(engine.info().workers_only);
  EXPECT_FALSE(must(Engine::probe(engine_config(workers))).workers_only);
  OperatorHandle op = must(detail::make_operator(engine, inverse_info<std::uint8_t>(),
                                                 make_inverse<std::uint8_t>(workers)));
  expect_inverses<std::uint8_t>(op);
}

// Fails when a frame counts for each deadline that it misses, when a look counts, or when a frame
// that was done in time does.
// Promises: RT-005.
TEST(Handle, CountsLateFramesOnce) {
  TwoOperators two;
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> outs[3];
  const Ticket looked = must(two.blocker.submit(inverse_view(pixels, 0), outs[0].view(true)));
  const Ticket late = must(two.blocker.submit(inverse_view(pixels, 1), outs[1].view(true)));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(two.blocker.wait(looked, Deadline::immediate()));
    EXPECT_FALSE(two.blocker.wait(looked, Deadline::at({})));
  }
  EXPECT_EQ(two.blocker.stats().missed_deadlines, 0u) << "a look counts";
  const auto soon = Deadline::after(std::chrono::microseconds(50));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(two.blocker.wait(late, Deadline::immediate()));
    EXPECT_FALSE(two.blocker.wait(late, soon));  // its time has passed before the second call
  }
  EXPECT_EQ(two.blocker.stats().missed_deadlines, 1u);
  two.gate.open();
  must(two.blocker.wait(looked, Deadline::never()));
  must(two.blocker.wait(late, Deadline::never()));
  EXPECT_EQ(two.blocker.stats().missed_deadlines, 1u);
  // The next frame in the same place is another one.
  const Ticket in_time = must(two.blocker.submit(inverse_view(pixels, 2), outs[2].view(true)));
  must(two.blocker.wait(in_time, Deadline::after(std::chrono::hours(1))));
  EXPECT_EQ(two.blocker.stats().missed_deadlines, 1u);
  EXPECT_EQ(two.blocker.stats().frames, 3u);
  EXPECT_EQ(two.blocker.stats().overflow, 0u);
}

// Fails when a missed deadline is not counted, or a frame that was done in time is.
// Promises: RT-005.
TEST(Handle, CountsMissedDeadlines) {
  InverseRig<std::uint8_t> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> out;
  std::uint64_t missed = 0;
  std::uint64_t frames = 0;
  for (; frames < 10'000 && missed < 3; ++frames) {
    const Ticket ticket = must(rig.op.submit(inverse_view(pixels, 0), out.view(true)));
    // The frame still runs after a miss, and a later wait reports it.
    if (rig.op.wait(ticket, Deadline::after(std::chrono::nanoseconds(1)))) continue;
    ++missed;
    must(rig.op.wait(ticket, Deadline::never()));
  }
  EXPECT_GE(missed, 3u);
  EXPECT_EQ(rig.op.stats().missed_deadlines, missed);
  EXPECT_EQ(rig.op.stats().frames, frames);
}

// Fails when a frame counts twice or not at all, or when a second `wait` for a frame counts.
TEST(Handle, CountsItsFrames) {
  InverseRig<std::uint8_t> rig(2);
  std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> out;
  for (int f = 0; f < 5; ++f) {
    if (f == 4) pixels[3] = std::numeric_limits<float>::quiet_NaN();
    const Ticket ticket = must(rig.op.submit(inverse_view(pixels, 0), out.view(true)));
    must(rig.op.wait(ticket, Deadline::never()));
    EXPECT_FALSE(rig.op.wait(ticket, Deadline::never()));
  }
  const OperatorStats stats = rig.op.stats();
  EXPECT_EQ(stats.frames, 5u);
  EXPECT_EQ(stats.bad_frames, 1u);
  EXPECT_EQ(stats.missed_deadlines, 0u);
  EXPECT_GT(stats.p50_ns, 0);
  EXPECT_LE(stats.p50_ns, stats.p99_ns);
  EXPECT_LE(stats.p99_ns, stats.max_ns + stats.max_ns / 500);
}

// Fails when `cancel` drops a frame that has begun or is done, keeps one that has not begun, or
// says something else; when a canceled frame runs, counts, or changes the result of a later one.
// Promises: RT-010.
TEST(Cancel, KnowsEveryState) {
  TwoOperators two;
  std::vector<std::vector<float>> pixels;
  for (std::uint64_t f = 0; f < 4; ++f) pixels.push_back(inverse_frame(f));
  InverseOutput<std::uint8_t> outs[5];
  const Ticket begun = must(two.blocker.submit(inverse_view(pixels[0], 0), outs[4].view(true)));
  ASSERT_TRUE(two.gate.await_arrivals(1));
  EXPECT_EQ(must(two.blocker.cancel(begun)), CancelOutcome::kBegun);

  std::array<Ticket, 4> tickets;
  for (std::size_t f = 0; f < 4; ++f)
    tickets[f] = must(two.op.submit(inverse_view(pixels[f], f), outs[f].view(true)));
  for (const std::size_t f : {1, 2}) {
    EXPECT_EQ(must(two.op.cancel(tickets[f])), CancelOutcome::kCanceled);
    for (const auto& gone : {two.op.cancel(tickets[f]).has_value(),
                             two.op.wait(tickets[f], Deadline::never()).has_value()})
      EXPECT_FALSE(gone);
  }
  const auto of_other = two.op.cancel(begun);
  ASSERT_FALSE(of_other);
  EXPECT_EQ(of_other.error().status, Status::kInvalidTicket);
  EXPECT_NE(std::string(of_other.error().text).find("is of another operator"), std::string::npos);

  two.gate.open();
  must(two.op.wait(tickets[3], Deadline::never()));
  EXPECT_EQ(must(two.op.cancel(tickets[0])), CancelOutcome::kDone);
  EXPECT_EQ(must(two.op.wait(tickets[0], Deadline::never())).sequence, 0u);
  must(two.blocker.wait(begun, Deadline::never()));
  EXPECT_FALSE(two.op.cancel(tickets[0]));
  for (const std::size_t f : {1, 2})
    for (int p = 0; p < 2; ++p) outs[f].expect_untouched(p);
  outs[3].expect(
      0, [&](int i) { return inverse_of<std::uint8_t>(pixels[3][static_cast<std::size_t>(i)]); });
  outs[3].expect(
      1, [&](int i) { return static_cast<std::uint8_t>(pixels[0][static_cast<std::size_t>(i)]); });
  EXPECT_EQ(two.op.stats().canceled_frames, 2u);
  EXPECT_EQ(two.op.stats().frames, 2u);
  EXPECT_EQ(two.blocker.stats().canceled_frames, 0u);
}

// Fails when a canceled frame keeps its place in the queue.
// Promises: RT-010.
TEST(Cancel, MakesRoom) {
  TwoOperators two;
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> out, of_blocker;
  const Ticket begun = must(two.blocker.submit(inverse_view(pixels, 0), of_blocker.view(true)));
  std::deque<Ticket> tickets;
  for (std::uint64_t f = 0; f < 100; ++f) {
    if (tickets.size() == kMaxDepth) {
      EXPECT_FALSE(two.op.submit(inverse_view(pixels, f), out.view(false)));
      EXPECT_EQ(must(two.op.cancel(tickets.front())), CancelOutcome::kCanceled);
      tickets.pop_front();
    }
    tickets.push_back(must(two.op.submit(inverse_view(pixels, f), out.view(false))));
  }
  two.gate.open();
  for (const Ticket ticket : tickets) must(two.op.wait(ticket, Deadline::never()));
  must(two.blocker.wait(begun, Deadline::never()));
}

// Fails when the descriptor is readable without a frame that is done, is not readable with one, or
// does not tell of frames that were done before it was created.
// Promises: RT-012.
TEST(EventFd, IsReadableWhileAFrameIsDone) {
  TwoOperators two;
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> outs[3];
  const auto submit = [&](OperatorHandle& op, std::size_t out) {
    return must(op.submit(inverse_view(pixels, 0), outs[out].view(false)));
  };
  const int fd = must(two.op.create_event_fd());
  EXPECT_EQ(must(two.op.create_event_fd()), fd);
  EXPECT_FALSE(readable(fd));
  const Ticket begun = submit(two.blocker, 2);
  Ticket one = submit(two.op, 0);
  const Ticket canceled = submit(two.op, 1);
  ASSERT_EQ(must(two.op.cancel(canceled)), CancelOutcome::kCanceled);
  EXPECT_FALSE(readable(fd, 20)) << "the frame waits behind another one";
  two.gate.open();
  ASSERT_TRUE(readable(fd, 20'000));
  Ticket other = submit(two.op, 1);
  must(two.op.wait(one, Deadline::immediate()));
  ASSERT_TRUE(readable(fd, 20'000)) << "the other frame is done, too";
  must(two.op.wait(other, Deadline::immediate()));
  EXPECT_FALSE(readable(fd));
  EXPECT_FALSE(two.op.wait(other, Deadline::immediate()));
  EXPECT_FALSE(readable(fd));

  one = submit(two.op, 0);
  other = submit(two.op, 1);
  must(two.op.wait(other, Deadline::never()));
  EXPECT_TRUE(readable(fd));
  two.op.reset();
  EXPECT_FALSE(readable(fd)) << "the frames are dropped";

  // The frame of the blocker has been done for a while.
  const int late = must(two.blocker.create_event_fd());
  EXPECT_NE(late, fd);
  EXPECT_TRUE(readable(late));
  must(two.blocker.wait(begun, Deadline::immediate()));
  EXPECT_FALSE(readable(late));
}

// Fails when `wait_any` names an operator without a finished frame, or the same one of two again
// and again, or waits for longer than the deadline.
// Promises: RT-012.
TEST(WaitAny, NamesTheOperatorsInTurns) {
  TwoOperators two;
  OperatorHandle* const all[] = {&two.blocker, &two.op};
  const std::vector<float> pixels = inverse_frame(0);
  std::vector<InverseOutput<std::uint8_t>> outs(4);
  std::vector<Ticket> tickets;
  EXPECT_EQ(wait_any(all, Deadline::immediate()).error().status, Status::kDeadlineMissed);
  for (std::size_t i = 0; i < outs.size(); ++i)
    tickets.push_back(must(all[i / 2]->submit(inverse_view(pixels, 0), outs[i].view(false))));
  const auto before = Deadline::Clock::now();
  EXPECT_EQ(wait_any(all, Deadline::after(std::chrono::milliseconds(30))).error().status,
            Status::kDeadlineMissed)
      << "both wait at the gate";
  EXPECT_GE(Deadline::Clock::now() - before, std::chrono::milliseconds(30));
  two.gate.open();
  must(two.op.wait(tickets[3], Deadline::never()));  // the other three are done, too
  EXPECT_EQ(must(wait_any(all, Deadline::never(), 0)), 1u);
  EXPECT_EQ(must(wait_any(all, Deadline::never(), 1)), 0u);
  must(two.op.wait(tickets[2], Deadline::immediate()));
  EXPECT_EQ(must(wait_any(all, Deadline::never(), 0)), 0u) << "the other one has none";
  two.blocker.reset();
  EXPECT_EQ(wait_any(all, Deadline::immediate()).error().status, Status::kDeadlineMissed);

  const Expected<std::size_t> none = wait_any({}, Deadline::never());
  EXPECT_EQ(none.error().status, Status::kInvalidArgument);
  EXPECT_NE(std::string(none.error().text).find("there are 0 operators"), std::string::npos);
}

// Fails when the operator does not close its descriptor.
TEST(EventFd, EndsWithTheOperator) {
  int fd = -1;
  {
    InverseRig<std::uint8_t> rig(1);
    fd = must(rig.op.create_event_fd());
  }
  char byte = 0;
  EXPECT_EQ(read(fd, &byte, 0), -1);
  EXPECT_EQ(errno, EBADF);
}

// Fails when a loop around poll() misses a frame, or gets one before it is done. Two operators on
// one engine; a frame that waits is replaced by the newest one.
// Promises: RT-012.
TEST(EventFd, ALoopServesTwoOperators) {
  constexpr std::uint64_t kFrames = 400;
  EngineConfig config = engine_config(2);
  config.memory = must(detail::footprint_of(make_inverse<std::uint8_t>(2)));
  config.memory += config.memory;
  Engine engine = must(Engine::create(config));
  struct Link {
    OperatorHandle op;
    InverseOutput<std::uint8_t> outs[2];
    std::deque<std::pair<Ticket, std::uint64_t>> in_flight;
    std::uint64_t done = 0;
    std::uint64_t canceled = 0;
    std::uint64_t submitted = 0;
  };
  std::vector<std::vector<float>> pixels;
  for (std::uint64_t f = 0; f < 8; ++f) pixels.push_back(inverse_frame(f));
  std::vector<std::unique_ptr<Link>> links;
  pollfd looks[2];
  for (int k = 0; k < 2; ++k) {
    links.push_back(std::unique_ptr<Link>(
        new Link{must(detail::make_operator(engine, inverse_info<std::uint8_t>(),
                                            make_inverse<std::uint8_t>(2))),
                 {},
                 {},
                 0,
                 0,
                 0}));
    looks[k] = {must(links.back()->op.create_event_fd()), POLLIN, 0};
  }
  const auto feed = [&](Link& link) {
    // The second frame in flight is replaced if it has not begun.
    if (link.in_flight.size() == 2 &&
        must(link.op.cancel(link.in_flight.back().first)) == CancelOutcome::kCanceled) {
      link.in_flight.pop_back();
      ++link.canceled;
    }
    if (link.in_flight.size() == 2) return;
    const std::uint64_t number = link.submitted++;
    // Slots are given out in turn, but a cancellation leaves a gap: take the buffer that is free.
    const std::uint64_t taken = link.in_flight.empty() ? 1 : link.in_flight.front().second % 2;
    auto& out = link.outs[1 - taken];
    link.in_flight.emplace_back(
        must(link.op.submit(inverse_view(pixels[number % 8], number), out.view(false))),
        2 * number + (1 - taken));
  };
  const auto serve = [&](Link& link) {
    const auto [ticket, tagged] = link.in_flight.front();
    const FrameInfo info = must(link.op.wait(ticket, Deadline::immediate()));
    link.in_flight.pop_front();
    ++link.done;
    ASSERT_EQ(info.sequence, tagged / 2);
    link.outs[tagged % 2].expect(0, [&](int i) {
      return inverse_of<std::uint8_t>(pixels[info.sequence % 8][static_cast<std::size_t>(i)]);
    });
  };
  const auto some_left = [&] {
    return std::any_of(links.begin(), links.end(),
                       [](const auto& link) { return link->done + link->canceled < kFrames; });
  };
  while (some_left()) {
    for (auto& link : links)
      if (link->submitted < kFrames) feed(*link);
    // New frames come at any time, so the loop does not wait for long while it has some.
    const bool feeding = std::any_of(links.begin(), links.end(),
                                     [](const auto& link) { return link->submitted < kFrames; });
    const int found = poll(looks, 2, feeding ? 0 : 20'000);
    ASSERT_TRUE(found > 0 || feeding) << "a frame was done, and nobody was told";
    for (std::size_t k = 0; k < 2; ++k)
      if ((looks[k].revents & POLLIN) != 0) {
        ASSERT_NO_FATAL_FAILURE(serve(*links[k]));
      }
  }
  for (auto& link : links) {
    EXPECT_EQ(link->op.stats().frames, link->done);
    EXPECT_EQ(link->op.stats().canceled_frames, link->canceled);
    EXPECT_EQ(link->op.stats().missed_deadlines, 0u);
    EXPECT_GT(link->done, 0u);
  }
}

// Fails when the thread that waits and the one that finishes frames disagree about the descriptor:
// it would stay readable, or a frame would be done and nobody told.
// Promises: RT-012.
TEST(EventFd, StaysRightBesideAWaitingThread) {
  InverseRig<std::uint8_t> rig(2);
  const int fd = must(rig.op.create_event_fd());
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> outs[2];
  for (std::uint64_t f = 0; f < 2000; ++f) {
    const Ticket one = must(rig.op.submit(inverse_view(pixels, f), outs[0].view(false)));
    const Ticket two = must(rig.op.submit(inverse_view(pixels, f), outs[1].view(false)));
    if (f % 3 == 0) {
      ASSERT_TRUE(readable(fd, 20'000));
    }
    must(rig.op.wait(f % 2 == 0 ? one : two, Deadline::never()));
    if (f % 5 == 0) {
      ASSERT_TRUE(readable(fd, 20'000));
    }
    must(rig.op.wait(f % 2 == 0 ? two : one, Deadline::never()));
    ASSERT_FALSE(readable(fd));
  }
}

}  // namespace
}  // namespace ocellus::test
