// Steady state: no allocation and no page fault in submit and wait, counted on all threads over
// thousands of frames.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "ocellus/halftone.h"
#include "realtime/interpose.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using test::AllocationCounts;
using test::FrameBuffer;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Keeps the compiler from leaving out an allocation that is not used.
void use(void* pointer) {
  asm volatile("" : : "g"(pointer) : "memory");
}

// Fails when any way to allocate is not counted, or one on another thread: then the tests below
// would prove nothing.
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

  // Another thread, made before counting begins.
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
  EXPECT_GE(counts.frees, 1u) << "the thread may already be on its way out, which frees too";
  EXPECT_EQ(counted([] {}).allocations, 0u);
}

// Fails when a page fault is not counted.
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

/// Runs `count` frames with `in_flight` of them queued and counts. Everything that the loop itself
/// needs is there before.
template <typename Operator, typename Config>
void expect_steady(const Config& config, int count, int workers, int in_flight,
                   const std::string& what) {
  SCOPED_TRACE(what);
  auto rig = test::Rig<Operator>::make(config, workers);
  std::vector<FrameBuffer> frames;
  for (unsigned f = 0; f < 8; ++f) {
    frames.emplace_back(config.size, config.format);
    frames.back().fill(test::noise(config.size, f));
  }
  std::vector<test::OutputBuffer> outs(static_cast<std::size_t>(in_flight),
                                       test::OutputBuffer(config.size, rig.op.info().plane_count));
  std::vector<Ticket> tickets(static_cast<std::size_t>(in_flight));
  int failed = 0;
  int missed = 0;
  std::uint64_t submitted = 0;
  const auto one = [&] {
    const auto slot = static_cast<std::size_t>(submitted % static_cast<std::uint64_t>(in_flight));
    if (submitted >= static_cast<std::uint64_t>(in_flight)) {
      // Now and then a deadline that passes first: the error path is part of the steady state.
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
    // A refused frame and a refused ticket are errors with a text; they may not allocate either.
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
  // Stacks of all threads, lazily bound symbols and the outputs are touched here.
  for (int f = 0; f < 60 + in_flight; ++f) one();
  rig.op.reset();
  submitted = 0;
  for (int f = 0; f < 60 + in_flight; ++f) one();
  const long faults_before = page_faults();
  test::arm_interposer();
  for (int f = 0; f < count; ++f) one();
  const AllocationCounts counts = test::disarm_interposer();
  const long faults = page_faults() - faults_before;
  rig.op.reset();  // frames are still in flight, and their buffers go first
  EXPECT_EQ(failed, 0);
  // With more in flight the oldest is often done; alone it cannot be, that soon, every time.
  if (in_flight == 1) {
    EXPECT_GT(missed, 0) << "no deadline was missed: that path was not tested";
  }
  if (test::interposer_present()) {
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.frees, 0u);
    EXPECT_EQ(faults, 0);
  }
}

SpatioTemporalFilterConfig filter_config(ImageSize size, KernelForm form,
                                         CoefficientStorage storage = CoefficientStorage::kFloat) {
  SpatioTemporalFilterConfig config;
  config.size = size;
  config.kernels.form = form;
  config.kernels.nx = config.kernels.ny = 7;
  config.kernels.nt = 6;
  config.storage = storage;
  config.depth = 3;
  return config;
}

OpticalFlowConfig kernels_config(ImageSize size, KernelForm form) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.kernels.form = form;
  config.kernels.nx = config.kernels.ny = 7;
  config.kernels.nt = 6;
  config.window = 7;
  config.depth = 3;
  return config;
}

OpticalFlowConfig pyramid_config(ImageSize size, bool quality) {
  OpticalFlowConfig config =
      quality ? OpticalFlowConfig::quality(size) : OpticalFlowConfig::fast(size);
  config.depth = 3;
  return config;
}

constexpr int kFrames = 10000;
constexpr ImageSize kSmall{32, 24};
constexpr ImageSize kLarge{320, 240};

