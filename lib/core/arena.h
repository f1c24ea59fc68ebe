// Arena: one block of memory, given out in pieces that come back.
#pragma once

#include <cstddef>

#include "core/piece_map.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Host memory, mapped and touched at creation. Not synchronized: the engine's mutex guards it.
class HostArena : private PieceMap {
 public:
  using PieceMap::kMaxPieces;

  HostArena() noexcept = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Maps `bytes` (0 is allowed), asks for huge pages, and touches every page, so that no frame
  /// faults.
  Expected<void> create(std::size_t bytes, bool lock) noexcept;

  /// nullptr when there is no room for it in one piece or kMaxPieces are out. `bytes` 0 gives
  /// nullptr.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* piece) noexcept;

  using PieceMap::capacity;
  using PieceMap::largest_gap;
  using PieceMap::no_room;
  using PieceMap::peak;
  using PieceMap::pieces;
  using PieceMap::used;

 private:
  char* block_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace ocellus::detail
