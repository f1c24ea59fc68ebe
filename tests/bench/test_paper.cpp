// The paper's schedules and the measured limits of a device, both for `ocellus bench`.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "bench/limits/device_limits.h"
#include "bench/papers/halftone/paper_cellular_network.h"
#include "bench/papers/optical_flow/paper_flow.h"
#include "conformance/conformance.h"
#include "support/networks.h"

namespace ocellus::test {
namespace {

using paper::FrameMemory;
using paper::PaperFilter;
using paper::PaperFlow;
using FilterConfig = paper::WithSchedule<SpatioTemporalFilterConfig>;
using FlowConfig = paper::WithSchedule<OpticalFlowConfig>;

using PaperOnDevice = OnDevice;
using LimitsOnDevice = OnDevice;

std::string label(const paper::Schedule& schedule) {
  return std::string(schedule.frames == FrameMemory::kShared ? "shared" : "global") +
         " memory, package of " + std::to_string(schedule.package);
}

std::vector<paper::Schedule> all_schedules() {
  std::vector<paper::Schedule> schedules;
  for (const FrameMemory frames : {FrameMemory::kGlobal, FrameMemory::kShared})
    for (int package = 1; package <= paper::kMaxPackage; ++package)
      schedules.push_back({frames, package});
  return schedules;
}

FlowConfig small_flow(ImageSize size) {
  FlowConfig config;
  static_cast<OpticalFlowConfig&>(config) = OpticalFlowConfig::with_kernels(size);
  config.depth = 2;
  config.kernels.form = KernelForm::kPerPixel;
  config.kernels.nx = config.kernels.ny = 7;
  config.kernels.nt = 5;
  config.window = 5;
  config.window_sigma = 1.5f;
  return config;
}

// Fails when a schedule differs from equation (2): wrong taps, a wrong tile or border, or a wrong
// frame of the past, in the warm-up or after it.
TEST_F(PaperOnDevice, ConvolutionsMatchTheEquation) {
  struct Case {
    ImageSize size;
    int nx, ny, nt;
  };
  for (const Case& one : {Case{{37, 21}, 15, 15, 4},
                          {{64, 16}, 15, 3, 3},
                          {{70, 11}, 4, 6, 3},
                          {{33, 9}, 25, 25, 2},
                          {{5, 3}, 7, 7, 2},
                          {{1, 1}, 15, 15, 20}}) {
    for (const paper::Schedule& schedule : all_schedules()) {
      for (int convolutions = 1; convolutions <= 5; ++convolutions) {
        SCOPED_TRACE(label(schedule) + ", " + std::to_string(convolutions) + " convolutions of " +
                     std::to_string(one.nx) + "x" + std::to_string(one.ny) + "x" +
                     std::to_string(one.nt));
        FilterConfig config;
        config.size = one.size;
        config.depth = 2;
        config.schedule = schedule;
        config.kernels.form = KernelForm::kPerPixel;
        config.kernels.nx = one.nx;
        config.kernels.ny = one.ny;
        config.kernels.nt = one.nt;
        config.kernels.convolutions = convolutions;
        RandomTaps taps{};
        taps.seed = convolutions;
        taps.use_in(config.kernels);
        const auto frames = noise_frames(config.size, PixelFormat::kGray8,
                                         static_cast<std::size_t>(one.nt) < 5 ? 6 : 23, 41);
        const Results got = run<PaperFilter>(config, frames, 1, config.depth, BackendChoice::kCuda);
        expect_filter_matches(config, frames, got, {0, 1, frames.size() - 1}, 150);
        if (HasFailure()) return;
      }
    }
  }
}

// Fails when the flow of a schedule differs from equation (3), for any format, or when a frame of
// several launches counts more than once.
TEST_F(PaperOnDevice, FlowMatchesTheEquations) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    for (const paper::Schedule& schedule : all_schedules()) {
      SCOPED_TRACE(label(schedule) + ", format " + std::to_string(static_cast<int>(format)));
      FlowConfig config = small_flow({41, 27});
      config.format = format;
      config.schedule = schedule;
      const auto frames = noise_frames(config.size, format, 8, 42);
      const double share = expect_flow_matches(
          config, frames, run<PaperFlow>(config, frames, 1, config.depth, BackendChoice::kCuda),
          {0, 3, 7});
      if (HasFailure()) return;
      EXPECT_GT(share, 0.5) << "too few pixels were compared";
    }
  }
}

