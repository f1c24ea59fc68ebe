// CudaOperator with an operator of the tests, over the fake driver. Its kernels are a function that
// the driver calls for each graph.
#include <gtest/gtest.h>
#include <poll.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/core/cuda_operator.h"
#include "kernels/fake_driver.h"
#include "support/inverse.h"

namespace ocellus::test {
namespace {

using cuda::CudaOperator;
using detail::LayoutBuilder;

template <typename T>
class Inverse final : public CudaOperator {
 public:
  explicit Inverse(const OperatorInfo& info) noexcept : CudaOperator(info) {
    fake_driver().graph = [this](int slot) { compute(slot); };
  }

 private:
  void layout(LayoutBuilder& device) noexcept override {
    for (float*& frame : kept_) frame = device.take<float>(pixels());
  }
  Expected<void> prepare(cuda::Scope& cuda) noexcept override { return load_check_kernel(cuda); }
  Expected<void> record(cuda::Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    return launch_check(cuda, slot, stream);
  }

  void compute(int slot) {
    const cuda::FrameParams& frame = *params(slot);
    cuda::TemporalState& at = *state();
    float* const now = kept_[at.head];
    const float* const before = kept_[(at.head - std::min(1, at.count) + 2) % 2];
    bool bad = false;
    std::uint32_t bright = 0;
    for (int y = 0; y < info_.size.height; ++y) {
      const auto* row = reinterpret_cast<const float*>(static_cast<const char*>(frame.image) +
                                                       y * frame.image_stride);
      for (int x = 0; x < info_.size.width; ++x) {
        now[y * info_.size.width + x] = row[x];
        bad = bad || !std::isfinite(row[x]);
        bright += row[x] > kInverseBright ? 1 : 0;
      }
    }
    for (int p = 0; p < 2; ++p) {
      if (frame.out[p] == nullptr) continue;
      for (int y = 0; y < info_.size.height; ++y) {
        T* const row =
            reinterpret_cast<T*>(static_cast<char*>(frame.out[p]) + y * frame.out_stride[p]);
        for (int x = 0; x < info_.size.width; ++x) {
          const int i = y * info_.size.width + x;
          row[x] = bad      ? kInverseBad<T>
                   : p == 0 ? inverse_of<T>(now[i])
                            : static_cast<T>(before[i]);
        }
      }
    }
    if (bad) {
      std::memset(record_of(slot), 0xa5, sizeof(InverseRecord));
      outcome(slot)->bad = 1;
      return;
    }
    static_cast<InverseRecord*>(record_of(slot))->set(bright);
    at.head = (at.head + 1) % 2;
    at.count = 1;
  }

  std::size_t pixels() const {
    return static_cast<std::size_t>(info_.size.width * info_.size.height);
  }

  float* kept_[2] = {};
};

template <typename T>
class Results : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(Results, Elements);

// Fails when results of 8 or 16 bits are copied wrongly through pinned memory, when a plane that
// was left out is written, or when the record belongs to another frame.
TYPED_TEST(Results, ComeWithTheirRecord) {
  for (const int depth : {1, -1, 2, -2, 7, -7}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    reset_fake_driver();
    fake_driver().lazy = depth < 0;
    const OperatorInfo info = inverse_info<TypeParam>(std::abs(depth));
    EngineConfig config = engine_config(1, BackendChoice::kCuda);
    config.memory = must(detail::footprint_of(std::make_unique<Inverse<TypeParam>>(info)));
    {
      Engine engine = must(Engine::create(config));
      OperatorHandle op =
          must(detail::make_operator(engine, info, std::make_unique<Inverse<TypeParam>>(info)));
      EXPECT_EQ(engine.memory_use().used, engine.memory_use().capacity);
      expect_inverses<TypeParam>(op);
      op.reset();
      expect_inverses<TypeParam>(op);
    }
    EXPECT_TRUE(fake_driver().empty());
  }
}

bool readable(int fd, int timeout_ms = 0) {
  pollfd look{fd, POLLIN, 0};
  return poll(&look, 1, timeout_ms) == 1 && (look.revents & POLLIN) != 0;
}

/// Two operators' worth of what a loop needs: an engine, an operator and outputs.
struct LoopRig {
  explicit LoopRig(DeviceWait wait, int depth = 2)
      : info(inverse_info<std::uint8_t>(depth)), engine(make_engine(wait)), op(make()) {}

