// What operators share - OperatorHandle and CpuOperator - with an operator that is none of the
// library's.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "core/cpu_operator.h"
#include "image/pixel_rows.h"
#include "support/inverse.h"

namespace ocellus::test {
namespace {

using detail::Bands;
using detail::CpuOperator;
using detail::FrameResult;
using detail::LayoutBuilder;
using detail::OperatorHandle;
using detail::OperatorShape;
using detail::OutputPlanes;
using detail::Stage;

template <typename T>
class Inverse final : public CpuOperator {
 public:
  Inverse(const OperatorShape& shape, int workers) noexcept
      : CpuOperator(shape, workers), bands_(Bands::cut(shape.size.height, workers, 2, 1)) {}

 private:
  void layout(LayoutBuilder& builder) noexcept override {
    for (float*& frame : kept_) frame = builder.take<float>(pixels());
  }
  Expected<void> prepare() noexcept override { return {}; }
  int stage_count() const noexcept override { return 2; }
  void build_steps(Stage* stages, StepContext* contexts) noexcept override {
    stages[0] = {&keep, &contexts[0], bands_.count()};
    stages[1] = {&invert, &contexts[1], bands_.count()};
  }
  void write_bad(const FrameJob& frame) noexcept override {
    for (int p = 0; p < shape_.planes; ++p) {
      if (frame.out.plane<T>(p) == nullptr) continue;
      for (int y = 0; y < shape_.size.height; ++y)
        std::fill_n(frame.out.row<T>(p, y), shape_.size.width, kInverseBad<T>);
    }
  }
  void complete(FrameResult& result) noexcept override {
    result.extra[0] = bright_.exchange(0);
    result.extra[1] = result.extra[2] = (result.flags & kBadPixels) != 0 ? 1 : 0;
  }

  static void keep(void* context, int part, int) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<Inverse*>(frame.owner);
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      const char* const in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
      if (!detail::convert_row(in, self.shape_.format, self.row(self.history_.head(), y),
                               self.shape_.size.width))
        mark_bad(frame);
    }
  }
  static void invert(void* context, int part, int) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<Inverse*>(frame.owner);
    if (frame.bad.load(std::memory_order_relaxed)) return;
    const int width = self.shape_.size.width;
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      const float* const now = self.row(self.history_.head(), y);
      const float* const before = self.row(self.history_.slot(1), y);
      self.bright_ += static_cast<std::uint32_t>(
          std::count_if(now, now + width, [](float p) { return p > kInverseBright; }));
      std::transform(now, now + width, frame.out.row<T>(0, y), inverse_of<T>);
      if (frame.out.plane<T>(1) == nullptr) continue;
      std::transform(before, before + width, frame.out.row<T>(1, y),
                     [](float p) { return static_cast<T>(p); });
    }
  }

  std::size_t pixels() const {
    return static_cast<std::size_t>(shape_.size.width * shape_.size.height);
  }
  float* row(int frame, int y) { return kept_[frame] + y * shape_.size.width; }

  Bands bands_;
  float* kept_[2] = {};
  std::atomic<std::uint32_t> bright_{0};
};

template <typename T>
std::unique_ptr<CpuOperator> make_inverse(const OperatorShape& shape, int workers) {
  return std::make_unique<Inverse<T>>(shape, workers);
}

/// An engine with room for exactly one such operator, and the operator's front.
template <typename T>
struct InverseRig {
  explicit InverseRig(int workers, int depth = 2)
      : engine(make_engine(workers, depth)), front(engine.state(), inverse_shape<T>(depth)) {
    front.adopt(CpuOperator::kCalls,
                must(CpuOperator::create(front.engine(), make_inverse<T>(front.shape(), workers))));
  }

  static Engine make_engine(int workers, int depth) {
    EngineConfig config = engine_config(workers);
    config.memory = must(CpuOperator::footprint(make_inverse<T>(inverse_shape<T>(depth), workers)));
    return must(Engine::create(config));
  }

  Engine engine;
  OperatorHandle front;
};

template <typename T>
class Results : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(Results, Elements);

// Fails when results of another element than a float are misplaced or overrun their rows, a missing
// plane is written, a bad frame leaves a trace in the next one or no result of its own, or the
// operator's numbers are those of another frame.
TYPED_TEST(Results, ComeWithTheOperatorsNumbers) {
  for (const int workers : {1, 3}) {
    for (const int depth : {1, 2, 7}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, depth " + std::to_string(depth));
      InverseRig<TypeParam> rig(workers, depth);
      EXPECT_EQ(rig.engine.memory_use().used, rig.engine.memory_use().capacity);
      expect_inverses<TypeParam>(rig.front);
      rig.front.reset();
      expect_inverses<TypeParam>(rig.front);
    }
  }
}

