// Steady state of every operator on a CUDA device: no allocation on the host or the device, and no
// outliers, over thousands of frames.
#include <gtest/gtest.h>
#include <link.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ocellus/latency_histogram.h"
#include "realtime/interpose.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ImageSize kSize{640, 480};
constexpr double kMostSeconds = 10.0;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct Range {
  const char* begin = nullptr;
  const char* end = nullptr;
};

/// The addresses of the CUDA driver's code. A thread of the driver allocates about ten times a
/// second, with or without frames.
Range driver_code() {
  Range range;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        if (std::string(library->dlpi_name).find("libcuda.so") == std::string::npos) return 0;
        auto& driver = *static_cast<Range*>(found);
        for (int i = 0; i < library->dlpi_phnum; ++i) {
          if (library->dlpi_phdr[i].p_type != PT_LOAD) continue;
          const auto* const begin =
              reinterpret_cast<const char*>(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
          const char* const end = begin + library->dlpi_phdr[i].p_memsz;
          if (driver.begin == nullptr || begin < driver.begin) driver.begin = begin;
          driver.end = std::max(driver.end, end);
        }
        return 1;
      },
      &range);
  return range;
}

struct Run {
  MemorySpace space = MemorySpace::kCuda;
  int frames = 0;  ///< at most; fewer of an operator that would take longer than kMostSeconds
  int in_flight = 1;
  double fps = 0.0;  ///< 0: back to back
  int copy_threads = 0;
  ZeroCopy zero_copy = ZeroCopy::kOff;
};

struct Steady {
  int frames = 0;
  AllocationCounts allocations;
  long faults = 0;
  double seconds = 0.0;
  int failed = 0;
  LatencyHistogram compute;  ///< on the device
  LatencyHistogram call;     ///< from submit to the end of wait
};

/// Runs frames whose images and results lie in memory of one kind. All images are equal, because
/// the time of some operators depends on the image.
Steady run_frames(const OperatorConfig& config, const Run& how) {
  constexpr int kImages = 4;
  const OperatorInfo info = must(config.info());
  const auto in_flight = static_cast<std::size_t>(how.in_flight);
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.device_copy_threads = how.copy_threads;
  settings.zero_copy = how.zero_copy;
  for (int i = 0; i < kImages; ++i) settings.memory += Buffer::footprint(how.space, in_bytes(info));
  for (int i = 0; i < how.in_flight; ++i)
    settings.memory += Buffer::footprint(how.space, out_bytes(info));
  Engine engine = must(create_engine(settings, {config}));
  OperatorHandle op = must(config.create(engine));
  std::vector<Frame> frames;
  std::vector<Buffer> images;
  std::vector<Buffer> results;
  const FrameBuffer host = moving_frames(info.size, info.format, 1, true)[0];
  for (int i = 0; i < kImages; ++i) {
    images.push_back(must(Buffer::create(engine, how.space, in_bytes(info))));
    must(images.back().write(0, host.frame().data, in_bytes(info)));
    Frame frame = host.frame();
    frame.data = images.back().data();
    frame.space = how.space;
    frames.push_back(frame);
  }
  std::vector<OperatorOutput> views;
  for (std::size_t i = 0; i < in_flight; ++i) {
    results.push_back(must(Buffer::create(engine, how.space, out_bytes(info))));
    views.push_back(output_at(results.back().data(), info, how.space));
  }

  Steady steady;
  std::vector<Ticket> tickets(in_flight);
  std::vector<Clock::time_point> begun(in_flight);
  std::uint64_t number = 0;
  bool counting = false;
  const auto finish = [&](std::size_t slot) {
    const auto done = op.wait(tickets[slot], Deadline::never());
    const auto now = Clock::now();
    if (!done) {
      ++steady.failed;
    } else if (counting) {
      steady.compute.record(done->compute_ns);
      steady.call.record(
          std::chrono::duration_cast<std::chrono::nanoseconds>(now - begun[slot]).count());
    }
  };
  const auto one = [&] {
    const std::size_t slot = number % in_flight;
    if (tickets[slot].number != 0) finish(slot);
    begun[slot] = Clock::now();
    const auto ticket = op.submit(frames[number % kImages], views[slot]);
    if (!ticket) ++steady.failed;
    tickets[slot] = ticket.value_or(Ticket{});
    // At the rate of a camera each frame is done before the next one comes.
    if (how.fps > 0.0) {
      finish(slot);
      tickets[slot] = Ticket{};
    }
    ++number;
  };
  constexpr int kWarmUp = 300;
  const auto warm_up = Clock::now();
  for (int f = 0; f < kWarmUp; ++f) one();
  const double frame_seconds =
      std::chrono::duration<double>(Clock::now() - warm_up).count() / kWarmUp;
  steady.frames = static_cast<int>(
      std::clamp(kMostSeconds / frame_seconds, double{kWarmUp}, double(how.frames)));
  const MemoryUse before = engine.memory_use();
  const long faults = page_faults();
  counting = true;
  const Range driver = driver_code();
  arm_interposer(driver.begin, driver.end);
  const auto start = Clock::now();
  for (int f = 0; f < steady.frames; ++f) {
    if (how.fps > 0.0) {
      const auto due = start + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(f / how.fps));
      while (Clock::now() < due) std::this_thread::sleep_until(due);
    }
    one();
  }
  steady.allocations = disarm_interposer();
  steady.faults = page_faults() - faults;
  steady.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (std::size_t slot = 0; slot < in_flight; ++slot)
    if (tickets[slot].number != 0) finish(slot);
  EXPECT_EQ(engine.memory_use().used, before.used);
  return steady;
}

