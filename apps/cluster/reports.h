// Reports of the ranks of a cluster: a table, JSON, and a trace of the pipeline.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "ocellus/flow_cluster.h"

namespace ocellus::app {

/// Share of the time of transfers in which a rank computed something else: 1 if the rank never
/// waited for halos or results, and 0 if it waited all the time. 1 without transfers.
double overlap_of(const ClusterRankReport& report);

/// Sums and means over all ranks.
struct ClusterTotals {
  double overlap = 1.0;  ///< mean of the ranks
  std::uint64_t frame_bytes = 0;
  std::uint64_t halo_bytes = 0;
  std::uint64_t result_bytes = 0;
};
ClusterTotals totals_of(std::span<const ClusterRankReport> reports);

void print_ranks(std::span<const ClusterRankReport> reports);
nlohmann::ordered_json ranks_json(std::span<const ClusterRankReport> reports);

/// Writes the events in the trace format of Chrome, which Perfetto reads: a process for each rank,
/// and a thread for each stage. Throws InputError.
void write_trace(const std::string& path, std::span<const ClusterEvent> events,
                 std::span<const ClusterRankReport> reports);

}  // namespace ocellus::app
