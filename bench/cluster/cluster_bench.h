// What `ocellus-cluster` leaves to the program `ocellus-cluster-bench`.
#pragma once

#include "apps/cluster/flow_command.h"

namespace ocellus::app {

/// The ClusterBench of the program.
int run_cluster_bench(const ClusterFlowCommand& command, MPI_Comm communicator,
                      const EngineConfig& engine, const FlowClusterConfig& config,
                      FrameInput* input, const InputFrame* first);
void add_cluster_model_command(CLI::App& program, int& exit_code);

/// Of NVLink 4, in one direction.
inline constexpr double kNvLinkBytesPerSecond = 450e9;

/// A connection of each rank to the others, in both directions at once.
struct ClusterLink {
  std::string name;
  double bytes_per_second = 0.0;
  double latency_seconds = 0.0;  ///< of a message
  /// Share of the transfers that take no time of the ranks' computation: 1 where a network card
  /// copies, 0 where the computing CPUs copy, as through shared memory.
  double overlap = 1.0;
  /// Of halos that devices copy from each other, which takes no time of the CPUs; 0: as other
  /// transfers.
  double halo_bytes_per_second = 0.0;
  /// That all ranks read together, as those of one host do; 0: as much as they need.
  double memory_bytes_per_second = 0.0;
};

struct ClusterPrediction {
  int ranks = 1;
  int columns = 1;
  int rows = 1;
  // Seconds of a frame. Transfers: on the link of the busiest rank.
  double compute = 0.0;
  double memory = 0.0;  ///< in which the memory gives what all ranks read: taps, past sums, pixels
  double scatter = 0.0;
  double halo = 0.0;
  double gather = 0.0;
  double rate = 0.0;        ///< frames per second
  const char* limit = "";   ///< the stage that limits the rate
  double halo_bytes = 0.0;  ///< of all ranks
};

/// Predicts the rate from bytes, latencies and arithmetic of the stages. `pixels_per_second` is the
/// speed of one rank. Without columns and rows in the configuration, the regions are as square as
/// the number of ranks allows.
ClusterPrediction predict_cluster(const FlowClusterConfig& config, int ranks,
                                  double pixels_per_second, const ClusterLink& link);

}  // namespace ocellus::app
