// PieceMap: which parts of a block are given out. It never looks at the memory itself, which may be
// a device's.
#pragma once

#include <cstddef>
#include <optional>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = kMemoryAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A piece that comes back leaves a region that stays reserved for the next piece of its size. So
/// for pieces of given sizes that fit into the block together, there is always room, however often
/// they are given back and taken again in whatever order: no more regions of a size are ever cut
/// than pieces of it are out at once. Only when a piece fits nowhere else are neighboring free
/// regions joined, and the block may become fragmented.
///
/// Not synchronized: the owner's mutex guards it.
class PieceMap {
 public:
  static constexpr int kMaxPieces = 256;

  /// Begins anew with a block of `capacity` bytes; pieces are multiples of `alignment`.
  void begin(std::size_t capacity, std::size_t alignment = kMemoryAlignment) noexcept;

  /// Offset of a piece; nothing when there is no room for it in one piece, kMaxPieces are out, or
  /// `bytes` is 0.
  std::optional<std::size_t> take(std::size_t bytes) noexcept;
  void give_back(std::size_t offset) noexcept;

  /// Why `take` has just given nothing. `kind` names the block's memory.
  Error no_room(const char* kind, std::size_t bytes) const noexcept;

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t used() const noexcept { return used_; }
  std::size_t peak() const noexcept { return peak_; }
  int pieces() const noexcept { return pieces_; }
  std::size_t largest_gap() const noexcept;

 private:
  struct Region {
    std::size_t offset;
    std::size_t bytes;
    bool taken;
  };
  /// Regions one behind the other that are free; bytes include what lies uncut behind the last.
  struct Gap {
    int first;
    int count;
    std::size_t offset;
    std::size_t bytes;
  };
  // Free regions between kMaxPieces taken ones, joined, and as many not joined yet.
  static constexpr int kMaxRegions = 4 * kMaxPieces;

  std::size_t end_of_regions() const noexcept;
  /// The gap that begins with region `first`, or behind the last one.
  Gap gap_at(int first) const noexcept;
  void insert(int at, Region region) noexcept;
  void remove(int first, int count) noexcept;
  void join_free_regions() noexcept;

  std::size_t capacity_ = 0;
  std::size_t alignment_ = kMemoryAlignment;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  int pieces_ = 0;
  int count_ = 0;
  Region regions_[kMaxRegions];  // in ascending order of offset, without gaps, the last one taken
};

}  // namespace ocellus::detail
