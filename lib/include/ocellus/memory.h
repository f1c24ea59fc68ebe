// Footprint and MemoryUse: the memory that an operator needs and the memory that an engine has
// given out, in bytes.
#pragma once

#include <cstddef>

namespace ocellus {

/// Alignment in bytes of every piece of an engine's memory and of every array in it.
inline constexpr std::size_t kMemoryAlignment = 64;

/// Bytes of each kind of memory. The footprints of several operators and buffers add up. An engine
/// created with their sum has room for all of them at once, however often and in whatever order
/// they are destroyed and created again.
///
/// An object with another footprint takes memory that is left over. Afterwards the block may be
/// fragmented. Creation then may fail (OutOfMemory, and the text says so) although enough bytes are
/// free in total. When no objects remain on the engine, the block is whole again.
struct Footprint {
  std::size_t host = 0;    ///< ordinary memory
  std::size_t pinned = 0;  ///< page-locked host memory
  std::size_t device = 0;  ///< memory of the CUDA device

  constexpr Footprint& operator+=(const Footprint& other) {
    host += other.host;
    pinned += other.pinned;
    device += other.device;
    return *this;
  }
  friend constexpr Footprint operator+(Footprint a, const Footprint& b) { return a += b; }
  friend constexpr bool operator==(const Footprint&, const Footprint&) = default;
};

/// Use of an engine's memory blocks.
struct MemoryUse {
  Footprint capacity{};  ///< sizes of the blocks
  Footprint used{};      ///< bytes in pieces that operators and buffers hold now
  Footprint peak{};      ///< largest value of `used` so far
  int pieces = 0;        ///< number of pieces of host and device memory in use
};

}  // namespace ocellus
