// Small images of strokes in four directions, for tests that train.
#pragma once

#include <cstdint>
#include <random>

#include "ocellus/labeled_images.h"

namespace ocellus::test {

/// Images of 16x16 pixels: horizontal, vertical and the two diagonal strokes, moved by up to two
/// pixels, with some noise.
inline LabeledImages labeled_strokes(int count, unsigned seed) {
  std::mt19937 random(seed);
  LabeledImages images;
  images.width = 16;
  images.height = 16;
  for (int i = 0; i < count; ++i) {
    const int label = i % 4;
    const int dx = static_cast<int>(random() % 5) - 2;
    const int dy = static_cast<int>(random() % 5) - 2;
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 16; ++x) {
        const int u = x - 8 + dx;
        const int v = y - 8 + dy;
        const int off = label == 0 ? v : label == 1 ? u : label == 2 ? u - v : u + v;
        const bool on = std::abs(off) <= 1 && std::abs(u) < 7 && std::abs(v) < 7;
        const bool noise = random() % 50 == 0;
        images.ink.push_back(on != noise ? 255 : 0);
      }
    }
    images.labels.push_back(static_cast<std::uint16_t>(label));
  }
  return images;
}

}  // namespace ocellus::test
