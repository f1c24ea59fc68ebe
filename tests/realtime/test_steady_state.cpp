// Steady state of every operator on the CPU: no allocation and no page fault in `submit` and
// `wait`, counted on all threads over thousands of frames.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "realtime/interpose.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::AllocationCounts;
using test::FrameBuffer;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Keeps the compiler from removing an allocation that is not used.
void use(void* pointer) {
  asm volatile("" : : "g"(pointer) : "memory");
}

// Fails when the interposer misses a function that allocates, or an allocation on another thread.
// Then the tests below show nothing.
// Promises: RT-001.
TEST(Interposer, CountsEveryWayOnEveryThread) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  const auto counted = [](auto&& body) {
    test::arm_interposer();
    body();
    return test::disarm_interposer();
  };
  const auto expect_one = [&](const char* what, auto&& body) {
    const AllocationCounts counts = counted(body);
    EXPECT_EQ(counts.allocations, 1u) << what;
    EXPECT_EQ(counts.frees, 1u) << what;
  };
  expect_one("malloc", [] {
    void* p = std::malloc(10);
    use(p);
    std::free(p);
  });
  expect_one("calloc", [] {
    void* p = std::calloc(3, 10);
    use(p);
    std::free(p);
  });
  expect_one("realloc", [] {
    void* p = std::realloc(nullptr, 10);
    use(p);
    std::free(p);
  });
  expect_one("posix_memalign", [] {
    void* p = nullptr;
    ASSERT_EQ(posix_memalign(&p, 64, 100), 0);
    use(p);
    std::free(p);
  });
  expect_one("aligned_alloc", [] {
    void* p = std::aligned_alloc(64, 128);
    use(p);
    std::free(p);
  });
  expect_one("new", [] {
    auto* p = new int(3);
    use(p);
    delete p;
  });
  expect_one("new[]", [] {
    auto* p = new char[100];
    use(p);
    delete[] p;
  });
  expect_one("new nothrow", [] {
    auto* p = new (std::nothrow) int(3);
    use(p);
    delete p;
  });
  struct alignas(128) Wide {
    char bytes[128];
  };
  expect_one("aligned new", [] {
    auto* p = new Wide;
    use(p);
    delete p;
  });
  std::vector<int> grows;
  EXPECT_GE(counted([&] { grows.reserve(1000); }).allocations, 1u);

  // A thread that starts before the count begins.
  std::atomic<int> phase{0};
  std::thread other([&] {
    while (phase.load() != 1) std::this_thread::yield();
    void* p = std::malloc(20);
    use(p);
    std::free(p);
    phase = 2;
  });
  const AllocationCounts counts = counted([&] {
    phase = 1;
    while (phase.load() != 2) std::this_thread::yield();
  });
  other.join();
  EXPECT_EQ(counts.allocations, 1u);
  EXPECT_GE(counts.frees, 1u) << "the end of the thread may free memory, too";
  EXPECT_EQ(counted([] {}).allocations, 0u);
}

// Fails when a page fault is not counted.
// Promises: RT-002.
TEST(PageFaults, AreCounted) {
  constexpr std::size_t kPages = 64;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* block =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  madvise(block, kPages * page, MADV_NOHUGEPAGE);
  const long before = page_faults();
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(block)[i * page] = 1;
  EXPECT_GE(page_faults() - before, static_cast<long>(kPages));
  munmap(block, kPages * page);
}

constexpr ImageSize kSmall{32, 24};

/// Counts allocations and page faults of the process from construction to `stop`.
class Count {
 public:
  Count() : faults_(page_faults()) { test::arm_interposer(); }
  void stop() {
    counts_ = test::disarm_interposer();
    faults_ = page_faults() - faults_;
  }
  /// Returns whether no page was touched for the first time. Allocations are failures.
  bool is_steady() const {
    if (!test::interposer_present()) return true;
    EXPECT_EQ(counts_.allocations, 0u);
    EXPECT_EQ(counts_.frees, 0u);
    return faults_ == 0;
  }

 private:
  AllocationCounts counts_;
  long faults_;
};

/// Calls `round`, which returns whether it was steady, until it was. On a busy machine a worker may
/// run its first part late, and then touches its stack.
template <typename Round>
void expect_steady_rounds(const Round& round) {
  for (int attempt = 0; attempt < 5; ++attempt)
    if (round()) return;
  ADD_FAILURE() << "every round of frames touched new pages";
}

