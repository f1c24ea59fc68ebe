// Images from which a cortical network learns, and configurations of networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ocellus/cortical_network.h"

namespace ocellus::test {

/// Images that repeat, with a share of changed pixels, so that minicolumns learn.
class Patterns {
 public:
  Patterns(int count, std::size_t pixels, double noise, unsigned seed)
      : random_(seed), noise_(noise) {
    for (int i = 0; i < count; ++i) {
      std::vector<std::uint8_t> image(pixels);
      for (auto& p : image) p = static_cast<std::uint8_t>(random_() % 3 == 0 ? 220 : 30);
      images.push_back(image);
    }
  }

  std::vector<std::uint8_t> next() {
    std::vector<std::uint8_t> image = images[random_() % images.size()];
    for (auto& p : image)
      if (std::uniform_real_distribution<>(0.0, 1.0)(random_) < noise_)
        p = static_cast<std::uint8_t>(random_() % 256);
    return image;
  }

  std::vector<std::vector<std::uint8_t>> images;

 private:
  std::mt19937 random_;
  double noise_;
};

/// Windows that overlap, and numbers of minicolumns that are not multiples of 32.
inline CorticalNetworkConfig overlapping_tiles() {
  CorticalNetworkConfig config;
  config.width = 17;
  config.height = 14;
  config.lgn = LgnTransform::kContrast;
  config.lgn_threshold = 20;
  config.level_count = 3;
  config.levels[0] = {6, 5, 3, 3, 37};  // 4 x 4
  config.levels[1] = {2, 3, 1, 1, 2};   // 3 x 2
  config.levels[2] = {3, 2, 1, 1, 70};
  config.learning.random_firing = 0.3f;
  config.learning.threshold = 0.6f;
  config.seed = 0x123456789abcdefULL;
  return config;
}

}  // namespace ocellus::test
