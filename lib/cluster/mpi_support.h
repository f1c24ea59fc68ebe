// What this MPI can do.
#pragma once

namespace ocellus::cluster {

/// Whether MPI sends from device memory and receives to it. Asks the MPI that runs.
bool mpi_takes_device_memory() noexcept;

}  // namespace ocellus::cluster
