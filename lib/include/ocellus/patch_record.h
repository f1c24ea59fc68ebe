// Patches of a frame, and the answers to them: shared by the operators that classify patches.
#pragma once

#include <array>
#include <cstdint>

namespace ocellus {

inline constexpr int kMaxPatches = 256;  ///< of a frame

/// What is classified.
enum class PatchLayout : std::uint8_t {
  kFrame,  ///< the whole frame is one patch
  kTiles,  ///< the frame is a grid of patches
};

/// The answers to the patches of a frame, in their order. A patch of another size than the model's
/// is stretched to it by area averages.
struct PatchRecord {
  std::int32_t count = 0;  ///< patches, 0 to kMaxPatches; 0: the frame is bad
  bool truncated = false;  ///< the frame has more whole tiles
  std::array<std::int32_t, kMaxPatches> label{};  ///< class of the model; -1: none
  std::array<float, kMaxPatches> confidence{};    ///< 0 to 1
};

}  // namespace ocellus
