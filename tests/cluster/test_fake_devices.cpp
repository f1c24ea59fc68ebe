// What a cluster does with devices and MPI that are not there: over the fake driver, whose kernels
// run on the host, and with an MPI that claims to take device memory. Under mpirun.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "cluster/device_cluster.h"
#include "cluster/mpi_support.h"
#include "kernels/core/cuda_calls.h"
#include "kernels/fake_driver.h"

namespace ocellus {
namespace {

bool mpi_is_cuda_aware = false;

}  // namespace

namespace cluster {

// In place of the library's. Device memory of the fake driver is memory that any MPI can read.
bool mpi_takes_device_memory() noexcept {
  return mpi_is_cuda_aware;
}

}  // namespace cluster

namespace test {
namespace {

class FakeDevices : public testing::Test {
 protected:
  void TearDown() override {
    mpi_is_cuda_aware = false;
    EXPECT_EQ(fake_driver().freed_while_open, 0);
    fake_driver().freed_while_open = 0;
  }
};

/// Other processes can open the device memory that this rank allocates.
class SharesMemory {
 public:
  explicit SharesMemory(bool shares = true) { fake_driver().shares_memory = shares; }
  ~SharesMemory() { fake_driver().shares_memory = false; }
};

/// This rank is late when it closes the device memory of others.
class ClosesLate {
 public:
  ClosesLate() {
    fake_driver().on_call = [](const std::string& name) {
      if (name == "cudaIpcCloseMemHandle")
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    };
  }
  ~ClosesLate() { fake_driver().on_call = nullptr; }
};

/// Device 0 is the current one of this thread.
class CurrentDevice {
 public:
  CurrentDevice() {
    CUcontext context = nullptr;
    EXPECT_EQ(cuda::kCudaCalls.retain_primary_context.function(&context, 0), cudaSuccess);
    EXPECT_EQ(cuda::kCudaCalls.push_context.function(context), cudaSuccess);
  }
  ~CurrentDevice() {
    EXPECT_EQ(cuda::kCudaCalls.pop_context.function(), cudaSuccess);
    EXPECT_EQ(cuda::kCudaCalls.release_primary_context.function(0), cudaSuccess);
  }
};

/// Collective. The transfer must be refused with this text, and kAuto must stage the halo.
void expect_refused(HaloTransfer transfer, const char* text) {
  FlowClusterConfig config = device_cluster_config({24, 30});
  config.halo_transfer = transfer;
  {
    const auto cluster =
        FlowCluster::create(MPI_COMM_WORLD, engine_config(1, BackendChoice::kCuda), config);
    ASSERT_FALSE(cluster);
    EXPECT_EQ(cluster.error().status, Status::kUnsupported);
    EXPECT_NE(std::strstr(cluster.error().text, text), nullptr) << cluster.error().text;
  }
  config.halo_transfer = HaloTransfer::kAuto;
  for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCuda, 5))
    EXPECT_EQ(report.halo_memory, MemorySpace::kPinned);
}

/// The copies of rows that this rank made.
std::ptrdiff_t row_copies() {
  const auto& names = fake_driver().names;
  return std::count(names.begin(), names.end(), "cudaMemcpy2DAsync");
}

// Fails when MPI is not given the device's own planes, when the halo is still copied, or when the
// field differs.
TEST_F(FakeDevices, DirectTransfers) {
  FlowClusterConfig config = device_cluster_config({40, 45});
  config.halo_transfer = HaloTransfer::kStaged;
  const std::ptrdiff_t begin = row_copies();
  expect_fields(config, BackendChoice::kCuda);
  const std::ptrdiff_t staged = row_copies() - begin;
  mpi_is_cuda_aware = true;
  for (const HaloTransfer transfer : {HaloTransfer::kDirect, HaloTransfer::kAuto}) {
    const CurrentDevice current;
    config.halo_transfer = transfer;
    const std::ptrdiff_t before = row_copies();
    for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCuda))
      EXPECT_EQ(report.halo_memory, MemorySpace::kCuda);
    const std::ptrdiff_t direct = row_copies() - before;
    if (ranks_of_world() > 1) {
      // The border and the halo of three planes to at least one neighbor.
      EXPECT_GE(staged - direct, 7 * 2 * 3);
    }
  }
}

