// The program `ocellus-cluster` under MPI: its command line, errors and end.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "apps/cluster/flow_command.h"
#include "apps/cluster/ranks.h"
#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/program.h"

namespace ocellus::app {

/// The root prints before MPI_Finalize: afterwards, mpirun ends it as soon as another rank has
/// ended with an error. MPI_Finalize waits for the other ranks, and after a signal some may not
/// answer.
int run_cluster_program(int argc, char** argv, ClusterBench bench,
                        void (*add_model)(CLI::App& program, int& exit_code)) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const bool root = rank_of(MPI_COMM_WORLD) == 0;
  int code = kBadInput;
  try {
    if (provided < MPI_THREAD_FUNNELED)
      throw InputError("this MPI does not allow threads (MPI_THREAD_FUNNELED)");
    CLI::App program{"Optical flow on the processes of an MPI job", "ocellus-cluster"};
    set_up_program(program);
    program.footer(
        "Start it with mpirun or srun, such as\n"
        "  mpirun -n 4 ocellus-cluster flow walk.mp4 -o motion.webm\n"
        "Alone, it is a cluster of one rank. FRAMES is what `ocellus --help` describes; only rank "
        "0\n"
        "reads and writes.\n"
        "\n"
        "Exit codes: 0 success; 2 wrong usage, bad input, or a rank that failed; 130 after "
        "Ctrl-C;\n"
        "143 after SIGTERM, which mpirun sends when a rank ends early. Rank 0 then finishes a "
        "video\n"
        "with the fields so far.");
    int exit_code = kDone;
    add_cluster_flow_command(program, MPI_COMM_WORLD, exit_code, bench);
    add_model(program, exit_code);
    code = parse_program(program, argc, argv, exit_code, root);
  } catch (const std::exception& error) {
    // Errors of the command line are those of all ranks.
    if (root) tell_error("ocellus-cluster", error);
  }
  std::fflush(stdout);
  if (stop_signal() == 0) MPI_Finalize();
  return code;
}

}  // namespace ocellus::app
