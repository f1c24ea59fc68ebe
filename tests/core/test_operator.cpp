// OperatorHandle and CpuOperator with an operator of the tests.
// tests/conformance/test_contracts.cpp has the contracts of the library's operators.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "core/cpu_operator.h"
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
class Inverse final : public CpuOperator {
 public:
  Inverse(const OperatorInfo& info, int workers) noexcept
      : CpuOperator(info, workers), bands_(Bands::cut(info.size.height, workers, 2, 1)) {}

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
  }
  void complete(const FrameJob& frame) noexcept override {
    auto& record = *static_cast<InverseRecord*>(frame.record);
    record.bright = bright_.exchange(0);
    record.flagged = record.from_bad = (frame.result.flags & kBadPixels) != 0 ? 1 : 0;
  }

  static void keep(void* context, int part, int) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<Inverse*>(frame.owner);
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
  float* kept_[2] = {};
  std::atomic<std::uint32_t> bright_{0};
};

template <typename T>
std::unique_ptr<detail::OperatorInstance> make_inverse(int workers, int depth = 2) {
  return std::make_unique<Inverse<T>>(inverse_info<T>(depth), workers);
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

// Fails when a missed deadline is not counted, or a frame that was done in time is.
TEST(Handle, CountsMissedDeadlines) {
  InverseRig<std::uint8_t> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> out;
  std::uint64_t missed = 0;
  std::uint64_t frames = 0;
  for (; frames < 10'000 && missed < 3; ++frames) {
    const Ticket ticket = must(rig.op.submit(inverse_view(pixels, 0), out.view(true)));
    // The frame still runs after a miss, and a later wait reports it.
    if (rig.op.wait(ticket, Deadline::immediate())) continue;
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

}  // namespace
}  // namespace ocellus::test
