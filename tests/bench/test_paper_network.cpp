// The paper's serial program against the network of the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "bench/papers/cortical_network/paper_network.h"
#include "ocellus/cortical_network.h"

namespace ocellus {
namespace {

CorticalNetworkConfig contrast_tiles() {
  CorticalNetworkConfig config;
  config.width = 15;
  config.height = 11;
  config.lgn = LgnTransform::kContrast;
  config.lgn_threshold = 30;
  config.level_count = 2;
  config.levels[0] = {5, 5, 2, 3, 40};
  config.levels[1] = {3, 2, 1, 1, 9};
  config.learning.initial_weight = 0.15f;
  config.seed = 77;
  return config;
}

// Fails if the program that `ocellus bench cortex` compares with does other work than the library:
// another equation, other random numbers, another update.
TEST(PaperNetwork, EqualsTheLibrary) {
  for (const CorticalNetworkConfig& config : {binary_tree(8, 36), contrast_tiles()}) {
    auto network = CorticalNetwork::create(config);
    auto dense = paper::DenseCorticalNetwork::create(config);
    ASSERT_TRUE(network);
    ASSERT_TRUE(dense);
    std::mt19937 random(5);
    std::vector<std::vector<std::uint8_t>> images(4);
    for (auto& image : images) {
      image.resize(static_cast<std::size_t>(config.width) *
                   static_cast<std::size_t>(config.height));
      for (auto& p : image) p = random() % 3 == 0 ? 220 : 30;
    }
    int winners = 0;
    for (int step = 0; step < 200; ++step) {
      // Fails also if threads share the inputs of a hypercolumn, or begin a level too early.
      if (step == 100) {
        ASSERT_TRUE(dense->set_threads(3));
      }
      auto image = images[random() % images.size()];
      image[random() % image.size()] ^= 0xff;
      network->step(image.data(), config.width, true);
      dense->step(image.data());
      for (int l = 0; l < config.level_count; ++l) {
        const auto expected = network->winners(l);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), dense->winners(l).begin()))
            << "step " << step << " level " << l;
        winners += static_cast<int>(
            std::count_if(expected.begin(), expected.end(), [](int w) { return w != kSilent; }));
      }
    }
    EXPECT_GT(winners, 500);
    for (int l = 0; l < config.level_count; ++l)
      for (int m = 0; m < network->minicolumns(l); ++m)
        for (int i = 0; i < network->inputs(l); ++i)
          ASSERT_EQ(dense->weight(l, 1 - l / (config.level_count - 1), i, m),
                    static_cast<float>(network->weight(l, 1 - l / (config.level_count - 1), i, m) /
                                       32768.0));
  }
}

}  // namespace
}  // namespace ocellus
