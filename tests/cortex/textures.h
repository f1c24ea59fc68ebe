// Small images for tests of cortical networks.
#pragma once

#include <cstdint>
#include <vector>

namespace ocellus::test {

/// 8x8 images of three textures.
inline std::vector<std::uint8_t> textures(int count) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < count; ++i) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const int phase = i % 3 == 0 ? x : i % 3 == 1 ? y + 3 : x + y + 2;
        pixels.push_back(phase % 4 == 0 ? 255 : 0);
      }
    }
  }
  return pixels;
}

}  // namespace ocellus::test
