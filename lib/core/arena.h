// Arena: one block of memory, given out in pieces that come back.
#pragma once

#include <cstddef>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = kMemoryAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Host memory, mapped and touched at creation. Not synchronised: the engine's mutex guards it.
class HostArena {
 public:
  static constexpr int kMaxPieces = 256;

  HostArena() noexcept = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Maps `bytes` (0 is allowed), asks for huge pages, and touches every page, so that no frame
  /// faults.
  Expected<void> create(std::size_t bytes, bool lock) noexcept;

  /// First fit; nullptr when no gap is large enough or kMaxPieces are out. `bytes` 0 gives nullptr.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* piece) noexcept;

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

  char* block_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t mapped_ = 0;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  int count_ = 0;
  Piece taken_[kMaxPieces];  // in ascending order of offset
};

/// Lays arrays out one after the other in a piece: first with no memory to find the size, then over
/// the piece.
class Carver {
 public:
  explicit Carver(void* base = nullptr) noexcept : base_(static_cast<char*>(base)) {}

  /// The next array, aligned to kMemoryAlignment; nullptr while sizes are counted.
  template <typename T>
  T* take(std::size_t count) noexcept {
    const std::size_t at = bytes_;
    bytes_ += align_up(count * sizeof(T));
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  char* base_;
  std::size_t bytes_ = 0;
};

}  // namespace ocellus::detail
