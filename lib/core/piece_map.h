// PieceMap: records which parts of a memory block are in use. It never accesses the memory itself,
// which may be device memory.
#pragma once

#include <cstddef>
#include <optional>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = kMemoryAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A piece that is given back leaves a free region that is reserved for the next piece of the same
/// size. Pieces of given sizes that fit into the block together therefore always find room, in
/// whatever order they are given back and taken again. The reason is that the number of regions of
/// a size never exceeds the largest number of pieces of this size in use at once. Neighboring free
/// regions are joined only if a piece fits nowhere else. The block may then become fragmented.
///
/// Not synchronized: the owner's mutex protects it.
class PieceMap {
 public:
  static constexpr int kMaxPieces = 256;

  /// Starts with an empty block of `capacity` bytes. Sizes of pieces are rounded up to multiples of
  /// `alignment`.
  void begin(std::size_t capacity, std::size_t alignment = kMemoryAlignment) noexcept;

  /// Returns the offset of a piece. Returns nothing if no free region is large enough, if
  /// kMaxPieces are in use, or if `bytes` is 0.
  std::optional<std::size_t> take(std::size_t bytes) noexcept;
  void give_back(std::size_t offset) noexcept;

  /// Returns the error for a call of `take` that has just returned nothing. `kind` names the kind
  /// of memory.
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
  /// Consecutive free regions. `bytes` includes the unused space after the last region.
  struct Gap {
    int first;
    int count;
    std::size_t offset;
    std::size_t bytes;
  };
  // Room for kMaxPieces taken regions, the joined free regions between them, and as many regions
  // that are not joined yet.
  static constexpr int kMaxRegions = 4 * kMaxPieces;

  std::size_t end_of_regions() const noexcept;
  /// The gap that begins with region `first`, or after the last region.
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
  Region regions_[kMaxRegions];  // in ascending order of offset, contiguous; the last one is taken
};

}  // namespace ocellus::detail