void print(const Steady& steady, const Run& how) {
  const auto text = [](const LatencyHistogram& times) {
    char line[120];
    std::snprintf(line, sizeof(line), "p50 %.1f p99 %.1f p99.9 %.1f max %.1f us",
                  static_cast<double>(times.percentile_ns(50.0)) * 1e-3,
                  static_cast<double>(times.percentile_ns(99.0)) * 1e-3,
                  static_cast<double>(times.percentile_ns(99.9)) * 1e-3,
                  static_cast<double>(times.max_ns()) * 1e-3);
    return std::string(line);
  };
  std::printf(
      "%d frames of %dx%d, %d in flight, %s: device %s; call %s; page faults %ld; "
      "the driver's own threads allocated and freed %llu times in %.1f s\n",
      steady.frames, kSize.width, kSize.height, how.in_flight,
      how.fps > 0.0 ? "paced" : "back to back", text(steady.compute).c_str(),
      text(steady.call).c_str(), steady.faults,
      static_cast<unsigned long long>(steady.allocations.set_apart), steady.seconds);
}

/// Whether few frames took much longer than the median.
bool has_short_tail(const Steady& steady) {
  // The device's clock counts in half microseconds, and the shortest frames take a few of them.
  constexpr double kJitter = 10e3;
  return static_cast<double>(steady.compute.percentile_ns(steady.frames < 10'000 ? 99.0 : 99.9)) <=
         1.5 * static_cast<double>(steady.compute.percentile_ns(50.0)) + kJitter;
}

void expect_steady(const OperatorConfig& config, const Run& how) {
  // What else runs on the host delays frames, too, but not in each of three runs.
  bool short_tail = false;
  for (int run = 0; run < 3 && !short_tail; ++run) {
    const Steady steady = run_frames(config, how);
    print(steady, how);
    short_tail = has_short_tail(steady);
    EXPECT_EQ(steady.failed, 0);
    if (!interposer_present()) continue;
    EXPECT_EQ(steady.allocations.allocations, 0u);
    EXPECT_EQ(steady.allocations.frees, 0u);
    // The driver's own threads allocate by the clock and not by the frame.
    EXPECT_LE(static_cast<double>(steady.allocations.set_apart), 100.0 + 60.0 * steady.seconds);
  }
  EXPECT_TRUE(short_tail);
}

class Driver : public OnDevice {};

// Fails when the interposer does not count the driver's allocations. Then the tests below show
// nothing of the driver.
TEST_F(Driver, AllocationsAreCounted) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory.device = 1 << 20;
  arm_interposer();
  const auto engine = Engine::create(settings);
  const AllocationCounts counts = disarm_interposer();
  ASSERT_TRUE(engine) << engine.error().text;
  EXPECT_GT(counts.allocations, 50u);
}

class DeviceSteadyState : public OnDevice, public testing::WithParamInterface<OperatorCase> {
 protected:
  static OperatorConfig config(int depth) { return GetParam().with(kSize, depth); }
};
INSTANTIATE_TEST_SUITE_P(Operators, DeviceSteadyState, testing::ValuesIn(parallel_operator_cases()),
                         case_label);

// Fails when a frame allocates or frees memory of the host, or when one frame in a thousand takes
// half as long again as the median. A frame that would allocate on the device fails by itself,
// because the table of CUDA's functions refuses the call.
// Promises: RT-001.
TEST_P(DeviceSteadyState, BackToBack) {
  expect_steady(config(3), {MemorySpace::kCuda, 20'000, 3});
}

// As above at the rate of a camera, where the device is idle between frames.
TEST_P(DeviceSteadyState, Paced) {
  expect_steady(config(1), {MemorySpace::kCuda, 1'000, 1, 400.0});
}

// As above for frames and results in memory of the host, with and without copy threads and zero
// copy.
// Promises: RT-001.
TEST_P(DeviceSteadyState, HostMemory) {
  expect_steady(config(2), {MemorySpace::kHost, 2'000, 2});
  expect_steady(config(2), {MemorySpace::kHost, 2'000, 2, 0.0, 2});
  expect_steady(config(2), {MemorySpace::kPinned, 2'000, 2});
  expect_steady(config(2), {MemorySpace::kPinned, 2'000, 2, 0.0, 0, ZeroCopy::kOn});
}

}  // namespace
}  // namespace ocellus::test