std::vector<FrameBuffer> steady_frames(const OperatorInfo& info, int count) {
  return test::moving_frames(info.size, info.format, count, true);
}

/// Runs `count` frames with `in_flight` of them queued and counts. Missed deadlines, refused
/// frames, refused tickets and `reset` are part of the steady state.
void expect_steady(const OperatorConfig& config, int count, int workers, int in_flight) {
  auto rig = test::make_rig(config, workers);
  const std::vector<FrameBuffer> frames = steady_frames(rig.op.info(), 8);
  std::vector<test::OutputBuffer> outs(static_cast<std::size_t>(in_flight),
                                       test::OutputBuffer(rig.op.info()));
  std::vector<Ticket> tickets(static_cast<std::size_t>(in_flight));
  int failed = 0;
  int missed = 0;
  std::uint64_t submitted = 0;
  const auto one = [&] {
    const auto slot = static_cast<std::size_t>(submitted % static_cast<std::uint64_t>(in_flight));
    if (submitted >= static_cast<std::uint64_t>(in_flight)) {
      if (submitted % 3 == 0) {
        if (rig.op.wait(tickets[slot], Deadline::immediate())) {
          tickets[slot] = Ticket{};
        } else {
          ++missed;
        }
      }
      if (tickets[slot].number != 0 && !rig.op.wait(tickets[slot], Deadline::never())) ++failed;
    }
    const auto ticket = rig.op.submit(frames[submitted % 8].frame(submitted), outs[slot].output());
    if (ticket) {
      tickets[slot] = *ticket;
    } else {
      ++failed;
    }
    if (submitted % 16 == 0) {
      Frame wrong = frames[0].frame();
      wrong.data = nullptr;
      if (rig.op.submit(wrong, outs[slot].output())) ++failed;
      if (rig.op.wait(Ticket{submitted + 1000}, Deadline::never())) ++failed;
    }
    if (submitted % 1000 == 999) {
      rig.op.reset();
      for (Ticket& dropped : tickets) dropped = Ticket{};
    }
    ++submitted;
  };
  // The first frames touch the stacks of all threads, the outputs, and lazily bound symbols.
  for (int f = 0; f < 60 + in_flight; ++f) one();
  rig.op.reset();
  submitted = 0;
  for (int f = 0; f < 60 + in_flight; ++f) one();
  expect_steady_rounds([&] {
    Count counted;
    for (int f = 0; f < count; ++f) one();
    counted.stop();
    return counted.is_steady();
  });
  rig.op.reset();  // the outputs of frames in flight are destroyed before the operator
  EXPECT_EQ(failed, 0);
  // With more frames in flight the oldest one is often done.
  if (in_flight == 1) {
    EXPECT_GT(missed, 0) << "no deadline was missed: that path was not tested";
  }
}

class SteadyState : public testing::TestWithParam<test::OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Operators, SteadyState, testing::ValuesIn(test::operator_cases()),
                         test::case_label);

class SlowSteadyState : public SteadyState {};
INSTANTIATE_TEST_SUITE_P(Operators, SlowSteadyState, testing::ValuesIn(test::operator_cases()),
                         test::case_label);

// Fails when the operator allocates, frees or touches a new page in 3,000 frames, one at a time.
// Promises: RT-001, RT-002.
TEST_P(SteadyState, OneFrameAtATime) {
  expect_steady(GetParam().with(kSmall), 3000, 2, 1);
}

// As above with three frames in flight and three workers.
// Promises: RT-001, RT-002.
TEST_P(SteadyState, ThreeFramesInFlight) {
  expect_steady(GetParam().with(kSmall, 3), 3000, 3, 3);
}

// As above at a size where several bands, their remainders and all workers take part.
TEST_P(SlowSteadyState, LargerFrames) {
  expect_steady(GetParam().with({320, 240}, 2), 4000, 2, 2);
}

