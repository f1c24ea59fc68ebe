// The messages of a frame in flight.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "cluster/region_flow.h"
#include "cluster/regions.h"
#include "cluster/transfers.h"
#include "ocellus/flow_cluster.h"

namespace ocellus::cluster {

/// What the messages of a rank depend on. `regions`, `slabs` and `peers` have an element per rank.
struct ClusterPlan {
  const FlowClusterConfig& config;
  const RegionFlow& flow;
  std::span<const Rect> regions;
  std::span<const Rect> slabs;
  const std::vector<bool>& peers;
  const TreeNode& node;
  int rank = 0;
  MPI_Comm communicator = MPI_COMM_NULL;
  // Only with ClusterTransfer::kCollective.
  MPI_Comm frame_communicator = MPI_COMM_NULL;
  MPI_Comm result_communicator = MPI_COMM_NULL;

  int ranks() const { return static_cast<int>(regions.size()); }
  bool collective() const { return config.transfer == ClusterTransfer::kCollective; }
};

struct FrameMessages {
  Messages frame_in;
  Messages frame_out;
  Messages halo_in;
  Messages halo_out;
  // With peers: this rank has copied their halos, and they this rank's border.
  Messages copied_out;
  Messages copied_in;
  Messages result_in;
  Messages result_out;

  /// Called once. The header travels with the pixels. It and the planes of `plan.flow` must not
  /// move afterwards.
  void make(const ClusterPlan& plan, int slot, std::span<std::byte> header);

 private:
  void make_frames(const ClusterPlan& plan, int slot, std::span<std::byte> header);
  void make_halos(const ClusterPlan& plan, int slot);
  void make_results(const ClusterPlan& plan, int slot);
  void make_collectives(const ClusterPlan& plan, int slot, std::span<std::byte> header);
};

}  // namespace ocellus::cluster