// Fails when kAuto sends device memory by an MPI that does not take it, or from a thread for which
// MPI would not find the device, or when kDirect is not refused there.
TEST_F(FakeDevices, DirectTransfersAreRefused) {
  const auto refused = [](const char* text) { expect_refused(HaloTransfer::kDirect, text); };
  {
    const CurrentDevice current;
    refused("MPI is not CUDA-aware (MPIX_Query_cuda_support)");
  }
  mpi_is_cuda_aware = true;
  refused("call cudaSetDevice(0)");
}

// Fails when the choice matters to ranks without a device.
TEST_F(FakeDevices, DirectHasNoEffectOnTheCpu) {
  FlowClusterConfig config = device_cluster_config({24, 30});
  config.halo_transfer = HaloTransfer::kDirect;
  for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCpu, 5))
    EXPECT_EQ(report.halo_memory, MemorySpace::kHost);
}

// Fails when a halo is not copied from the memory of the neighbor's process, when MPI or
// page-locked memory carry it too, or when a rank overwrites derivatives that are still read.
TEST_F(FakeDevices, Peers) {
  const SharesMemory shares;
  const int ranks = ranks_of_world();
  for (const HaloTransfer transfer : {HaloTransfer::kPeer, HaloTransfer::kAuto}) {
    for (int columns = 1; columns <= ranks; ++columns) {
      if (ranks % columns != 0) continue;
      FlowClusterConfig config = device_cluster_config({47, 41});
      config.columns = columns;
      config.rows = ranks / columns;
      config.frames_in_flight = columns == 1 ? 1 : 3;
      config.halo_transfer = transfer;
      SCOPED_TRACE(std::to_string(columns) + " columns");
      const long before = fake_driver().copies_between_devices;
      const auto reports = expect_fields(config, BackendChoice::kCuda, 12);
      const long copies = fake_driver().copies_between_devices - before;
      // Three planes of each frame from each neighbor.
      EXPECT_EQ(copies % (12 * 3), 0);
      if (ranks > 1) {
        EXPECT_GE(copies, 12 * 3);
      }
      for (std::size_t r = 0; r < reports.size(); ++r) {
        if (columns == 1) {
          EXPECT_EQ(reports[r].peers, (r > 0 ? 1 : 0) + (r + 1 < reports.size() ? 1 : 0));
          // The window has a radius of 4.
          EXPECT_EQ(reports[r].halo_bytes,
                    12u * static_cast<unsigned>(reports[r].peers) * 47 * 4 * 12);
        }
        EXPECT_EQ(reports[r].peers > 0, ranks > 1);
      }
    }
  }
}

// Fails when ranks that cannot open each other's memory do not agree on another way, or when kPeer
// is not refused there.
TEST_F(FakeDevices, PeersThatCannotShare) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "one rank has no neighbor";
  const auto refused = [](const char* text) { expect_refused(HaloTransfer::kPeer, text); };
  refused("cudaIpcGetMemHandle failed");
  {
    // Every other rank does not share.
    const SharesMemory shares(rank_of_world() % 2 == 1);
    refused("cannot be copied between the devices");
  }
  {
    // Rank 0 cannot open what others share.
    const SharesMemory shares;
    fake_driver().peers = rank_of_world() != 0;
    refused("cudaIpcOpenMemHandle failed");
    fake_driver().peers = true;
  }
}

