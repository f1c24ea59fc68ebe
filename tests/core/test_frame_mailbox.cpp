// FrameMailbox: the newest frame, whole, between two threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "ocellus/frame_mailbox.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

constexpr ImageSize kSize{70, 5};

Engine engine_for(const Footprint& memory) {
  EngineConfig config = engine_config(1);
  config.memory = memory;
  return must(Engine::create(config));
}

void fill(const ImageView& to, int value) {
  for (int y = 0; y < to.size.height; ++y)
    std::memset(to.row<char>(y), value, static_cast<std::size_t>(to.size.width));
}

/// The value of all pixels; -1: they differ.
int value_of(const Frame& frame) {
  const auto* const first = static_cast<const std::uint8_t*>(frame.data);
  for (int y = 0; y < frame.size.height; ++y) {
    const std::uint8_t* const row = first + y * frame.stride;
    if (std::count(row, row + frame.size.width, *first) != frame.size.width) return -1;
  }
  return *first;
}

class Mailbox : public testing::Test {
 protected:
  Engine engine_ = engine_for(FrameMailbox::footprint(kSize));
  FrameMailbox mailbox_ = must(FrameMailbox::create(engine_, kSize));
};

// Fails when an older frame is given, a frame twice, or with wrong numbers, or when a frame that is
// replaced is not counted.
// Promises: RT-010.
TEST_F(Mailbox, GivesTheNewestFrameOnce) {
  EXPECT_EQ(mailbox_.take(Deadline::immediate()).error().status, Status::kDeadlineMissed);
  for (int i = 1; i <= 3; ++i) {
    fill(mailbox_.back(), i);
    mailbox_.publish(static_cast<std::uint64_t>(i), 10 * i);
  }
  const Frame third = must(mailbox_.take(Deadline::immediate()));
  EXPECT_EQ(value_of(third), 3);
  EXPECT_EQ(third.sequence, 3u);
  EXPECT_EQ(third.timestamp_ns, 30);
  EXPECT_EQ(third.size, kSize);
  EXPECT_EQ(third.stride % static_cast<std::ptrdiff_t>(kMemoryAlignment), 0);
  EXPECT_EQ(mailbox_.replaced(), 2u);
  const auto before = Deadline::Clock::now();
  EXPECT_EQ(mailbox_.take(Deadline::after(std::chrono::milliseconds(20))).error().status,
            Status::kDeadlineMissed);
  EXPECT_GE(Deadline::Clock::now() - before, std::chrono::milliseconds(20));
  // The camera writes on, and the frame that was taken stays.
  for (int i = 4; i <= 9; ++i) {
    EXPECT_NE(mailbox_.back().data, third.data);
    fill(mailbox_.back(), i);
    mailbox_.publish(static_cast<std::uint64_t>(i));
    EXPECT_EQ(value_of(third), 3);
  }
  EXPECT_EQ(value_of(must(mailbox_.take(Deadline::never()))), 9);
  EXPECT_EQ(mailbox_.replaced(), 2u + 5u);
}

// Fails when the last frame is lost at the end, or a thread that waits is not told of it.
TEST_F(Mailbox, EndsAfterTheLastFrame) {
  fill(mailbox_.back(), 7);
  mailbox_.publish(7);
  mailbox_.close();
  EXPECT_EQ(value_of(must(mailbox_.take(Deadline::never()))), 7);
  EXPECT_EQ(mailbox_.take(Deadline::never()).error().status, Status::kStopped);

  Engine engine = engine_for(FrameMailbox::footprint(kSize));
  FrameMailbox other = must(FrameMailbox::create(engine, kSize));
  std::thread camera([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    other.close();
  });
  EXPECT_EQ(other.take(Deadline::never()).error().status, Status::kStopped);
  camera.join();
}

// Fails when a frame is torn, when frames come in another order, or when one is neither taken nor
// counted.
TEST_F(Mailbox, FramesAreWholeBetweenThreads) {
  constexpr std::uint64_t kFrames = 200'000;
  std::thread camera([&] {
    for (std::uint64_t i = 1; i <= kFrames; ++i) {
      fill(mailbox_.back(), static_cast<int>(i % 251));
      mailbox_.publish(i);
    }
    mailbox_.close();
  });
  std::uint64_t taken = 0;
  std::uint64_t last = 0;
  for (;;) {
    const Expected<Frame> frame = mailbox_.take(Deadline::never());
    if (!frame) break;
    ++taken;
    ASSERT_GT(frame->sequence, last);
    last = frame->sequence;
    ASSERT_EQ(value_of(*frame), static_cast<int>(last % 251));
  }
  camera.join();
  EXPECT_EQ(last, kFrames);
  EXPECT_EQ(taken + mailbox_.replaced(), kFrames);
}

// Fails when the footprint is not what a mailbox takes, or a wrong argument is not named.
TEST(FrameMailbox, TakesItsFootprint) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kYuy2, PixelFormat::kFloat32}) {
    const Footprint memory = FrameMailbox::footprint({33, 7}, format);
    Engine engine = engine_for(memory);
    {
      const FrameMailbox mailbox = must(FrameMailbox::create(engine, {33, 7}, format));
      EXPECT_EQ(engine.memory_use().used, memory);
      EXPECT_EQ(mailbox.back().format, format);
      EXPECT_GE(mailbox.back().stride, row_bytes(format, 33));
      EXPECT_EQ(FrameMailbox::create(engine, {33, 7}, format).error().status, Status::kOutOfMemory);
    }
    EXPECT_EQ(engine.memory_use().used, Footprint{});
  }
  Engine engine = engine_for(FrameMailbox::footprint(kSize));
  const auto refuses = [&](Status status, const std::string& says, ImageSize size,
                           MemorySpace space) {
    const auto made = FrameMailbox::create(engine, size, PixelFormat::kGray8, space);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().status, status);
    EXPECT_NE(std::string(made.error().text).find(says), std::string::npos) << made.error().text;
  };
  refuses(Status::kInvalidArgument, "size is 0x5", {0, 5}, MemorySpace::kHost);
  refuses(Status::kInvalidArgument, "host or pinned", kSize, MemorySpace::kCuda);
  refuses(Status::kUnsupported, "host memory only", kSize, MemorySpace::kPinned);
}

}  // namespace
}  // namespace ocellus::test
