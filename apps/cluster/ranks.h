// What all ranks of the program do together.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"

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

/// The CPUs that this rank may use, and those that any rank of its host may use.
struct HostCpus {
  cpu_set_t mine;
  cpu_set_t all;
};
/// Collective.
HostCpus host_cpus(MPI_Comm communicator);

/// Returns when all ranks have called it. The ranks that wait sleep, and leave the CPUs to others.
void meet(MPI_Comm communicator);

/// Runs `prepare` on all ranks. Returns whether it succeeded on all of them. On the root, the error
/// of the first rank that has one is thrown, after the other ranks have been told.
bool prepared_by_all(MPI_Comm communicator, const std::function<void()>& prepare);
/// Runs `prepare` on the root.
inline bool prepared_by_root(MPI_Comm communicator, const std::function<void()>& prepare) {
  return prepared_by_all(communicator, [&] {
    if (rank_of(communicator) == 0) prepare();
  });
}

/// The engine's configuration of this rank. Collective. Without --threads, the ranks of a host
/// share its CPUs. With --backend cuda, the ranks of a host take its devices in turn.
EngineConfig rank_engine(MPI_Comm communicator, const CommonOptions& options);

/// While such an object exists, this rank ends three seconds after the first signal that asks it to
/// stop, and at once on the second. When a rank has died, mpirun sends SIGTERM to the others, and
/// SIGKILL as soon as one of them ends: the root needs the time between to close its files.
class EndsAfterRoot {
 public:
  EndsAfterRoot();
  ~EndsAfterRoot();
  EndsAfterRoot(const EndsAfterRoot&) = delete;
  EndsAfterRoot& operator=(const EndsAfterRoot&) = delete;

 private:
  StopsEarly stops_early_;
  std::atomic<bool> over_{false};
  std::thread watch_;
};

/// Number of ranks on this rank's host. Collective.
int ranks_on_host(MPI_Comm communicator);

}  // namespace ocellus::app