// Fails when a front that goes leaves its memory taken, or frees it under a frame in flight.
TYPED_TEST(Results, MayBeLeftInFlight) {
  const int workers = 2;
  const Engine engine = InverseRig<TypeParam>::make_engine(workers, 2);
  const std::vector<float> frame = inverse_frame(1);
  for (int round = 0; round < 3; ++round) {
    InverseOutput<TypeParam> first, second;
    OperatorHandle front(engine.state(), inverse_shape<TypeParam>());
    front.adopt(
        CpuOperator::kCalls,
        must(CpuOperator::create(front.engine(), make_inverse<TypeParam>(front.shape(), workers))));
    must(front.submit(inverse_view(frame, 1), first.view(true)));
    must(front.submit(inverse_view(frame, 2), second.view(true)));
  }
  EXPECT_EQ(engine.memory_use().used, Footprint{});
}

// Fails when an operator that the system had no memory for is used all the same.
TEST(Creation, NeedsAnObject) {
  const auto bytes = CpuOperator::footprint(nullptr);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().status, Status::kOutOfMemory);
  const Engine engine = must(Engine::create(engine_config(1)));
  const auto made = CpuOperator::create(*engine.state(), nullptr);
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().text, "the system gave no memory for the operator");
}

// Fails when the engine's block is too small and the operator is made beyond it.
TEST(Creation, NeedsRoomInTheBlock) {
  const Engine engine = must(Engine::create(engine_config(1)));
  const auto made = CpuOperator::create(
      *engine.state(), make_inverse<std::uint8_t>(inverse_shape<std::uint8_t>(), 1));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status, Status::kOutOfMemory);
}

template <typename T>
void expect_refused(const std::function<void(Frame&, OutputPlanes&)>& spoil, const char* text) {
  InverseRig<T> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<T> out;
  Frame frame = inverse_view(pixels, 0);
  OutputPlanes planes = out.view(true);
  spoil(frame, planes);
  const auto ticket = rig.front.submit(frame, planes);
  ASSERT_FALSE(ticket) << text;
  EXPECT_EQ(ticket.error().status, Status::kInvalidArgument);
  EXPECT_STREQ(ticket.error().text, text);
  for (int p = 0; p < 2; ++p) out.expect_untouched(p);
}

// Fails when planes that the operator would read or write beyond are taken, or refused with a
// reason that is not theirs.
TEST(Front, NamesWhatIsWrongWithTheOutput) {
  using B = std::uint8_t;
  using W = std::uint16_t;
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.size.height = 20; },
                    "output size is 37x20; it must be that of the frame, 37x21");
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.count = 1; },
                    "output has 1 planes; the operator gives 2");
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.element_bytes = 4; },
                    "output elements have 4 bytes; they must have the 1 bytes of a uint8");
  expect_refused<W>([](Frame&, OutputPlanes& o) { o.element_bytes = 4; },
                    "output elements have 4 bytes; they must have the 2 bytes of a uint16");
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.stride = 36; },
                    "output stride is 36 bytes; it must be at least 37");
  expect_refused<W>([](Frame&, OutputPlanes& o) { o.stride = 72; },
                    "output stride is 72 bytes; it must be a multiple of 2 and at least 74");
  expect_refused<W>([](Frame&, OutputPlanes& o) { o.stride = 75; },
                    "output stride is 75 bytes; it must be a multiple of 2 and at least 74");
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.planes[0] = nullptr; },
                    "output plane 0 is null");
  expect_refused<B>([](Frame&, OutputPlanes& o) { o.planes[1] = o.planes[0]; },
                    "output planes 0 and 1 are the same; each needs memory of its own");
  expect_refused<B>(
      [](Frame&, OutputPlanes& o) { o.space = MemorySpace::kCuda; },
      "frame is in host and output in cuda memory; the backend cpu reads and writes host memory");
  expect_refused<B>([](Frame& f, OutputPlanes&) { f.format = PixelFormat::kGray8; },
                    "frame.format is kGray8; the operator was made for kFloat32");

  // Its address is in the text.
  InverseRig<W> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  InverseOutput<W> out;
  OutputPlanes planes = out.view(true);
  planes.planes[1] = planes.plane<char>(1) + 1;
  const auto ticket = rig.front.submit(inverse_view(pixels, 0), planes);
  ASSERT_FALSE(ticket);
  EXPECT_NE(std::string(ticket.error().text).find("it must be aligned to the 2 bytes of a uint16"),
            std::string::npos)
      << ticket.error().text;
}

// Fails when a byte plane at an odd address or with an odd stride, which is as good as any, is
// refused.
TEST(Front, TakesBytesAnywhere) {
  InverseRig<std::uint8_t> rig(1);
  const std::vector<float> pixels = inverse_frame(0);
  std::vector<std::uint8_t> memory(2 * 39 * 21 + 1);
  OutputPlanes planes = InverseOutput<std::uint8_t>().view(false);
  planes.planes[0] = memory.data() + 1;
  planes.stride = 39;
  const Ticket ticket = must(rig.front.submit(inverse_view(pixels, 0), planes));
  must(rig.front.wait(ticket, Deadline::never()));
  EXPECT_EQ(memory[1 + 39], inverse_of<std::uint8_t>(pixels[37]));
}

}  // namespace
}  // namespace ocellus::test