// Fails when the filter allocates, frees or touches a new page in 10,000 frames.
TEST(SteadyState, Filter) {
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
    expect_steady<SpatioTemporalFilter>(filter_config(kSmall, form), kFrames, 2, 1,
                                        "one frame at a time");
    expect_steady<SpatioTemporalFilter>(filter_config(kSmall, form), kFrames, 2, 3,
                                        "three frames in flight");
  }
  expect_steady<SpatioTemporalFilter>(
      filter_config(kSmall, KernelForm::kPerPixel, CoefficientStorage::kHalf), kFrames, 2, 2,
      "half storage");
}

// Fails when flow by kernels allocates, frees or touches a new page in 10,000 frames.
TEST(SteadyState, FlowByKernels) {
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
    expect_steady<OpticalFlow>(kernels_config(kSmall, form), kFrames, 2, 1, "one frame at a time");
    expect_steady<OpticalFlow>(kernels_config(kSmall, form), kFrames, 3, 3,
                               "three frames in flight, three workers");
  }
}

// Fails when flow over a pyramid allocates, frees or touches a new page in 10,000 frames.
TEST(SteadyState, FlowByPyramid) {
  expect_steady<OpticalFlow>(pyramid_config(kSmall, false), kFrames, 2, 2, "fast");
  expect_steady<OpticalFlow>(pyramid_config({20, 16}, true), kFrames, 2, 2, "quality");
}

// Fails when the cellular network allocates, frees or touches a new page in 10,000 frames:
// halftones with swaps and a warm start, and a chain of gray and binary stages in all orders.
TEST(SteadyState, CellularNetwork) {
  CellularNetworkConfig halftones = halftone_config(kSmall);
  halftones.output_format = PixelFormat::kFloat32;
  halftones.depth = 3;
  halftones.warm_start = true;
  expect_steady<CellularNetwork>(halftones, kFrames, 2, 3, "halftones");
  expect_steady<CellularNetwork>(halftones, kFrames, 1, 1, "halftones, one frame at a time");
  CellularNetworkConfig chain;
  chain.size = {70, 75};  // more bands than one
  chain.depth = 2;
  chain.output_format = PixelFormat::kFloat32;
  chain.stage_count = 3;
  chain.stages[0].weights = gaussian_template(2, 0.8f);
  chain.stages[0].levels = 16;
  chain.stages[1].weights = gaussian_template(1, 0.5f);
  chain.stages[1].update = CellUpdate::kRaster;
  chain.stages[2].weights = gaussian_template(1, 0.5f);
  chain.stages[2].update = CellUpdate::kSynchronous;
  for (CellStage& stage : chain.stages) stage.max_sweeps = 4;
  expect_steady<CellularNetwork>(chain, kFrames, 2, 2, "a chain");
}

// Fails when frames with bad pixels, which take another way, allocate.
TEST(SteadyState, BadFrames) {
  for (const bool pyramid : {false, true}) {
    OpticalFlowConfig config =
        pyramid ? pyramid_config(kSmall, true) : kernels_config(kSmall, KernelForm::kPerPixel);
    config.format = PixelFormat::kFloat32;
    auto rig = test::FlowRig::make(config);
    std::vector<FrameBuffer> frames;
    for (unsigned f = 0; f < 4; ++f) {
      frames.emplace_back(config.size, config.format);
      frames.back().fill(test::noise(config.size, f));
    }
    frames[2].set(3, 4, std::nan(""));
    test::OutputBuffer out(config.size, 3);
    int bad = 0;
    const auto one = [&](int f) {
      const auto ticket =
          rig.op.submit(frames[static_cast<std::size_t>(f % 4)].frame(), out.flow());
      const auto info = rig.op.wait(*ticket, Deadline::never());
      bad += info && info->bad_pixels();
    };
    for (int f = 0; f < 60; ++f) one(f);
    bad = 0;
    const long faults_before = page_faults();
    test::arm_interposer();
    for (int f = 0; f < 2000; ++f) one(f);
    const AllocationCounts counts = test::disarm_interposer();
    const long faults = page_faults() - faults_before;
    EXPECT_EQ(bad, 500);
    if (!test::interposer_present()) continue;
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.frees, 0u);
    EXPECT_EQ(faults, 0);
  }
}

