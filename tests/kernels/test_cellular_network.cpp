// The cellular network on a device: several kernels at once whose blocks wait for each other, and
// cells that must equal those of the CPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/halftone.h"
#include "support/networks.h"

namespace ocellus::test {
namespace {

class CellsOnDevice : public OnDevice {};

std::size_t area(ImageSize size) {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
}

/// Halftones of `count` frames, taken from `frames` in turn, with `in_flight` in flight.
std::vector<CellBytes> halftones(CellularNetwork& network, ImageSize size,
                                 const std::vector<FrameBuffer>& frames, std::size_t count,
                                 std::size_t in_flight) {
  std::vector<CellBytes> out(count, CellBytes(area(size)));
  std::vector<Ticket> tickets;
  for (std::size_t f = 0; f < count + in_flight; ++f) {
    if (f >= in_flight && f - in_flight < tickets.size())
      must(network.wait(tickets[f - in_flight], Deadline::after(std::chrono::seconds(60))));
    if (f < count)
      tickets.push_back(
          must(network.submit(frames[f % frames.size()].frame(f), view_of(out[f], size))));
  }
  return out;
}

// Fails when the blocks of two such kernels each occupy a part of the device and wait for ever, or
// when they share messages or counters. Each image has a band for every multiprocessor, so that no
// two kernels fit at once. Optical flow runs between them.
TEST_F(CellsOnDevice, NetworksAtOnceDoNotWaitForEachOther) {
  constexpr std::size_t kFrames = 150;
  constexpr int kDepth = 4;
  std::vector<CellularNetworkConfig> configs;
  for (const ImageSize size : {ImageSize{640, 720}, ImageSize{333, 1000}, ImageSize{256, 640}}) {
    configs.push_back(halftone_config(
        size, configs.size() == 1 ? HalftonePreset::kFast : HalftonePreset::kQuality));
    configs.back().depth = kDepth;
  }
  // One network on the general path, whose blocks also wait for each other.
  configs.back().stages[0].boundary = CellBoundary::kZeroFlux;
  configs.back().stage_count = 1;
  OpticalFlowConfig flow_config = OpticalFlowConfig::with_kernels({320, 240});
  flow_config.depth = kDepth;

  std::vector<std::vector<FrameBuffer>> frames;
  std::vector<std::vector<CellBytes>> expected;
  for (std::size_t n = 0; n < configs.size(); ++n) {
    frames.push_back(
        noise_frames(configs[n].size, PixelFormat::kGray8, 3, 7 + static_cast<unsigned>(n)));
    auto rig = Rig<CellularNetwork>::make(configs[n], 2, BackendChoice::kCpu);
    expected.push_back(halftones(rig.op, configs[n].size, frames[n], 3, 1));
  }
  const auto flow_frames = noise_frames(flow_config.size, PixelFormat::kGray8, kFrames, 3);

  EngineConfig settings = engine_config(2, BackendChoice::kCuda);
  settings.device_stream_sets = 4;
  const EngineInfo info = must(Engine::probe(settings));
  settings.memory = must(OpticalFlow::footprint(info, flow_config));
  for (const CellularNetworkConfig& config : configs)
    settings.memory += must(CellularNetwork::footprint(info, config));
  Engine engine = must(Engine::create(settings));
  std::vector<CellularNetwork> networks;
  for (const CellularNetworkConfig& config : configs)
    networks.push_back(must(CellularNetwork::create(engine, config)));
  OpticalFlow flow = must(OpticalFlow::create(engine, flow_config));

  std::vector<std::vector<CellBytes>> got(configs.size());
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < configs.size(); ++n) {
    threads.emplace_back(
        [&, n] { got[n] = halftones(networks[n], configs[n].size, frames[n], kFrames, kDepth); });
  }
  threads.emplace_back([&] { send(flow, flow_frames, kDepth); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t n = 0; n < configs.size(); ++n) {
    ASSERT_EQ(got[n].size(), kFrames);
    for (std::size_t f = 0; f < kFrames; ++f)
      ASSERT_TRUE(got[n][f] == expected[n][f % 3]) << "network " << n << " frame " << f;
  }
}

// Fails when a halftone depends on the division into bands or on the memory that holds its states.
// The widths lie around the words of 32 cells and the pieces of rows, the heights around multiples
// of the number of multiprocessors. Some images are too large for shared memory.
// Promises: RES-004.
TEST_F(CellsOnDevice, EverySizeEqualsTheCpu) {
  const ImageSize sizes[] = {{31, 131},   {33, 133},  {64, 264},   {65, 265},
                             {140, 9},    {141, 40},  {163, 77},   {1927, 67},
                             {2049, 130}, {4099, 65}, {640, 1061}, {16384, 37}};
  for (const ImageSize size : sizes) {
    for (const HalftonePreset preset : {HalftonePreset::kQuality, HalftonePreset::kFast}) {
      SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
      const CellularNetworkConfig config = halftone_config(size, preset);
      const auto frames = noise_frames(size, PixelFormat::kGray8, 2, 17, 3, 1);
      auto cpu = Rig<CellularNetwork>::make(config, 2, BackendChoice::kCpu);
      auto cuda = Rig<CellularNetwork>::make(config, 2, BackendChoice::kCuda);
      ASSERT_TRUE(halftones(cpu.op, size, frames, 2, 1) == halftones(cuda.op, size, frames, 2, 1));
    }
  }
  const ImageSize large{6000, 5000};
  const CellularNetworkConfig config = halftone_config(large, HalftonePreset::kFast);
  const auto frames = noise_frames(large, PixelFormat::kGray8, 1, 5);
  auto cpu = Rig<CellularNetwork>::make(config, 8, BackendChoice::kCpu);
  auto cuda = Rig<CellularNetwork>::make(config, 2, BackendChoice::kCuda);
  EXPECT_TRUE(halftones(cpu.op, large, frames, 1, 1) == halftones(cuda.op, large, frames, 1, 1));
}

// Fails when a band's list of changes overflows, or when the frame ends before the swaps of its
// last sweep. Half of all cells change at first, and chains end with swaps. The widest image has
// its states in global memory.
TEST_F(CellsOnDevice, ManySwapsEqualTheCpu) {
  for (const ImageSize size :
       {ImageSize{1920, 540}, ImageSize{700, 61}, ImageSize{95, 130}, ImageSize{16384, 40}}) {
    for (const HalftonePreset preset : {HalftonePreset::kQuality, HalftonePreset::kFast}) {
      SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
      CellularNetworkConfig config = halftone_config(size, preset);
      config.stages[0].start = CellStart::kNoise;
      config.stages[0].move = CellMove::kSwap;
      config.stages[0].max_sweeps = 3;
      config.stages[2] = config.stages[1];
      config.stages[1].move = CellMove::kUpdate;
      config.stages[2].max_sweeps = 2;
      for (const int stages : {1, 3}) {
        config.stage_count = stages;
        const auto frames = noise_frames(size, PixelFormat::kGray8, 2, 23);
        auto cpu = Rig<CellularNetwork>::make(config, 2, BackendChoice::kCpu);
        auto cuda = Rig<CellularNetwork>::make(config, 2, BackendChoice::kCuda);
        const auto expected = halftones(cpu.op, size, frames, 2, 1);
        const auto got = halftones(cuda.op, size, frames, 8, 1);
        for (std::size_t f = 0; f < got.size(); ++f)
          ASSERT_TRUE(got[f] == expected[f % 2]) << stages << " stages, frame " << f;
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::test
