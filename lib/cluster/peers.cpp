// The neighbors with which halos travel between the devices.
#include "cluster/cluster_state.h"
#include "core/failure.h"

namespace ocellus {

using cluster::RegionPlaces;

Expected<void> FlowCluster::State::connect_peers() {
  const bool on_device = flow->engine().backend == BackendKind::kCuda;
  const bool must = on_device && config.halo_transfer == HaloTransfer::kPeer;
  const bool wants = must || (on_device && config.halo_transfer == HaloTransfer::kAuto);
  struct Offer {
    detail::SharedPiece derivatives;
    int host = 0;  // the lowest rank on it
    bool made = false;
  };
  Offer mine;
  MPI_Comm on_host = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on_host);
  mine.host = rank;
  MPI_Bcast(&mine.host, 1, MPI_INT, 0, on_host);
  MPI_Comm_free(&on_host);
  Expected<detail::SharedPiece> offered = detail::SharedPiece{};
  if (wants) {
    offered = flow->share_derivatives();
    mine.made = offered.has_value();
    if (offered) mine.derivatives = *offered;
  }
  std::vector<Offer> offers(static_cast<std::size_t>(ranks));
  MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, offers.data(), sizeof(mine), MPI_BYTE, communicator);
  const auto why_not = [&](const RegionPlaces::Neighbor& neighbor) -> Expected<void> {
    const Offer& offer = offers[static_cast<std::size_t>(neighbor.rank)];
    const auto refused = [](const char* why) {
      return tl::unexpected(make_error(Status::kUnsupported, "%s", why));
    };
    if (!offered) return tl::unexpected(offered.error());
    if (offer.host != mine.host) return refused("it is on another host");
    if (!offer.made)
      return refused(
          "it has no CUDA device, shares no device memory, or has another halo_transfer");
    return flow->add_peer(neighbor, offer.derivatives);
  };
  Error refusal;  // status kOk: none
  const auto refuse = [&](int peer, const char* why) {
    refusal = make_error(Status::kUnsupported,
                         "halo_transfer is kPeer, but the halo of rank %d cannot be copied between "
                         "the devices: %s; use kAuto, kDirect or kStaged",
                         peer, why);
  };
  // Each of two must be able to read the other one's memory.
  std::vector<char> can(static_cast<std::size_t>(ranks)), they_can(static_cast<std::size_t>(ranks));
  for (const RegionPlaces::Neighbor& neighbor : flow->places().neighbors) {
    if (!wants) break;
    const Expected<void> opened = why_not(neighbor);
    can[static_cast<std::size_t>(neighbor.rank)] = opened ? 1 : 0;
    if (!opened) refuse(neighbor.rank, opened.error().text);
  }
  MPI_Alltoall(can.data(), 1, MPI_CHAR, they_can.data(), 1, MPI_CHAR, communicator);
  for (const RegionPlaces::Neighbor& neighbor : flow->places().neighbors) {
    const auto r = static_cast<std::size_t>(neighbor.rank);
    if (can[r] == 0) continue;
    if (they_can[r] == 0) {
      flow->remove_peer(neighbor.rank);
      refuse(neighbor.rank, "it cannot open this rank's device memory");
      continue;
    }
    ++report.peers;
    // Three planes of floats.
    peer_bytes += std::uint64_t{12} * static_cast<std::uint64_t>(neighbor.border.width) *
                  static_cast<std::uint64_t>(neighbor.border.height);
  }
  shared = report.peers > 0;
  if (must && refusal.status != Status::kOk) return tl::unexpected(refusal);
  return {};
}

}  // namespace ocellus