// Fails when the flow of a schedule differs from that of OpticalFlow, or when `reset` keeps
// anything of the past.
TEST_F(PaperOnDevice, FlowEqualsTheOperator) {
  FlowConfig config = small_flow({160, 96});
  config.kernels.nx = config.kernels.ny = 15;
  config.kernels.nt = 20;
  config.kernels.origin = KernelOrigin::kFoveated;
  config.window = 15;
  config.window_sigma = 4.0f;
  const Texture texture(5, 6.0, 24.0);
  const AffineMotion motion(0, 0, 0.6, 0, 0, -0.4);
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < 24; ++f) {
    frames.emplace_back(config.size, PixelFormat::kGray8);
    frames.back().fill(render(texture, motion, config.size, f));
  }
  const Results ours = run<OpticalFlow>(static_cast<const OpticalFlowConfig&>(config), frames, 1, 2,
                                        BackendChoice::kCuda);
  for (const paper::Schedule& schedule : all_schedules()) {
    SCOPED_TRACE(label(schedule));
    config.schedule = schedule;
    auto rig = Rig<PaperFlow>::make(config, 1, BackendChoice::kCuda);
    const Results theirs = send(rig.op, frames, 2);
    for (const std::size_t f : {std::size_t{0}, std::size_t{11}, frames.size() - 1}) {
      EXPECT_EQ(theirs.infos[f].described_sequence, ours.infos[f].described_sequence);
      EXPECT_EQ(theirs.infos[f].flags, ours.infos[f].flags);
    }
    const std::size_t last = frames.size() - 1;
    for (int y = 0; y < config.size.height; ++y) {
      for (int x = 0; x < config.size.width; ++x) {
        for (std::size_t p = 0; p < 2; ++p)
          ASSERT_NEAR(theirs.planes[last][p].at(x, y), ours.planes[last][p].at(x, y), 1e-4)
              << "plane " << p << " at (" << x << ", " << y << ")";
      }
    }
    rig.op.reset();
    EXPECT_TRUE(same_bytes(send(rig.op, frames, 2), theirs));
  }
}

// Fails when a frame with NaN counts among the frames of the past.
TEST_F(PaperOnDevice, BadFramesLeaveNoTrace) {
  FlowConfig config = small_flow({41, 27});
  config.format = PixelFormat::kFloat32;
  const auto good = noise_frames(config.size, config.format, 8, 43);
  auto with_bad = good;
  PlaneD bad = noise(config.size, 44);
  bad.at(40, 26) = std::numeric_limits<double>::quiet_NaN();
  with_bad.emplace(with_bad.begin() + 3, config.size, config.format)->fill(bad);
  const Results expected = run<PaperFlow>(config, good, 1, 1, BackendChoice::kCuda);
  const Results got = run<PaperFlow>(config, with_bad, 1, 1, BackendChoice::kCuda);
  EXPECT_TRUE(got.infos[3].bad_pixels());
  for (std::size_t f = 3; f < good.size(); ++f)
    for (std::size_t p = 0; p < 3; ++p)
      EXPECT_TRUE(same_bytes(got.planes[f + 1][p], expected.planes[f][p])) << f;
}

// Fails when a schedule takes a configuration that the paper does not have.
TEST(Paper, RefusesOtherConfigurations) {
  const auto refused = [](const FlowConfig& config, Status status, const char* text) {
    const Expected<Footprint> footprint = PaperFlow::footprint(EngineInfo{}, config);
    ASSERT_FALSE(footprint) << text;
    EXPECT_EQ(footprint.error().status, status) << text;
    EXPECT_NE(std::string(footprint.error().text).find(text), std::string::npos)
        << footprint.error().text;
  };
  const FlowConfig good = small_flow({64, 48});
  const Expected<Footprint> footprint = PaperFlow::footprint(EngineInfo{}, good);
  ASSERT_TRUE(footprint);
  // Three one-dimensional arrays for each pixel and convolution, and nt frames.
  EXPECT_GE(footprint->device, 64u * 48u * 4u * (3u * (7u + 7u + 5u) + 5u));

  FlowConfig config = good;
  config.kernels.form = KernelForm::kUniform;
  refused(config, Status::kUnsupported, "uniform");
  config = good;
  config.storage = CoefficientStorage::kHalf;
  refused(config, Status::kUnsupported, "half");
  config = good;
  config.roi = {0, 0, 32, 32};
  refused(config, Status::kUnsupported, "region");
  config = good;
  config.method = FlowMethod::kPyramid;
  refused(config, Status::kUnsupported, "pyramid");
  for (const int package : {0, 5}) {
    config = good;
    config.schedule.package = package;
    refused(config, Status::kInvalidArgument, "package");
  }
  config = good;
  config.window = 4;
  refused(config, Status::kInvalidArgument, "window");

  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory.host = 1 << 20;
  Engine engine = must(Engine::create(settings));
  const auto on_cpu = PaperFlow::create(engine, good);
  ASSERT_FALSE(on_cpu);
  EXPECT_EQ(on_cpu.error().status, Status::kUnsupported);
}

