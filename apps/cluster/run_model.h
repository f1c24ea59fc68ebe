// A model of the frame rate of a cluster: bytes, latencies and arithmetic of the stages.
#pragma once

#include <string>
#include <vector>

#include "ocellus/flow_cluster.h"

namespace ocellus::app {

/// A connection of each rank to the others, in both directions at once.
struct ClusterLink {
  std::string name;
  double bytes_per_second = 0.0;
  double latency_seconds = 0.0;  ///< of a message
  /// Share of the transfers that take no time of the ranks' computation: 1 where a network card
  /// copies, 0 where the computing CPUs copy, as through shared memory.
  double overlap = 1.0;
};

/// "10GbE", "100GbE", "NVLink", or "BYTES_PER_SECOND,LATENCY_SECONDS" such as "1.25e9,2e-5". Throws
/// InputError.
ClusterLink parse_link(const std::string& text);

struct ClusterPrediction {
  int ranks = 1;
  int columns = 1;
  int rows = 1;
  // Seconds of a frame. Transfers: on the link of the busiest rank.
  double compute = 0.0;
  double scatter = 0.0;
  double halo = 0.0;
  double gather = 0.0;
  double rate = 0.0;           ///< frames per second
  const char* limit = "";      ///< the stage that limits the rate
  double halo_bytes = 0.0;     ///< of all ranks
  double scatter_bytes = 0.0;  ///< that the root sends
  double gather_bytes = 0.0;   ///< that the root receives
};

/// Predicts the rate. `pixels_per_second` is the speed of one rank. Without columns and rows in the
/// configuration, the regions are as square as the number of ranks allows.
ClusterPrediction predict_cluster(const FlowClusterConfig& config, int ranks,
                                  double pixels_per_second, const ClusterLink& link);

/// The divisors of `ranks` for which regions of this image have the least halo.
void choose_grid(ImageSize image, int ranks, int& columns, int& rows);

}  // namespace ocellus::app
