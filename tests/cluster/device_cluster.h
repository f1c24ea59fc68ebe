// Sends frames through a cluster whose ranks have CUDA devices, for tests under mpirun.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/flow_cluster.h"

namespace ocellus::test {

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int ranks_of_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

inline FlowClusterConfig device_cluster_config(ImageSize size) {
  FlowClusterConfig config;
  config.flow = OpticalFlowConfig::with_kernels(size);
  config.flow.kernels.nx = 7;
  config.flow.kernels.ny = 6;
  config.flow.kernels.nt = 4;
  config.flow.window = 9;
  config.confidence = true;
  config.measure_speed = false;
  return config;
}

inline PlaneF plane_of(const ImageView& view) {
  PlaneF plane(view.size.width, view.size.height);
  for (int y = 0; y < view.size.height; ++y)
    std::copy_n(view.row<const float>(y), view.size.width, &plane.at(0, y));
  return plane;
}

/// Collective. Compares the fields of the cluster with the equations in double precision, and
/// returns the reports on the root.
inline std::vector<ClusterRankReport> expect_fields(const FlowClusterConfig& config,
                                                    BackendChoice backend, int count = 7) {
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, engine_config(1, backend), config);
  if (!cluster) {
    ADD_FAILURE() << cluster.error().text;
    return {};
  }
  if (cluster->rank() != 0) {
    const Expected<void> served = cluster->serve();
    EXPECT_TRUE(served) << served.error().text;
    return {};
  }
  const std::vector<FrameBuffer> frames =
      noise_frames(config.flow.size, config.flow.format, count, 7);
  Results results;
  std::vector<std::size_t> which;
  std::size_t sent = 0;
  for (std::size_t n = 0; n < frames.size(); ++n) {
    for (; sent < frames.size() && sent - n < static_cast<std::size_t>(config.frames_in_flight);
         ++sent)
      must(cluster->submit(frames[sent].frame(sent)));
    const ClusterField field = must(cluster->wait(Deadline::never()));
    results.planes.push_back(
        {plane_of(field.planes.u), plane_of(field.planes.v), plane_of(field.planes.confidence)});
    which.push_back(n);
    cluster->release();
  }
  must(cluster->finish());
  EXPECT_GT(expect_flow_matches(config.flow, frames, results, which), 0.3)
      << "too few pixels were compared";
  const auto reports = cluster->reports();
  EXPECT_EQ(reports.size(), static_cast<std::size_t>(cluster->ranks()));
  return {reports.begin(), reports.end()};
}

}  // namespace ocellus::test
