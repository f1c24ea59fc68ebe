// HostCopyPool, the threads that copy between pinned and ordinary memory. Needs no GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/core/host_copy_pool.h"

namespace ocellus::cuda {
namespace {

struct Plane {
  Plane(int columns, int rows, int padding) : width(columns), height(rows) {
    stride = columns + padding;
    bytes.resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(height));
  }
  int width;
  int height;
  std::ptrdiff_t stride;
  std::vector<char> bytes;
};

RowBlock rows_of(Plane& to, const Plane& from, int begin, int end) {
  return {to.bytes.data() + begin * to.stride,     to.stride,
          from.bytes.data() + begin * from.stride, from.stride,
          static_cast<std::size_t>(from.width),    end - begin};
}

/// Copies `frames` frames of several blocks each. Compares every byte, also those beside the rows.
void expect_copies(HostCopyPool& pool, int width, int height, int padding, int blocks, int frames) {
  Plane from(width, height, 0);
  Plane to(width, height, padding);
  for (int f = 0; f < frames; ++f) {
    for (std::size_t i = 0; i < from.bytes.size(); ++i)
      from.bytes[i] = static_cast<char>(i * 7 + i / 251 + static_cast<std::size_t>(f));
    std::fill(to.bytes.begin(), to.bytes.end(), 'x');
    ASSERT_TRUE(pool.take());
    for (int b = 0; b < blocks; ++b) {
      pool.add(rows_of(to, from, height * b / blocks, height * (b + 1) / blocks));
      pool.help();
    }
    pool.finish();
    pool.give_back();
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < to.stride; ++x) {
        const char wanted = x < width ? from.bytes[static_cast<std::size_t>(y * width + x)] : 'x';
        ASSERT_EQ(to.bytes[static_cast<std::size_t>(y * to.stride + x)], wanted)
            << "frame " << f << " at (" << x << ", " << y << ")";
      }
    }
  }
}

// Fails when a part is left out, copied to a wrong place, or counted too early. The number of parts
// wraps the ring many times.
TEST(HostCopyPool, CopiesEveryByte) {
  for (const int threads : {1, 3}) {
    HostCopyPool pool;
    ASSERT_TRUE(pool.start(threads, 0));
    SCOPED_TRACE(std::to_string(threads) + " threads");
    expect_copies(pool, 1000, 1310, 0, HostCopyPool::kMaxBlocks, 12);
    expect_copies(pool, 1000, 331, 24, 3, 20);
    expect_copies(pool, 37, 5, 3, 2, 200);
    expect_copies(pool, 1, 1, 0, 1, 50);
    expect_copies(pool, 300'000, 3, 100, 1, 4);
  }
}

// Fails when two frames get the pool at once, or when a pool without threads takes work.
TEST(HostCopyPool, ServesOneFrameAtATime) {
  HostCopyPool pool;
  EXPECT_FALSE(pool.take()) << "the pool has no threads";
  ASSERT_TRUE(pool.start(1, 0));
  ASSERT_TRUE(pool.take());
  EXPECT_FALSE(pool.take());
  EXPECT_FALSE(pool.help()) << "there is nothing to copy";
  pool.finish();
  pool.give_back();
  EXPECT_TRUE(pool.take());
  pool.give_back();

  // Several threads compete. The one that gets the pool finds its own frame copied.
  std::atomic<int> had{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t) {
    users.emplace_back([&pool, &had, t] {
      Plane from(500, 300, 0);
      Plane to(500, 300, 0);
      for (int f = 0; f < 200; ++f) {
        std::fill(from.bytes.begin(), from.bytes.end(), static_cast<char>(f + t));
        if (!pool.take()) continue;
        pool.add(rows_of(to, from, 0, 300));
        pool.finish();
        pool.give_back();
        ++had;
        ASSERT_EQ(to.bytes, from.bytes);
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_GT(had.load(), 0);
}

// Fails when a sleeping thread does not wake up. `finish` would then copy alone, so the test first
// waits until the pool's thread has copied.
TEST(HostCopyPool, WakesUpAgain) {
  HostCopyPool pool;
  ASSERT_TRUE(pool.start(1, 0));
  Plane from(1000, 2000, 0);
  Plane to(1000, 2000, 0);
  std::iota(from.bytes.begin(), from.bytes.end(), '\0');
  for (int round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    std::fill(to.bytes.begin(), to.bytes.end(), '\0');
    ASSERT_TRUE(pool.take());
    pool.add(rows_of(to, from, 0, 2000));
    // The caller does not help, so only the pool's thread can copy.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!pool.idle() && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(pool.idle()) << "the thread does not wake up";
    pool.finish();
    pool.give_back();
    EXPECT_EQ(to.bytes, from.bytes);
  }
}

}  // namespace
}  // namespace ocellus::cuda
