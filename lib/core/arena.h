// HostArena: one block of host memory, given out in pieces that can be returned.
#pragma once

#include <cstddef>

#include "core/piece_map.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Host memory that is mapped and touched at creation. Not synchronized: the engine's mutex
/// protects it.
class HostArena : private PieceMap {
 public:
  using PieceMap::kMaxPieces;

  HostArena() noexcept = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Maps `bytes` (may be 0), requests huge pages, and touches every page, so that frames cause no
  /// page faults.
  Expected<void> create(std::size_t bytes, bool lock) noexcept;

  /// Returns nullptr if no free region is large enough, if kMaxPieces are in use, or if `bytes` is
  /// 0.
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
