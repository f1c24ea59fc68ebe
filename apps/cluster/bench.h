// ocellus-cluster flow --bench: frames per second against the number of ranks.
#pragma once

#include <mpi.h>

#include <vector>

#include "apps/cluster/flow_command.h"

namespace ocellus::app {

/// The frames of a source, beginning with `first`, up to --limit or 30.
std::vector<InputFrame> read_clip(FrameInput& input, InputFrame first);

/// Collective. `clip` is read on the root only. Returns the exit code of this rank.
int run_cluster_bench(const ClusterFlowCommand& command, MPI_Comm communicator,
                      const EngineConfig& engine, const std::vector<InputFrame>& clip,
                      const FlowClusterConfig& config);

}  // namespace ocellus::app
