// PlacedPlan: which pieces of a cortical network lie on which device.
#pragma once

#include <array>
#include <memory>

#include "core/failure.h"
#include "cortical_network/network_piece.h"
#include "ocellus/cortical_placement.h"

namespace ocellus::detail {

struct PlacedPart {
  int device = 0;
  bool on_cpu = false;
  Subtrees trees;
  /// One piece; or, if it is streamed, what stays in the memory of the device, then the turns.
  std::unique_ptr<NetworkPiece[]> pieces;
  int piece_count = 0;

  bool streams() const noexcept { return piece_count > 1; }
  const NetworkPiece& piece(int number) const noexcept {
    return pieces[static_cast<std::size_t>(number)];
  }
  /// Buffer of a turn, a piece from 1 on.
  static int buffer_of(int piece) noexcept { return (piece - 1) % 2; }
  /// Bytes of each of the two buffers.
  std::size_t buffer_bytes() const noexcept;
};

/// Plain data but for the pieces.
struct PlacedPlan {
  static constexpr int kMostParts = kMaxPlacementDevices + 2;
  static constexpr int kNone = -1;

  NetworkPlan network;
  int split_levels = 0;
  int cpu_level = 0;
  int device_count = 0;
  std::array<PlacedPart, kMostParts> parts;
  int part_count = 0;
  int merge_part = kNone;  ///< levels where parts meet
  int top_part = kNone;    ///< levels of the CPU alone

  const Hierarchy& hierarchy() const noexcept { return network.hierarchy; }
  const PlacedPart& part(int number) const noexcept {
    return parts[static_cast<std::size_t>(number)];
  }
  /// The part of the split levels on a device, or kNone.
  int split_part(int device) const noexcept;
  bool is_split(int part) const noexcept { return part != merge_part && part != top_part; }
  bool uses(int device) const noexcept;

  struct Where {
    int part = kNone;
    int piece = 0;
    PieceRun run;  ///< from the hypercolumn on
  };
  Where find(int level, int hypercolumn) const noexcept;
};

/// Errors: those of PlacedCorticalNetwork::create for network and placement.
Expected<std::unique_ptr<PlacedPlan>> make_placed_plan(const CorticalNetworkConfig& config,
                                                       const CorticalPlacement& placement) noexcept;

}  // namespace ocellus::detail
