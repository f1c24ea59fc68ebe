// The reports of the ranks and their traces.
#include <limits>

#include "cluster/cluster_state.h"

namespace ocellus {

using namespace cluster;

std::int64_t FlowCluster::State::root_clock_ahead() {
  constexpr int kTag = 48;
  constexpr int kRounds = 8;
  std::int64_t ahead = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int peer = 1; peer < ranks; ++peer) {
    for (int round = 0; round < kRounds; ++round) {
      std::int64_t there = 0;
      if (is_root()) {
        MPI_Recv(&there, 1, MPI_INT64_T, peer, kTag, communicator, MPI_STATUS_IGNORE);
        there = now_ns();
        MPI_Send(&there, 1, MPI_INT64_T, peer, kTag, communicator);
      } else if (peer == rank) {
        const std::int64_t sent = now_ns();
        MPI_Send(&sent, 1, MPI_INT64_T, 0, kTag, communicator);
        MPI_Recv(&there, 1, MPI_INT64_T, 0, kTag, communicator, MPI_STATUS_IGNORE);
        const std::int64_t trip = now_ns() - sent;
        if (trip < shortest) ahead = there - (sent + trip / 2);
        shortest = std::min(shortest, trip);
      }
    }
  }
  return ahead;
}

Expected<void> FlowCluster::State::collect() {
  std::int64_t root_began_ns = began_ns;
  MPI_Bcast(&root_began_ns, 1, MPI_INT64_T, 0, communicator);
  if (config.trace_events > 0) {
    const std::int64_t shift = root_clock_ahead() - root_began_ns;
    for (ClusterEvent& event : events) {
      event.begin_ns += shift;
      event.end_ns += shift;
    }
  }
  std::vector<int> counts(static_cast<std::size_t>(ranks)), places(static_cast<std::size_t>(ranks));
  const int count = static_cast<int>(events.size());
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, communicator);
  if (is_root()) {
    int total = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      places[r] = total;
      total += counts[r];
    }
    reports.resize(static_cast<std::size_t>(ranks));
    all_events.resize(static_cast<std::size_t>(total));
  }
  // Events and not bytes are counted: the bytes of many ranks exceed an int.
  MPI_Datatype event = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(sizeof(ClusterEvent), MPI_BYTE, &event);
  MPI_Type_commit(&event);
  MPI_Gatherv(events.data(), count, event, all_events.data(), counts.data(), places.data(), event,
              0, communicator);
  MPI_Type_free(&event);
  MPI_Gather(&report, sizeof(report), MPI_BYTE, reports.data(), sizeof(report), MPI_BYTE, 0,
             communicator);
  disconnect();
  finished = true;
  return {};
}

}  // namespace ocellus