// Fails when a group of engines allocates, frees or touches a new page, with frames that are
// refused and deadlines that are missed.
// Promises: RT-001, RT-002.
TEST_P(SteadyState, OnSeveralEngines) {
  const OperatorConfig config = GetParam().with(kSmall, 2);
  EngineConfig engine = test::engine_config(1);
  const EngineConfig engines[] = {engine, engine};
  OperatorGroup group = test::must(OperatorGroup::create(engines, config, 2));
  const std::vector<FrameBuffer> frames = steady_frames(group.info(), 8);
  const auto room = static_cast<std::size_t>(group.frames_in_flight());
  std::vector<test::OutputBuffer> outs(2 * room, test::OutputBuffer(group.info()));
  int failed = 0;
  std::uint64_t submitted = 0;
  int in_flight = 0;  // of each camera
  const auto one = [&] {
    for (int camera = 0; camera < 2; ++camera) {
      auto& out = outs[(static_cast<std::size_t>(camera) * room) + submitted % room];
      if (!group.submit(camera, frames[submitted % 8].frame(submitted), out.output())) ++failed;
    }
    // Both cameras have all the room there is.
    if (++in_flight == 2) {
      for (int camera = 0; camera < 2; ++camera) {
        if (!group.wait(camera, Deadline::immediate()) && !group.wait(camera, Deadline::never()))
          ++failed;
      }
      --in_flight;
    }
    if (group.submit(2, frames[0].frame(), outs[0].output())) ++failed;
    if (++submitted % 1000 == 999) {
      group.reset();
      in_flight = 0;
    }
  };
  for (int f = 0; f < 60; ++f) one();
  expect_steady_rounds([&] {
    Count counted;
    for (int f = 0; f < 1000; ++f) one();
    counted.stop();
    return counted.is_steady();
  });
  group.reset();
  EXPECT_EQ(failed, 0);
}