// Fails when calls from threads of the user's own, which the library has never seen, allocate
// there.
TEST(SteadyState, FromThreadsOfTheUsers) {
  const OpticalFlowConfig config = kernels_config(kSmall, KernelForm::kUniform);
  auto rig = test::FlowRig::make(config);
  FrameBuffer frame(config.size, config.format);
  frame.fill(test::noise(config.size, 1));
  test::OutputBuffer out(config.size, 3);
  for (int round = 0; round < 5; ++round) {
    AllocationCounts counts;
    long faults = 0;
    int failed = 0;
    std::thread user([&] {
      const auto run = [&](int count) {
        for (int f = 0; f < count; ++f) {
          const auto ticket = rig.op.submit(frame.frame(), out.flow());
          if (!ticket || !rig.op.wait(*ticket, Deadline::never())) ++failed;
        }
      };
      run(60);  // this thread's own stack
      faults = page_faults();
      test::arm_interposer();
      run(2000);
      counts = test::disarm_interposer();
      faults = page_faults() - faults;
    });
    user.join();
    EXPECT_EQ(failed, 0);
    if (!test::interposer_present()) continue;
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.frees, 0u);
    EXPECT_EQ(faults, 0);
  }
}

// Fails when one thread that submits beside one that waits makes either allocate.
TEST(SteadyState, OneThreadSubmitsAnotherWaits) {
  OpticalFlowConfig config = kernels_config(kSmall, KernelForm::kPerPixel);
  config.depth = 4;
  auto rig = test::FlowRig::make(config);
  FrameBuffer frame(config.size, config.format);
  frame.fill(test::noise(config.size, 1));
  std::vector<test::OutputBuffer> outs(4, test::OutputBuffer(config.size, 3));
  constexpr std::uint64_t kCount = 10000;
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
  AllocationCounts counts;
  long faults = 0;
  for (std::uint64_t number = 1; number <= kCount; ++number) {
    while (number > waited.load() + 4) std::this_thread::yield();
    const auto ticket = rig.op.submit(frame.frame(number), outs[number % 4].flow());
    if (!ticket || ticket->number != number) ++failed;
    tickets[number % 4] = ticket.value_or(Ticket{});
    submitted = number;
    if (number == 200) {
      faults = page_faults();
      test::arm_interposer();
    }
    if (number == kCount - 10) {
      counts = test::disarm_interposer();
      faults = page_faults() - faults;
    }
  }
  consumer.join();
  EXPECT_EQ(failed.load(), 0);
  if (!test::interposer_present()) return;
  EXPECT_EQ(counts.allocations, 0u);
  EXPECT_EQ(counts.frees, 0u);
  EXPECT_EQ(faults, 0);
}

// Fails when an operator takes memory from the system that its footprint does not tell: creating
// one in an engine that has room may allocate handles, but no planes.
TEST(SteadyState, CreationTakesItsPlanesFromTheEngine) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  const OpticalFlowConfig config = kernels_config(kLarge, KernelForm::kPerPixel);
  EngineConfig settings = test::engine_config();
  settings.memory = test::must(OpticalFlow::footprint(test::must(Engine::probe(settings)), config));
  Engine engine = test::must(Engine::create(settings));
  test::arm_interposer();
  {
    const auto op = OpticalFlow::create(engine, config);
    EXPECT_TRUE(op);
  }
  const AllocationCounts counts = test::disarm_interposer();
  EXPECT_LE(counts.allocations, 20u);
  EXPECT_EQ(counts.allocations, counts.frees) << "creating and destroying leaks";
}

// Fails as the tests above, at a size where bands, tails and several workers all have their turn.
TEST(SlowSteadyState, LargerFrames) {
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
    expect_steady<SpatioTemporalFilter>(filter_config(kLarge, form), kFrames, 2, 2, "filter");
    expect_steady<OpticalFlow>(kernels_config(kLarge, form), kFrames, 2, 2, "kernels");
  }
  expect_steady<OpticalFlow>(pyramid_config(kLarge, false), kFrames, 2, 2, "fast");
  expect_steady<OpticalFlow>(pyramid_config({160, 120}, true), kFrames, 2, 2, "quality");
}

}  // namespace
}  // namespace ocellus
