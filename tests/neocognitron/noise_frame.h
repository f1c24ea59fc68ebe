// A frame of smooth noise, in which there is no digit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ocellus::test {

/// A file in PGM of 320x240 pixels: white noise, averaged over 9x9 pixels.
inline std::string noise_frame(std::uint32_t seed) {
  constexpr int kWidth = 320;
  constexpr int kHeight = 240;
  constexpr int kRadius = 4;
  std::mt19937 random(seed);
  std::vector<float> noise(kWidth * kHeight);
  for (float& level : noise) level = static_cast<float>(random() % 1000) - 500.0f;
  std::string pgm = "P5\n320 240\n255\n";
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      float sum = 0;
      for (int v = std::max(y - kRadius, 0); v <= std::min(y + kRadius, kHeight - 1); ++v)
        for (int u = std::max(x - kRadius, 0); u <= std::min(x + kRadius, kWidth - 1); ++u)
          sum += noise[static_cast<std::size_t>(v * kWidth + u)];
      const float level = std::clamp(128.0f + 2.0f * sum / 81.0f, 0.0f, 255.0f);
      pgm += static_cast<char>(static_cast<std::uint8_t>(level));
    }
  }
  return pgm;
}

}  // namespace ocellus::test
