// PieceMap: which parts of a block are given out. It never looks at the memory itself, which may be
// a device's.
#pragma once

#include <cstddef>
#include <optional>

#include "ocellus/memory.h"

namespace ocellus::detail {

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = kMemoryAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Not synchronised: the owner's mutex guards it.
class PieceMap {
 public:
  static constexpr int kMaxPieces = 256;

  /// Begins anew with a block of `capacity` bytes; pieces are multiples of `alignment`.
  void begin(std::size_t capacity, std::size_t alignment = kMemoryAlignment) noexcept;

  /// Offset of a piece, first fit; nothing when no gap is large enough, kMaxPieces are out, or
  /// `bytes` is 0.
  std::optional<std::size_t> take(std::size_t bytes) noexcept;
  void give_back(std::size_t offset) noexcept;

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t used() const noexcept { return used_; }
  std::size_t peak() const noexcept { return peak_; }
  int pieces() const noexcept { return count_; }
  std::size_t largest_gap() const noexcept;

 private:
  struct Piece {
    std::size_t offset;
    std::size_t bytes;
  };

  std::size_t capacity_ = 0;
  std::size_t alignment_ = kMemoryAlignment;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  int count_ = 0;
  Piece taken_[kMaxPieces];  // in ascending order of offset
};

}  // namespace ocellus::detail
