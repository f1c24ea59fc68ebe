// Steady state of the CUDA backend on a device: no allocation on the host, none on the device, no
// outliers, over many thousands of frames.
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
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {
namespace {

using Clock = std::chrono::steady_clock;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct Range {
  const char* begin = nullptr;
  const char* end = nullptr;
};

/// Where the CUDA driver's code lies. A thread of its own looks for something ten times a second,
/// frames or not, and allocates for that.
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
  int frames = 0;
  int in_flight = 1;
  double fps = 0.0;  ///< 0: back to back
  int copy_threads = 0;
};

struct Steady {
  AllocationCounts allocations;
  long faults = 0;
  double seconds = 0.0;
  int failed = 0;
  LatencyHistogram compute;  ///< on the device
  LatencyHistogram call;     ///< from submit to the end of wait
};

class DeviceSteadyState : public OnDevice {};

/// Runs frames whose images and results lie in memory of one kind. What the loop itself needs is
/// there before.
Steady run_frames(const OpticalFlowConfig& config, const Run& how) {
  constexpr int kImages = 4;
  const auto in_flight = static_cast<std::size_t>(how.in_flight);
  const std::size_t columns = static_cast<std::size_t>(config.size.width);
  const std::size_t rows = static_cast<std::size_t>(config.size.height);
  const std::size_t plane_bytes = columns * rows * sizeof(float);
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.device_copy_threads = how.copy_threads;
  settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config));
  for (int i = 0; i < kImages; ++i) settings.memory += Buffer::footprint(how.space, columns * rows);
  for (int i = 0; i < how.in_flight; ++i)
    settings.memory += Buffer::footprint(how.space, 3 * plane_bytes);
  Engine engine = must(Engine::create(settings));
  OpticalFlow flow = must(OpticalFlow::create(engine, config));
  std::vector<Frame> frames;
  std::vector<Buffer> images;
  std::vector<Buffer> results;
  for (int i = 0; i < kImages; ++i) {
    images.push_back(must(Buffer::create(engine, how.space, columns * rows)));
    FrameBuffer host(config.size, PixelFormat::kGray8);
    host.fill(noise(config.size, static_cast<unsigned>(i)));
    const Frame from = host.frame();
    for (std::size_t y = 0; y < rows; ++y)
      must(images.back().write(
          y * columns,
          static_cast<const char*>(from.data) + static_cast<std::ptrdiff_t>(y) * from.stride,
          columns));
    Frame frame;
    frame.data = images.back().data();
    frame.size = config.size;
    frame.stride = config.size.width;
    frame.space = how.space;
    frames.push_back(frame);
  }
  std::vector<FlowOutput> views;
  for (std::size_t i = 0; i < in_flight; ++i) {
    results.push_back(must(Buffer::create(engine, how.space, 3 * plane_bytes)));
    views.push_back(planes_at(results.back().data(), plane_bytes, config.size,
                              columns * sizeof(float), how.space));
  }

  Steady steady;
  std::vector<Ticket> tickets(in_flight);
  std::vector<Clock::time_point> begun(in_flight);
  std::uint64_t number = 0;
  bool counting = false;
  const auto finish = [&](std::size_t slot) {
    const auto done = flow.wait(tickets[slot], Deadline::never());
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
    const auto ticket = flow.submit(frames[number % kImages], views[slot]);
    if (!ticket) ++steady.failed;
    tickets[slot] = ticket.value_or(Ticket{});
    // At a camera's pace a frame is waited for before the next one comes.
    if (how.fps > 0.0) {
      finish(slot);
      tickets[slot] = Ticket{};
    }
    ++number;
  };
  for (int f = 0; f < 300; ++f) one();
  const MemoryUse before = engine.memory_use();
  const long faults = page_faults();
  counting = true;
  const Range driver = driver_code();
  arm_interposer(driver.begin, driver.end);
  const auto start = Clock::now();
  for (int f = 0; f < how.frames; ++f) {
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

void expect_steady(const OpticalFlowConfig& config, const Run& how) {
  const Steady steady = run_frames(config, how);
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
      how.frames, config.size.width, config.size.height, how.in_flight,
      how.fps > 0.0 ? "paced" : "back to back", text(steady.compute).c_str(),
      text(steady.call).c_str(), steady.faults,
      static_cast<unsigned long long>(steady.allocations.set_apart), steady.seconds);
  EXPECT_EQ(steady.failed, 0);
  EXPECT_LE(static_cast<double>(steady.compute.percentile_ns(99.9)),
            1.5 * static_cast<double>(steady.compute.percentile_ns(50.0)));
  if (!interposer_present()) return;
  EXPECT_EQ(steady.allocations.allocations, 0u);
  EXPECT_EQ(steady.allocations.frees, 0u);
  // By the clock, and not by the frame.
  EXPECT_LE(static_cast<double>(steady.allocations.set_apart), 100.0 + 60.0 * steady.seconds);
}

OpticalFlowConfig per_pixel(ImageSize size, int depth) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.depth = depth;
  config.kernels.form = KernelForm::kPerPixel;
  config.kernels.origin = KernelOrigin::kFoveated;
  config.kernels.nx = config.kernels.ny = 15;
  config.kernels.nt = 20;
  return config;
}

// Fails when the driver's own allocations are not counted: then the tests below would prove nothing
// of it.
TEST_F(DeviceSteadyState, TheDriversAllocationsAreCounted) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory.device = 1 << 20;
  arm_interposer();
  const auto engine = Engine::create(settings);
  const AllocationCounts counts = disarm_interposer();
  ASSERT_TRUE(engine) << engine.error().text;
  EXPECT_GT(counts.allocations, 50u);
}

// Fails when a frame allocates or frees on the host or the device (the table of CUDA's functions
// refuses what would, so a frame fails), or when one in a thousand takes half as long again.
TEST_F(DeviceSteadyState, BackToBack) {
  expect_steady(per_pixel({640, 480}, 3), {MemorySpace::kCuda, 100'000, 3});
}

// As above at a camera's pace, where the device falls idle between frames.
TEST_F(DeviceSteadyState, Paced) {
  expect_steady(per_pixel({640, 480}, 1), {MemorySpace::kCuda, 10'000, 1, 400.0});
}

// As above for frames and results on the host, with and without threads that help to copy.
TEST_F(DeviceSteadyState, HostMemory) {
  expect_steady(per_pixel({640, 480}, 2), {MemorySpace::kHost, 10'000, 2});
  expect_steady(per_pixel({640, 480}, 2), {MemorySpace::kHost, 10'000, 2, 0.0, 2});
  expect_steady(per_pixel({640, 480}, 2), {MemorySpace::kPinned, 10'000, 2});
}

// As above for the pyramid, whose graph has most kernels.
TEST_F(DeviceSteadyState, Pyramid) {
  for (OpticalFlowConfig config :
       {OpticalFlowConfig::fast({640, 480}), OpticalFlowConfig::quality({640, 480})}) {
    config.depth = 3;
    expect_steady(config, {MemorySpace::kCuda, 20'000, 3});
  }
}

}  // namespace
}  // namespace ocellus::test
