// The schedules of the paper for the recursion of Restoration.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/papers/restoration/paper_launches.h"
#include "bench/papers/restoration/paper_restoration.h"
#include "conformance/conformance.h"
#include "kernels/trouble_kernels.h"
#include "restoration/restoration_reference.h"
#include "support/restoration_filters.h"

namespace ocellus::test {
namespace {

using paper::PaperAllocation;
using paper::PaperLaunches;
using paper::PaperRestoration;
using paper::PaperRestorationConfig;

using PaperRestorationOnDevice = OnDevice;
using SlowPaperRestorationOnDevice = OnDevice;

PaperRestorationConfig config_of(const RestorationFilter& filter, ImageSize size,
                                 PaperAllocation allocation) {
  PaperRestorationConfig config;
  config.size = size;
  config.format = PixelFormat::kFloat32;
  config.coefficients = &filter;
  config.allocation = allocation;
  return config;
}

/// The result of a frame. Ends the program if the kernels take 20 seconds: nothing can stop a
/// kernel whose blocks wait for ever.
PlaneD result_of(const PaperRestorationConfig& config, const FrameBuffer& frame) {
  auto rig = Rig<PaperRestoration>::make(config, 1, BackendChoice::kCuda);
  OutputBuffer out(rig.op.info());
  const Ticket ticket = must(rig.op.OperatorHandle::submit(frame.frame(), out.output()));
  const auto done = rig.op.wait(ticket, Deadline::after(std::chrono::seconds(20)));
  if (!done) {
    std::fprintf(stderr, "the schedule did not end: %s\n", done.error().text);
    std::_Exit(1);
  }
  PlaneD result(config.size.width, config.size.height);
  const PlaneF plane = out.plane(0);
  for (std::size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = static_cast<double>(plane.data[i]);
  return result;
}

void expect_reference(const PaperRestorationConfig& config) {
  const RestorationFilter& filter = *config.coefficients;
  FrameBuffer frame(config.size, config.format);
  frame.fill(noise(config.size, 4));
  const PlaneD got = result_of(config, frame);
  const FilterProperties properties = must(analyze_filter(filter));
  const PlaneD expected =
      restore_reference(frame.values(), filter, config.border, properties.response);
  const double tolerance = kFloatTolerance * properties.absolute_gain * 255.0;
  for (int y = 0; y < config.size.height; ++y)
    for (int x = 0; x < config.size.width; ++x)
      ASSERT_NEAR(got.at(x, y), expected.at(x, y), tolerance) << "at (" << x << ", " << y << ")";
}

/// All allocations, with x1 before the recursion and in its steps.
void expect_reference(std::initializer_list<int> supports, std::initializer_list<ImageSize> sizes) {
  for (const PaperAllocation allocation : {PaperAllocation::kFixed, PaperAllocation::kFlexible}) {
    for (const bool fused : {false, true}) {
      for (const int support : supports) {
        const RestorationFilter filter = random_filter(support, 0.6, 3);
        for (const ImageSize size : sizes) {
          SCOPED_TRACE(std::to_string(static_cast<int>(allocation)) + (fused ? ", fused" : "") +
                       ", m = " + std::to_string(support) + ", " + std::to_string(size.width) +
                       "x" + std::to_string(size.height));
          PaperRestorationConfig config = config_of(filter, size, allocation);
          config.fused = fused;
          config.blocks = 20;
          config.border = RestorationBorder::kReplicate;
          expect_reference(config);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// Fails when a schedule differs from equation (1): a pixel that is computed before one that it
// needs, a wrong neighborhood, a wrong quadrant.
TEST_F(PaperRestorationOnDevice, MatchesTheEquation) {
  expect_reference({1, 3}, {{1, 1}, {9, 5}});
}

TEST_F(PaperRestorationOnDevice, LargeSupportsMatchTheEquation) {
  expect_reference({2, 5, 8, 31}, {{1, 1}, {1, 23}, {57, 40}});
}

/// The schedules without a graph, with an image of noise.
struct Launches {
  Launches(const RestorationFilter& filter, ImageSize size)
      : image(noise(size, 4)),
        expected(restore_reference(image, filter, RestorationBorder::kZero, 0)),
        tolerance(kFloatTolerance * must(analyze_filter(filter)).absolute_gain * 255.0),
        sum(image.data.size()) {
    for (const double pixel : image.data) pixels.push_back(static_cast<float>(pixel));
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.memory = PaperLaunches::footprint(size, filter.support);
    engine.emplace(must(Engine::create(settings)));
    op = must(PaperLaunches::create(*engine, size, filter));
  }
  void expect_sum() {
    op->add_quadrants(sum);
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(static_cast<double>(sum[i]), expected.data[i], tolerance) << "pixel " << i;
  }

  PlaneD image;
  PlaneD expected;
  double tolerance;
  std::vector<float> pixels;
  std::vector<float> sum;
  std::optional<Engine> engine;
  std::unique_ptr<PaperLaunches> op;
};

// Fails when a plane is launched before the values that it reads are on the device, or when they
// are read from wrong places.
TEST_F(PaperRestorationOnDevice, LaunchesOfTheHostMatchTheEquation) {
  for (const int support : {1, 2, 8, 31}) {
    const RestorationFilter filter = random_filter(support, 0.6, 3);
    for (const ImageSize size : {ImageSize{1, 23}, ImageSize{23, 1}, ImageSize{57, 40}}) {
      SCOPED_TRACE("m = " + std::to_string(support) + ", " + std::to_string(size.width) + "x" +
                   std::to_string(size.height));
      Launches launches(filter, size);
      EXPECT_GT(must(launches.op->fixed(launches.pixels)), 0.0);
      launches.expect_sum();
      if (HasFailure()) return;
    }
  }
}

// Fails when the counts of (12) are not those of the schedule. A block alone computes one column
// after the other. It reads a row for a pixel, and a neighborhood for the first pixel of a column.
TEST_F(PaperRestorationOnDevice, CountsStepsOfTheFlexibleAllocation) {
  constexpr int kSupport = 7;
  constexpr unsigned long long kWidth = 30;
  constexpr unsigned long long kHeight = 20;
  Launches launches(random_filter(kSupport, 0.6, 3), {kWidth, kHeight});
  const paper::StepCounts alone = must(launches.op->flexible(launches.pixels, 1));
  launches.expect_sum();
  EXPECT_EQ(alone.pixels, 4 * kWidth * kHeight);
  EXPECT_EQ(alone.changes, 4 * (kWidth - 1));
  EXPECT_EQ(alone.columns, 4 * (kWidth - 1));
  EXPECT_EQ(alone.rows, 4 * kWidth * (kHeight + kSupport - 1));
  // 8 for a pixel. When a column is done, a search that finds none and a look at the column.
  EXPECT_EQ(alone.accesses, 4 * kWidth * (8 * kHeight + 4));
  EXPECT_DOUBLE_EQ(alone.p1(), 29.0 / 600.0);
  EXPECT_DOUBLE_EQ(alone.c1(), 1.0);

  const paper::StepCounts several = must(launches.op->flexible(launches.pixels, 8));
  launches.expect_sum();
  EXPECT_EQ(several.pixels, alone.pixels);
  EXPECT_GE(several.rows, several.pixels + several.changes * (kSupport - 1));
  EXPECT_GE(several.columns, several.changes);
}

// Fails when blocks of the flexible allocation wait for blocks that are not resident: the device
// runs two blocks of a multiprocessor at a time, and each column has a block.
TEST_F(PaperRestorationOnDevice, FlexibleBlocksNeedNoOthers) {
  const RestorationFilter filter = random_filter(5, 0.5, 6);
  for (const int blocks : {1, 7, 512, 65535}) {
    SCOPED_TRACE(blocks);
    PaperRestorationConfig config =
        config_of(filter, {blocks == 1 ? 61 : 1500, 90}, PaperAllocation::kFlexible);
    config.blocks = blocks;
    cudaDeviceProp properties{};
    ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    config.unused_shared_bytes = static_cast<int>(properties.sharedMemPerMultiprocessor / 5 * 2);
    if (config.unused_shared_bytes > static_cast<int>(properties.sharedMemPerBlockOptin) / 10 * 9)
      config.unused_shared_bytes = static_cast<int>(properties.sharedMemPerBlockOptin) / 10 * 9;
    expect_reference(config);
    if (HasFailure()) return;
  }
}

// Fails when blocks of the flexible allocation wait for blocks that cannot become resident: another
// kernel occupies all multiprocessors but one until the frame is done.
TEST_F(PaperRestorationOnDevice, FlexibleBlocksEndBesideAnotherKernel) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  int* stop = nullptr;
  ASSERT_EQ(cudaHostAlloc(&stop, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  *stop = 0;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const RestorationFilter filter = random_filter(7, 0.5, 8);
  const PaperRestorationConfig config = config_of(filter, {300, 60}, PaperAllocation::kFlexible);
  FrameBuffer frame(config.size, config.format);
  frame.fill(noise(config.size, 4));
  const PlaneD alone = result_of(config, frame);

  auto rig = Rig<PaperRestoration>::make(config, 1, BackendChoice::kCuda);
  // A block with all of the shared memory leaves no room on its multiprocessor.
  ASSERT_EQ(launch_blocks_until(stop, properties.multiProcessorCount - 1,
                                static_cast<int>(properties.sharedMemPerBlockOptin), stream),
            cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  OutputBuffer out(rig.op.info());
  const Ticket ticket = must(rig.op.OperatorHandle::submit(frame.frame(), out.output()));
  const auto done = rig.op.wait(ticket, Deadline::after(std::chrono::minutes(1)));
  if (!done) {
    std::fprintf(stderr, "the schedule did not end: %s\n", done.error().text);
    std::_Exit(1);
  }
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady) << "the other kernel has ended too early";
  static_cast<volatile int*>(stop)[0] = 1;
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const PlaneF seen = out.plane(0);
  for (std::size_t i = 0; i < alone.data.size(); ++i)
    ASSERT_EQ(static_cast<double>(seen.data[i]), alone.data[i]) << "pixel " << i;
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(stop), cudaSuccess);
}

/// The median time of the kernels of a frame in device memory, in microseconds.
template <typename Operator, typename Config>
double time_of(const Config& config, int frames) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const auto pixels =
      static_cast<std::size_t>(config.size.width) * static_cast<std::size_t>(config.size.height);
  const std::size_t bytes = pixels * sizeof(float);
  settings.memory = must(Operator::footprint(must(Engine::probe(settings)), config)) +
                    Buffer::footprint(MemorySpace::kCuda, bytes) +
                    Buffer::footprint(MemorySpace::kCuda, bytes);
  Engine engine = must(Engine::create(settings));
  Operator op = must(Operator::create(engine, config));
  Buffer in = must(Buffer::create(engine, MemorySpace::kCuda, bytes));
  Buffer out = must(Buffer::create(engine, MemorySpace::kCuda, bytes));
  std::vector<float> values;
  for (const double value : noise(config.size, 9).data) values.push_back(static_cast<float>(value));
  must(in.write(0, values.data(), bytes));
  const std::ptrdiff_t stride = std::ptrdiff_t{config.size.width} * 4;
  Frame frame;
  frame.data = in.data();
  frame.size = config.size;
  frame.stride = stride;
  frame.format = PixelFormat::kFloat32;
  frame.space = MemorySpace::kCuda;
  const ImageView view = {out.data(),         config.size, stride, PixelFormat::kFloat32,
                          MemorySpace::kCuda, nullptr};
  std::vector<double> times;
  for (int f = 0; f < frames + 2; ++f) {
    const FrameInfo info =
        must(op.wait(must(op.submit(frame, view)), Deadline::after(std::chrono::seconds(20))));
    if (f >= 2) times.push_back(static_cast<double>(info.compute_ns) * 1e-3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Fails when the recursion of the library is less than 10 times as fast as a schedule of the paper.
// Prints the times of figure 3 of the paper, for filters with a response of 64 pixels.
TEST_F(SlowPaperRestorationOnDevice, TimesBySupport) {
  struct Case {
    int support;
    double feedback;
    double decay;
  };
  std::printf("support,padding,recursion_us,frequency_us,fixed_us,flexible_us\n");
  for (const Case& one : {Case{3, 0.7768, 1.0},
                          {5, 0.6612, 1.0},
                          {7, 0.5437, 1.0},
                          {9, 0.4528, 1.0},
                          {11, 0.3694, 1.0},
                          {15, 0.2974, 0.95},
                          {21, 0.2880, 0.85},
                          {31, 0.2160, 0.85}}) {
    const RestorationFilter filter = lasting_filter(one.support, one.feedback, one.decay);
    PaperRestorationConfig config = config_of(filter, {2048, 2048}, PaperAllocation::kFixed);
    RestorationConfig ours = config;
    ours.schedule = RestorationSchedule::kRecursion;
    const double recursion = time_of<Restoration>(ours, 15);
    ours.schedule = RestorationSchedule::kFrequency;
    const double frequency = time_of<Restoration>(ours, 15);
    const double fixed = time_of<PaperRestoration>(config, 3);
    config.allocation = PaperAllocation::kFlexible;
    const double flexible = time_of<PaperRestoration>(config, 3);
    std::printf("%d,%d,%.1f,%.1f,%.1f,%.1f\n", one.support, must(analyze_filter(filter)).response,
                recursion, frequency, fixed, flexible);
    EXPECT_GT(std::min(fixed, flexible), 10.0 * recursion);
  }
}

// Fails when the estimates are not those of the paper: [log2 31^2] + 1 = 10 operations for each of
// 2 x 2048 - 1 planes, and a gain above m = 5.
TEST(PaperRestorationEstimates, AreThoseOfThePaper) {
  const cuda::ContinuedImage image{nullptr, 2048, 2048, 0, 0};
  EXPECT_EQ(paper::paper_operations(image, 31), 40950);
  EXPECT_EQ(paper::paper_operations(image, 3), 16380);
  EXPECT_EQ(paper::kernel_operations(image, 31), 4095 * (31 + 5));
  EXPECT_EQ(paper::saved_accesses(5, 0.0, 0.0), 0.0);
  EXPECT_EQ(paper::saved_accesses(31, 0.0, 0.0), 26.0);
  EXPECT_EQ(paper::saved_accesses(31, 0.5, 2.0), 26.0 - 0.5 * 57.0);
}

// Fails when a number of blocks that is not possible is taken, or the CPU is taken for a device.
TEST(PaperRestorationConfig, IsChecked) {
  const RestorationFilter filter = random_filter(3, 0.5, 2);
  for (const int blocks : {0, 65536}) {
    PaperRestorationConfig config = config_of(filter, {30, 20}, PaperAllocation::kFlexible);
    config.blocks = blocks;
    const auto refused = PaperRestoration::footprint(EngineInfo{}, config);
    ASSERT_FALSE(refused);
    expect_words(refused.error(), Status::kInvalidArgument, {"blocks", std::to_string(blocks)});
  }
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory.host = 1 << 20;
  Engine engine = must(Engine::create(settings));
  const auto on_cpu =
      PaperRestoration::create(engine, config_of(filter, {30, 20}, PaperAllocation::kFixed));
  ASSERT_FALSE(on_cpu);
  EXPECT_EQ(on_cpu.error().status, Status::kUnsupported);
  const auto launches_on_cpu = PaperLaunches::create(engine, {30, 20}, filter);
  ASSERT_FALSE(launches_on_cpu);
  EXPECT_EQ(launches_on_cpu.error().status, Status::kUnsupported);
}

}  // namespace
}  // namespace ocellus::test
