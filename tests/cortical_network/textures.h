// Small images for tests of cortical networks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
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

/// The command that teaches a network such images and tells the textures apart, also with noise.
inline std::vector<std::string> train_network_command(const std::string& images,
                                                      const std::string& labels,
                                                      const std::string& out) {
  std::vector<std::string> words = {"train", "network"};
  for (const auto& [option, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"--images", images},
           {"--labels", labels},
           {"--test-images", images},
           {"--test-labels", labels},
           {"--levels", "4x4/4x4:32,2x2/1x1:32"},
           {"--passes", "20"},
           {"--noise", "0.05"},
           {"--feedback-rounds", "3"},
           {"--feedback-tolerance", "8"},
           {"--ink", "light"},
           {"-o", out}}) {
    words.emplace_back(option);
    words.push_back(value);
  }
  return words;
}

}  // namespace ocellus::test
