// ocellus-cluster flow: optical flow on all ranks.
#pragma once

#include <mpi.h>

#include <string>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_output.h"
#include "apps/optical_flow/flow_output.h"
#include "ocellus/flow_cluster.h"

namespace ocellus::app {

struct ClusterFlowCommand {
  CommonOptions common;
  OperatorOptions flow{"flow"};
  FrameOptions frames;
  FlowDrawOptions draw;
  std::string grid;  ///< "COLUMNSxROWS", empty: chosen
  int fan_out = 0;
  int frames_in_flight = 4;
  bool no_split = false;
  bool collective = false;
  bool equal_regions = false;
  std::string halo = "auto";
  bool ranks_report = false;
  std::string trace;
  bool bench = false;
  int bench_frames = 60;
  int bench_rounds = 5;
  bool bench_resident = false;
  std::string plot;
};

/// What --bench does. Collective. `input` and its first frame are given on the root. Returns the
/// exit code of this rank.
using ClusterBench = int (*)(const ClusterFlowCommand& command, MPI_Comm communicator,
                             const EngineConfig& engine, const FlowClusterConfig& config,
                             FrameInput* input, const InputFrame* first);

/// Adds the subcommand. `exit_code` is that of this rank.
void add_cluster_flow_command(CLI::App& program, MPI_Comm communicator, int& exit_code,
                              ClusterBench bench);

inline constexpr const char* kClusterModelSummary =
    "Predict the frame rate of optical flow on a cluster, without running it";

/// Runs `ocellus-cluster` under MPI and returns the exit code of main. `bench`: as above.
/// `add_model`: adds the subcommand `model`.
int run_cluster_program(int argc, char** argv, ClusterBench bench,
                        void (*add_model)(CLI::App& program, int& exit_code));

}  // namespace ocellus::app
