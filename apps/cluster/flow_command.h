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

/// Adds the subcommand. `exit_code` is that of this rank.
void add_cluster_flow_command(CLI::App& program, MPI_Comm communicator, int& exit_code);

}  // namespace ocellus::app