  Engine make_engine(DeviceWait wait) const {
    EngineConfig config = engine_config(1, BackendChoice::kCuda);
    config.device_wait = wait;
    config.memory = must(detail::footprint_of(std::make_unique<Inverse<std::uint8_t>>(info)));
    return must(Engine::create(config));
  }
  OperatorHandle make() {
    return must(detail::make_operator(engine, info, std::make_unique<Inverse<std::uint8_t>>(info)));
  }
  Ticket submit(std::uint64_t number, std::size_t out) {
    return must(op.submit(inverse_view(pixels, number), outs[out].view(false)));
  }

  OperatorInfo info;
  std::vector<float> pixels = inverse_frame(0);
  InverseOutput<std::uint8_t> outs[2];
  Engine engine;
  OperatorHandle op;
};

// Fails when the descriptor of an operator on a device is not readable although a frame is done,
// stays readable, or when the thread behind it remains. The driver of the tests does a piece of
// work at each look, so a frame ends because the thread looks for its end.
// Promises: RT-012.
TEST(EventFd, IsReadableWhileAFrameIsDone) {
  for (const DeviceWait wait : {DeviceWait::kSpin, DeviceWait::kYield, DeviceWait::kBlock}) {
    reset_fake_driver();
    fake_driver().lazy = true;
    {
      LoopRig rig(wait);
      // A frame that was in flight before the descriptor was made counts, too.
      Ticket one = rig.submit(0, 0);
      const int fd = must(rig.op.create_event_fd());
      EXPECT_EQ(must(rig.op.create_event_fd()), fd);
      ASSERT_TRUE(readable(fd, 20'000));
      EXPECT_EQ(must(rig.op.cancel(one)), CancelOutcome::kDone);
      must(rig.op.wait(one, Deadline::immediate()));
      EXPECT_FALSE(readable(fd));
      for (std::uint64_t f = 1; f < 60; ++f) {
        one = rig.submit(f, 0);
        const Ticket two = rig.submit(f, 1);
        if (f % 2 == 0) {
          ASSERT_TRUE(readable(fd, 20'000));
        }
        must(rig.op.wait(f % 3 == 0 ? two : one,
                         f % 2 == 0 && f % 3 != 0 ? Deadline::immediate() : Deadline::never()));
        if (f % 5 == 0) {
          ASSERT_TRUE(readable(fd, 20'000));
        }
        must(rig.op.wait(f % 3 == 0 ? one : two, Deadline::never()));
        ASSERT_FALSE(readable(fd));
      }
      rig.submit(0, 0);
      ASSERT_TRUE(readable(fd, 20'000));
      rig.submit(1, 1);
      rig.op.reset();
      EXPECT_FALSE(readable(fd)) << "the frames are dropped";
      rig.submit(2, 0);  // in flight at the end
    }
    EXPECT_TRUE(fake_driver().empty());
  }
}

// Fails when `cancel` says that a frame on a device is canceled, or is wrong about its end.
TEST(Cancel, AFrameOnTheDeviceHasBegun) {
  reset_fake_driver();
  fake_driver().lazy = true;
  {
    LoopRig rig(DeviceWait::kSpin);
    const Ticket ticket = rig.submit(0, 0);
    EXPECT_EQ(must(rig.op.cancel(ticket)), CancelOutcome::kBegun);
    for (int looks = 0; must(rig.op.cancel(ticket)) == CancelOutcome::kBegun; ++looks)
      ASSERT_LT(looks, 1000);
    must(rig.op.wait(ticket, Deadline::immediate()));
    EXPECT_FALSE(rig.op.cancel(ticket));
    EXPECT_EQ(rig.op.stats().canceled_frames, 0u);
    EXPECT_EQ(rig.op.stats().frames, 1u);
  }
  EXPECT_TRUE(fake_driver().empty());
}

// Fails when a loop is not told that a frame has failed, so that it waits forever.
// Promises: RT-012.
TEST(EventFd, TellsOfFailures) {
  for (int call = 1; call < 40; ++call) {
    reset_fake_driver();
    {
      LoopRig rig(DeviceWait::kYield);
      const int fd = must(rig.op.create_event_fd());
      fake_driver().fail_at = fake_driver().calls + call;
      const auto ticket = rig.op.submit(inverse_view(rig.pixels, 0), rig.outs[0].view(false));
      if (ticket) {
        ASSERT_TRUE(readable(fd, 20'000)) << fake_driver().failed_call;
        const auto done = rig.op.wait(*ticket, Deadline::immediate());
        if (!done) {
          EXPECT_NE(done.error().status, Status::kInvalidTicket) << done.error().text;
        }
        rig.op.reset();
        EXPECT_FALSE(readable(fd));
      } else {
        EXPECT_FALSE(readable(fd)) << "the frame is not in flight";
      }
      fake_driver().fail_at = -1;  // the frame made fewer calls
    }
    // A context that could not be popped stays.
    if (fake_driver().failed_call != "cuCtxPopCurrent") {
      EXPECT_TRUE(fake_driver().empty()) << call << " " << fake_driver().failed_call;
    }
  }
}

// Fails when the error of a failed creation does not name the operator, or when the creation leaks.
TEST(Creation, ErrorsNameTheOperator) {
  reset_fake_driver();
  const OperatorInfo info = inverse_info<std::uint8_t>();
  EngineConfig config = engine_config(1, BackendChoice::kCuda);
  config.memory = must(detail::footprint_of(std::make_unique<Inverse<std::uint8_t>>(info)));
  {
    Engine engine = must(Engine::create(config));
    const auto before = fake_driver().events.size();
    auto made = std::make_unique<Inverse<std::uint8_t>>(info);
    fake_driver().names.clear();
    fake_driver().fail_at = fake_driver().calls + 30;
    const auto instance = detail::make_operator(engine, info, std::move(made));
    ASSERT_FALSE(instance);
    EXPECT_EQ(std::string(instance.error().text).find("inverse: " + fake_driver().failed_call), 0u)
        << instance.error().text;
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    EXPECT_EQ(fake_driver().events.size(), before);
  }
  EXPECT_TRUE(fake_driver().empty());
  const auto bytes = detail::footprint_of(nullptr);
  ASSERT_FALSE(bytes);
  EXPECT_STREQ(bytes.error().text, "the system gave no memory for the operator");
}

// Fails when the kernels of an operator, which are captured in a stream of its own, do not have its
// priority, or when the priority of an operator without one has changed. The driver of the tests
// has -5 (the greatest) to 0.
TEST(Creation, KernelsHaveThePriorityOfTheirOperator) {
  reset_fake_driver();
  constexpr std::pair<OperatorPriority, int> kExpected[] = {
      {OperatorPriority::kLow, 0}, {OperatorPriority::kNormal, -4}, {OperatorPriority::kHigh, -5}};
  for (const auto& [priority, expected] : kExpected) {
    OperatorInfo info = inverse_info<std::uint8_t>();
    info.priority = priority;
    EngineConfig config = engine_config(1, BackendChoice::kCuda);
    config.memory = must(detail::footprint_of(std::make_unique<Inverse<std::uint8_t>>(info)));
    Engine engine = must(Engine::create(config));
    // The creation fails behind the stream, so no frame runs.
    fake_driver().fail_at = fake_driver().calls + 30;
    EXPECT_FALSE(
        detail::make_operator(engine, info, std::make_unique<Inverse<std::uint8_t>>(info)));
    EXPECT_EQ(fake_driver().stream_priority, expected);
    fake_driver().fail_at = -1;
  }
  OperatorInfo info = inverse_info<std::uint8_t>();
  info.priority = static_cast<OperatorPriority>(3);
  Engine engine = must(Engine::create(engine_config(1, BackendChoice::kCuda)));
  const auto refused =
      detail::make_operator(engine, info, std::make_unique<Inverse<std::uint8_t>>(info));
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().text, "priority is 3; it must be kLow, kNormal or kHigh");
}

}  // namespace
}  // namespace ocellus::test
