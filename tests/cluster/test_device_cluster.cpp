// Ranks with CUDA devices, under mpirun. Every rank runs every test; the root compares with the
// equations in double precision. The ranks of a host share its first device.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/device_cluster.h"
#include "cluster/regions.h"

namespace ocellus::test {
namespace {

class DeviceCluster : public OnDevice {};

BackendChoice backend_of(bool cuda) {
  return cuda ? BackendChoice::kCuda : BackendChoice::kCpu;
}

// Fails when a border, a halo or a slab on a device is wrong, or a copy does not wait for a kernel.
TEST_F(DeviceCluster, EveryGrid) {
  const int ranks = ranks_of_world();
  for (int columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns != 0) continue;
    SCOPED_TRACE(std::to_string(columns) + " columns");
    FlowClusterConfig config = device_cluster_config({47, 41});
    config.columns = columns;
    config.rows = ranks / columns;
    config.halo_transfer = HaloTransfer::kStaged;
    for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCuda)) {
      EXPECT_EQ(report.backend, BackendKind::kCuda);
      EXPECT_EQ(report.halo_memory, MemorySpace::kPinned);
    }
  }
}

// Fails when a halo is not copied from the memory of the neighbor's process, or when a rank
// overwrites derivatives that are still read.
TEST_F(DeviceCluster, Peers) {
  const int ranks = ranks_of_world();
  for (int columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns != 0) continue;
    SCOPED_TRACE(std::to_string(columns) + " columns");
    FlowClusterConfig config = device_cluster_config({147, 141});
    config.columns = columns;
    config.rows = ranks / columns;
    config.halo_transfer = HaloTransfer::kPeer;
    for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCuda, 30))
      EXPECT_EQ(report.peers > 0, ranks > 1);
  }
}

// Fails when the halos of ranks on the CPU and on a device do not fit together, in both orders.
TEST_F(DeviceCluster, MixedRanks) {
  for (const int odd : {0, 1}) {
    FlowClusterConfig config = device_cluster_config({40, 45});
    const auto is_cuda = [odd](int rank) { return rank % 2 == odd; };
    const auto reports = expect_fields(config, backend_of(is_cuda(rank_of_world())));
    for (std::size_t r = 0; r < reports.size(); ++r) {
      const bool cuda = is_cuda(static_cast<int>(r));
      EXPECT_EQ(reports[r].backend, cuda ? BackendKind::kCuda : BackendKind::kCpu);
      if (!cuda) {
        EXPECT_EQ(reports[r].halo_memory, MemorySpace::kHost);
      }
    }
  }
}

// Fails when regions thinner than the window exchange too little.
TEST_F(DeviceCluster, ThinRegions) {
  FlowClusterConfig config = device_cluster_config({30, 3 * ranks_of_world()});
  config.flow.window = 15;
  config.columns = 1;
  config.rows = ranks_of_world();
  expect_fields(config, BackendChoice::kCuda, 5);
}

// Fails when frames in flight are mixed up, in a tree, with frames of 16 bits.
TEST_F(DeviceCluster, FramesInFlight) {
  for (const int in_flight : {1, 3, kMaxClusterFrames}) {
    FlowClusterConfig config = device_cluster_config({33, 36});
    config.flow.format = PixelFormat::kGray16;
    config.frames_in_flight = in_flight;
    config.fan_out = 1;
    expect_fields(config, BackendChoice::kCuda, 12);
  }
}

// Fails when the regions of ranks on the CPU and on a device do not follow their measured speeds.
TEST_F(DeviceCluster, RegionsFollowTheSpeeds) {
  FlowClusterConfig config = device_cluster_config({48, 64});
  config.measure_speed = true;
  const auto reports = expect_fields(config, backend_of(rank_of_world() % 2 == 1));
  if (reports.size() < 2) return;
  std::vector<double> speeds;
  for (const ClusterRankReport& report : reports) {
    EXPECT_GT(report.speed, 0.0);
    speeds.push_back(report.speed);
  }
  const auto regions =
      cluster::cut_regions(config.flow.size, 1, static_cast<int>(reports.size()), speeds);
  for (std::size_t r = 0; r < reports.size(); ++r) EXPECT_EQ(reports[r].region, regions[r]);
}

// Fails when the kernels of a region on a device are not those of the image.
TEST_F(DeviceCluster, PerPixelKernels) {
  for (const KernelOrigin origin : {KernelOrigin::kGaussian, KernelOrigin::kFoveated}) {
    FlowClusterConfig config = device_cluster_config({47, 41});
    config.flow.kernels.form = KernelForm::kPerPixel;
    config.flow.kernels.origin = origin;
    config.flow.kernels.fovea_radius = 15.0f;
    expect_fields(config, BackendChoice::kCuda);
  }
}

}  // namespace
}  // namespace ocellus::test