// Fails when `cancel` or the descriptor for event loops allocates, frees or touches a new page.
// Promises: RT-001, RT-002.
TEST_P(SteadyState, InAnEventLoop) {
  auto rig = test::make_rig(GetParam().with(kSmall, 2));
  const int fd = test::must(rig.op.create_event_fd());
  const std::vector<FrameBuffer> frames = steady_frames(rig.op.info(), 4);
  std::vector<test::OutputBuffer> outs(2, test::OutputBuffer(rig.op.info()));
  int failed = 0;
  const auto one = [&](std::size_t f) {
    const auto ticket = rig.op.submit(frames[f % 4].frame(f), outs[0].output());
    const auto second = rig.op.submit(frames[f % 4].frame(f), outs[1].output());
    const auto outcome = rig.op.cancel(*second);
    pollfd look{fd, POLLIN, 0};
    if (poll(&look, 1, 60'000) != 1 || !rig.op.wait(*ticket, Deadline::immediate())) ++failed;
    if (!outcome) ++failed;
    if (*outcome != CancelOutcome::kCanceled && !rig.op.wait(*second, Deadline::never())) ++failed;
  };
  for (std::size_t f = 0; f < 60; ++f) one(f);
  expect_steady_rounds([&] {
    Count counted;
    for (std::size_t f = 0; f < 1000; ++f) one(f);
    counted.stop();
    return counted.is_steady();
  });
  EXPECT_EQ(failed, 0);
}

// Fails when a frame with NaN, which takes another path, allocates or touches a new page.
// Promises: RT-001.
TEST_P(SteadyState, BadFrames) {
  auto rig = test::make_rig(GetParam().with(kSmall, 1, PixelFormat::kFloat32));
  std::vector<FrameBuffer> frames = steady_frames(rig.op.info(), 4);
  frames[2].set(3, 4, std::numeric_limits<double>::quiet_NaN());
  test::OutputBuffer out(rig.op.info());
  int bad = 0;
  const auto one = [&](int f) {
    const auto ticket =
        rig.op.submit(frames[static_cast<std::size_t>(f % 4)].frame(), out.output());
    const auto info = rig.op.wait(*ticket, Deadline::never());
    bad += info && info->bad_pixels();
  };
  for (int f = 0; f < 60; ++f) one(f);
  expect_steady_rounds([&] {
    bad = 0;
    Count counted;
    for (int f = 0; f < 1000; ++f) one(f);
    counted.stop();
    EXPECT_EQ(bad, 250);
    return counted.is_steady();
  });
}

// Fails when taking the luma out of a frame with color or putting it into a picture takes memory.
// Promises: RT-001.
TEST_P(SteadyState, FramesWithColor) {
  auto rig = test::make_rig(GetParam().with(kSmall, 1, PixelFormat::kBgr));
  const FrameBuffer frame(kSmall, PixelFormat::kBgr);
  test::OutputBuffer out(test::in_color(rig.op.info()));
  int failed = 0;
  const auto one = [&] {
    const auto ticket = rig.op.submit(frame.frame(), out.output());
    failed += !ticket || !rig.op.wait(*ticket, Deadline::never());
  };
  for (int f = 0; f < 60; ++f) one();
  expect_steady_rounds([&] {
    Count counted;
    for (int f = 0; f < 1000; ++f) one();
    counted.stop();
    return counted.is_steady();
  });
  EXPECT_EQ(failed, 0);
}

// Fails when calls from threads of the program allocate or touch a new page.
// Promises: RT-001.
TEST_P(SteadyState, FromThreadsOfTheProgram) {
  auto rig = test::make_rig(GetParam().with(kSmall));
  const std::vector<FrameBuffer> frames = steady_frames(rig.op.info(), 1);
  test::OutputBuffer out(rig.op.info());
  for (int round = 0; round < 2; ++round) {
    int failed = 0;
    std::thread user([&] {
      const auto run = [&](int count) {
        for (int f = 0; f < count; ++f) {
          const auto ticket = rig.op.submit(frames[0].frame(), out.output());
          if (!ticket || !rig.op.wait(*ticket, Deadline::never())) ++failed;
        }
      };
      run(60);  // touches this thread's stack
      expect_steady_rounds([&] {
        Count counted;
        run(1000);
        counted.stop();
        return counted.is_steady();
      });
    });
    user.join();
    EXPECT_EQ(failed, 0);
  }
}

// Fails when a thread that submits or another one that waits allocates or touches a new page.
// Promises: RT-001.
TEST_P(SteadyState, OneThreadSubmitsAnotherWaits) {
  auto rig = test::make_rig(GetParam().with(kSmall, 4));
  const std::vector<FrameBuffer> frames = steady_frames(rig.op.info(), 1);
  std::vector<test::OutputBuffer> outs(4, test::OutputBuffer(rig.op.info()));
  constexpr std::uint64_t kCount = 1500;
  std::uint64_t base = 0;  // frames of the rounds before
  const auto round = [&] {
    std::array<Ticket, 4> tickets;  // of the frames in flight; published by `submitted`
    std::atomic<std::uint64_t> submitted{0};
    std::atomic<std::uint64_t> waited{0};
    std::atomic<int> failed{0};
    std::thread consumer([&] {
      for (std::uint64_t number = 1; number <= kCount; ++number) {
        while (submitted.load() < number) std::this_thread::yield();
        if (!rig.op.wait(tickets[number % 4], Deadline::never())) ++failed;
        waited = number;
      }
    });
    std::optional<Count> counted;
    for (std::uint64_t number = 1; number <= kCount; ++number) {
      while (number > waited.load() + 4) std::this_thread::yield();
      const auto ticket = rig.op.submit(frames[0].frame(number), outs[number % 4].output());
      if (!ticket || ticket->number != base + number) ++failed;
      tickets[number % 4] = ticket.value_or(Ticket{});
      submitted = number;
      if (number == 200) counted.emplace();
      if (number == kCount - 10) counted->stop();
    }
    consumer.join();
    base += kCount;
    EXPECT_EQ(failed.load(), 0);
    return counted->is_steady();
  };
  expect_steady_rounds(round);
}

// Fails when an operator takes memory from the system that its footprint leaves out. Creation may
// allocate some handles, but no planes.
// Promises: MEM-003.
TEST_P(SteadyState, CreationTakesItsPlanesFromTheEngine) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  const OperatorConfig config = GetParam().with({320, 240});
  Engine engine = test::must(create_engine(test::engine_config(), {config}));
  test::arm_interposer();
  {
    const auto op = config.create(engine);
    EXPECT_TRUE(op);
  }
  const AllocationCounts counts = test::disarm_interposer();
  EXPECT_LE(counts.allocations, 20u);
  EXPECT_EQ(counts.allocations, counts.frees) << "creation and destruction leak";
}

}  // namespace
}  // namespace ocellus