// Fails when a limit has a wrong count of bytes or operations. No kernel is faster than the
// device's units at their clock, and a copy is about as fast as a read.
TEST_F(LimitsOnDevice, ArePlausible) {
  const cuda::DeviceLimits limits =
      must(cuda::measure_device_limits(engine_config(1, BackendChoice::kCuda)));
  EXPECT_GT(limits.multiprocessors, 0);
  EXPECT_GT(limits.block_bytes, 2 * limits.l2_bytes);
  EXPECT_GT(limits.clock_hz, 1e8);
  EXPECT_LT(limits.clock_hz, 5e9);
  const double most = limits.multiprocessors * 128.0 * 2.0 * limits.clock_hz;
  EXPECT_LT(limits.flops, 1.05 * most);
  EXPECT_GT(limits.flops, 0.4 * most) << "the oldest devices have half as many units";
  EXPECT_GT(limits.read_bytes_per_s, 1e10);
  EXPECT_LT(limits.read_bytes_per_s, 2e13);
  EXPECT_GT(limits.copy_bytes_per_s, 0.5 * limits.read_bytes_per_s);
  EXPECT_LT(limits.copy_bytes_per_s, 1.5 * limits.read_bytes_per_s);
  RecordProperty("read_gb_per_s", std::to_string(limits.read_bytes_per_s * 1e-9));
  RecordProperty("copy_gb_per_s", std::to_string(limits.copy_bytes_per_s * 1e-9));
  RecordProperty("gflops", std::to_string(limits.flops * 1e-9));
}

// Fails when the limits of a device are measured on the CPU.
TEST(Limits, NeedADevice) {
  const auto refused = cuda::measure_device_limits(engine_config(1, BackendChoice::kCpu));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
}

// ---- the cellular network

CellularNetworkConfig nine_colors(ImageSize size, CellStart start, int sweeps) {
  CellularNetworkConfig config;
  config.size = size;
  config.stage_count = 1;
  CellStage& stage = config.stages[0];
  stage.weights.radius = 1;
  stage.weights.a = {-0.07f, -0.1f, -0.07f, -0.1f, 0.03f, -0.1f, -0.07f, -0.1f, -0.07f};
  stage.weights.b = {0.07f, 0.1f, 0.07f, 0.1f, 0.32f, 0.1f, 0.07f, 0.1f, 0.07f};
  stage.start = start;
  stage.boundary = CellBoundary::kFixed;
  stage.color_spacing = 3;
  stage.max_sweeps = sweeps;
  return config;
}

// Fails when a schedule updates a cell in a wrong order, reads an output that another block writes,
// or reads wrong cells beyond the border. The sizes are no multiples of three, one row or one
// column. Some runs end before the fixed point.
TEST_F(PaperOnDevice, CellsEqualTheOperator) {
  for (const ImageSize size : {ImageSize{64, 48}, ImageSize{65, 49}, ImageSize{100, 50},
                               ImageSize{1, 7}, ImageSize{7, 1}, ImageSize{3100, 5}}) {
    for (const CellStart start : {CellStart::kNoise, CellStart::kErrorDiffusion}) {
      for (const int sweeps : {1, 2, 30}) {
        const CellularNetworkConfig config = nine_colors(size, start, sweeps);
        const FrameBuffer frame = noise_frames(size, PixelFormat::kGray8, 1, 11)[0];
        auto ours = Rig<CellularNetwork>::make(config, 1, BackendChoice::kCuda);
        const auto expected = cells_of(ours.op, frame.frame());
        for (const paper::CellMemory memory :
             {paper::CellMemory::kGlobal, paper::CellMemory::kSharedX,
              paper::CellMemory::kSharedXY}) {
          for (const int rows : {1, 2}) {
            SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) +
                         ", schedule " + std::to_string(static_cast<int>(memory)) + ", " +
                         std::to_string(rows) + " rows, " + std::to_string(sweeps) + " sweeps");
            const paper::CellSchedule schedule{memory, rows};
            EngineConfig settings = engine_config(1, BackendChoice::kCuda);
            const paper::PaperCellularNetworkConfig of_paper{config, schedule};
            settings.memory = must(
                paper::PaperCellularNetwork::footprint(must(Engine::probe(settings)), of_paper));
            Engine engine = must(Engine::create(settings));
            auto network = must(paper::PaperCellularNetwork::create(engine, of_paper));
            EXPECT_TRUE(cells_of(network, frame.frame()) == expected);
          }
        }
      }
    }
  }
}

// Fails when a schedule takes a network that the paper does not have.
TEST(PaperCells, RefuseOtherNetworks) {
  const auto text = [](const CellularNetworkConfig& config, int rows = 1) {
    const auto footprint = paper::PaperCellularNetwork::footprint(
        EngineInfo{}, {config, {paper::CellMemory::kGlobal, rows}});
    return footprint ? std::string() : std::string(footprint.error().text);
  };
  CellularNetworkConfig config = nine_colors({30, 20}, CellStart::kInput, 3);
  EXPECT_EQ(text(config), "");
  EXPECT_EQ(text(config, 3), "rows is 3; it must be 1 or 2");
  config.stages[0].color_spacing = 0;
  EXPECT_EQ(text(config),
            "the paper's schedules do not support an update order other than nine colors");
  config.stages[0].color_spacing = 3;
  config.stages[0].boundary = CellBoundary::kZeroFlux;
  EXPECT_EQ(text(config),
            "the paper's schedules do not support boundaries other than fixed cells of 0");
  config.stages[0].weights.radius = 2;
  EXPECT_EQ(text(config), "the paper's schedules do not support templates other than 3x3");
}

}  // namespace
}  // namespace ocellus::test
