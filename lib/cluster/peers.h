// The neighbors with which halos travel between the devices, without MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "cluster/region_flow.h"

namespace ocellus::cluster {

struct Peers {
  std::vector<bool> ranks;  ///< whether a rank is a peer
  int count = 0;
  std::uint64_t border_bytes = 0;  ///< that all peers copy of a frame
};

/// Finds the peers and opens their memory in `flow`. Collective. Errors: Unsupported (the halo
/// transfer is kPeer, and the halo of a neighbor cannot be copied so; the text says why).
Expected<Peers> connect_peers(RegionFlow& flow, HaloTransfer transfer, MPI_Comm communicator);

}  // namespace ocellus::cluster