// Fails when a rank frees its device memory after a creation that failed, or after `finish`, while
// another rank has it open, or when it keeps the memory although nobody has.
TEST_F(FakeDevices, NobodyFreesWhatOthersHaveOpen) {
  const SharesMemory shares;
  const std::size_t blocks = fake_driver().device_blocks.size();
  FlowClusterConfig config = device_cluster_config({24, 30});
  {
    std::optional<ClosesLate> late;
    if (rank_of_world() == 1) late.emplace();
    config.halo_transfer = HaloTransfer::kPeer;
    // Rank 0 cannot open what others share. Ranks 1 and 2 can.
    fake_driver().peers = rank_of_world() != 0;
    const auto cluster =
        FlowCluster::create(MPI_COMM_WORLD, engine_config(1, BackendChoice::kCuda), config);
    EXPECT_EQ(cluster.has_value(), ranks_of_world() == 1);
    fake_driver().peers = true;
  }
  EXPECT_EQ(fake_driver().freed_while_open, 0);
  EXPECT_EQ(fake_driver().device_blocks.size(), blocks);
  {
    std::optional<ClosesLate> late;
    if (rank_of_world() == 1) late.emplace();
    for (const ClusterRankReport& report : expect_fields(config, BackendChoice::kCuda, 5))
      EXPECT_EQ(report.peers > 0, ranks_of_world() > 1);
  }
  EXPECT_EQ(fake_driver().freed_while_open, 0);
  EXPECT_EQ(fake_driver().device_blocks.size(), blocks);
}

// Fails when a cluster that is destroyed without `finish` frees device memory that another rank has
// open.
TEST_F(FakeDevices, UnfinishedClusterKeepsWhatOthersHaveOpen) {
  const std::size_t blocks = fake_driver().device_blocks.size();
  {
    const SharesMemory shares;
    auto cluster = FlowCluster::create(MPI_COMM_WORLD, engine_config(1, BackendChoice::kCuda),
                                       device_cluster_config({24, 30}));
    ASSERT_TRUE(cluster) << cluster.error().text;
  }
  EXPECT_EQ(fake_driver().device_blocks.size() > blocks, ranks_of_world() > 1);
  EXPECT_EQ(fake_driver().freed_while_open, 0);
  // The process goes on with a driver that has none of this memory.
  MPI_Barrier(MPI_COMM_WORLD);
  const bool lazy = fake_driver().lazy;
  const int multiprocessors = fake_driver().multiprocessors;
  const int resident_blocks = fake_driver().resident_blocks;
  const auto kernel = fake_driver().kernel;
  reset_fake_driver();
  fake_driver().lazy = lazy;
  fake_driver().multiprocessors = multiprocessors;
  fake_driver().resident_blocks = resident_blocks;
  fake_driver().kernel = kernel;
}

// Fails when a rank with a device and one without it do not understand each other.
TEST_F(FakeDevices, PeersAmongOthers) {
  const SharesMemory shares;
  FlowClusterConfig config = device_cluster_config({47, 41});
  const auto is_cuda = [](int rank) { return rank != 1; };
  const auto reports =
      expect_fields(config, is_cuda(rank_of_world()) ? BackendChoice::kCuda : BackendChoice::kCpu);
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const int rank = static_cast<int>(r);
    const bool above = rank > 0 && is_cuda(rank - 1);
    const bool below = r + 1 < reports.size() && is_cuda(rank + 1);
    EXPECT_EQ(reports[r].peers, is_cuda(rank) ? above + below : 0) << "rank " << rank;
  }
}

// Fails when a rank with direct transfers and one with staged transfers do not understand each
// other.
TEST_F(FakeDevices, MixedTransfers) {
  mpi_is_cuda_aware = true;
  const CurrentDevice current;
  FlowClusterConfig config = device_cluster_config({40, 45});
  config.halo_transfer = rank_of_world() % 2 == 0 ? HaloTransfer::kDirect : HaloTransfer::kStaged;
  expect_fields(config, BackendChoice::kCuda);
}

}  // namespace
}  // namespace test
}  // namespace ocellus
