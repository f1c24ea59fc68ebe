// What all ranks of the program do together.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "apps/common/common.h"

namespace ocellus::app {

inline int rank_of(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
inline int ranks_of(MPI_Comm communicator) {
  int ranks = 1;
  MPI_Comm_size(communicator, &ranks);
  return ranks;
}

/// Returns when all ranks have called it. The ranks that wait sleep, and leave the CPUs to others.
void meet(MPI_Comm communicator);

/// Runs `prepare` on the root. Returns whether it succeeded, on all ranks. On the root, an
/// exception passes on after the other ranks have been told.
bool prepared_by_root(MPI_Comm communicator, const std::function<void()>& prepare);

/// The engine's configuration of this rank. Collective. Without --threads, the ranks of a host
/// share its CPUs. With --backend cuda, the ranks of a host take its devices in turn.
EngineConfig rank_engine(MPI_Comm communicator, const CommonOptions& options);

/// Number of ranks on this rank's host. Collective.
int ranks_on_host(MPI_Comm communicator);

}  // namespace ocellus::app
