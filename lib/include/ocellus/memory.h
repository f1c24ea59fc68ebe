// Footprint and MemoryUse: what an operator needs and what an engine has given away, in bytes.
#pragma once

#include <cstddef>

namespace ocellus {

/// Alignment of every piece and of every array in it.
inline constexpr std::size_t kMemoryAlignment = 64;

/// Bytes of each kind of memory. The footprints of several operators and buffers add up: an engine
/// made with the sum has room for all of these at once, however often and in whatever order they
/// are destroyed and created again. What has another footprint takes what is left. After it, the
/// block may be fragmented, so that creation fails (OutOfMemory, and the text says so) though
/// enough bytes are free in all; when nothing lives on the engine any more, it is whole again.
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

/// The state of an engine's blocks.
struct MemoryUse {
  Footprint capacity;  ///< size of the blocks
  Footprint used;      ///< in pieces that operators hold now
  Footprint peak;      ///< the most that was ever held
  int pieces = 0;      ///< operators that hold memory
};

}  // namespace ocellus
