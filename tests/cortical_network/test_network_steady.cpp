// A million learning steps of a cortical network: no allocation, no drift of the step time, and a
// state that is still what its weights say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ocellus/cortical_network.h"
#include "realtime/interpose.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

constexpr int kSteps = 1'000'000;
constexpr int kBlock = 10'000;
constexpr int kSavedAt = 990'000;
constexpr int kImages = 64;

using Image = std::vector<std::uint8_t>;

/// A few patterns, some with a pixel that differs.
std::vector<Image> noisy_images(int pixels) {
  std::mt19937 random(4);
  std::array<Image, 5> patterns;
  for (Image& pattern : patterns)
    for (int i = 0; i < pixels; ++i) pattern.push_back(random() % 3 == 0 ? 230 : 20);
  std::vector<Image> images;
  for (int i = 0; i < kImages; ++i) {
    Image image = patterns[static_cast<std::size_t>(i) % patterns.size()];
    if (i % 3 == 0) image[random() % image.size()] ^= 0xff;
    images.push_back(image);
  }
  return images;
}

/// g of a minicolumn from its weights alone.
std::int64_t response(const CorticalNetwork& network, int level, int hypercolumn, int m,
                      const std::vector<int>& active) {
  if (active.empty()) return 0;
  std::int64_t omega = 0;
  for (int i = 0; i < network.inputs(level); ++i) {
    const int weight = network.weight(level, hypercolumn, i, m);
    if (weight * 5 > kCorticalWeightOne) omega += weight;
  }
  std::int64_t strong = 0;
  std::int64_t weak = 0;
  for (const int i : active) {
    const int weight = network.weight(level, hypercolumn, i, m);
    (2 * weight >= kCorticalWeightOne ? strong : weak) +=
        2 * weight >= kCorticalWeightOne ? weight : 1;
  }
  const auto threshold = static_cast<std::int64_t>(
      static_cast<double>(network.config().learning.threshold) * kCorticalWeightOne + 0.5);
  return strong * kCorticalWeightOne - omega * (2 * weak * kCorticalWeightOne + threshold);
}

/// Active inputs of a hypercolumn of a binary tree.
std::vector<int> active_inputs(const CorticalNetwork& network, int level, int hypercolumn,
                               const Image& image) {
  std::vector<int> active;
  const int minicolumns = network.minicolumns(level);
  if (level == 0) {
    for (int i = 0; i < minicolumns; ++i) {
      const int pixel = image[static_cast<std::size_t>(hypercolumn * minicolumns + i)];
      active.push_back(2 * i + (pixel >= network.config().lgn_threshold ? 0 : 1));
    }
    return active;
  }
  for (int child = 0; child < 2; ++child) {
    const int winner =
        network.winners(level - 1)[static_cast<std::size_t>(2 * hypercolumn + child)];
    if (winner != kSilent) active.push_back(child * minicolumns + winner);
  }
  return active;
}

// Fails if a step or a save takes memory, if a step becomes slower with the number of steps, if the
// kept sums and bits no longer agree with the weights, or if a save loses a step.
// Promises: MEM-007.
TEST(CorticalNetworkSteadyState, MillionSteps) {
  const CorticalNetworkConfig config = binary_tree(4, 32);
  const std::vector<Image> images = noisy_images(config.width);
  auto network = CorticalNetwork::create(config);
  ASSERT_TRUE(network);
  const TemporaryFolder folder;
  const std::string path = folder / "network.ocellus";
  std::mt19937 random(6);
  std::vector<std::uint8_t> order(kSteps);
  for (auto& number : order) number = static_cast<std::uint8_t>(random() % kImages);
  // Another pixel of each image is inverted, so that the network never stops to learn.
  std::vector<std::uint8_t> inverted(kSteps);
  for (auto& pixel : inverted) pixel = static_cast<std::uint8_t>(random() % images[0].size());
  Image shown(images[0].size());
  std::array<double, kSteps / kBlock> seconds{};
  bool saved = false;
  const auto step = [&](CorticalNetwork& of, int number) {
    const auto n = static_cast<std::size_t>(number);
    std::copy(images[order[n]].begin(), images[order[n]].end(), shown.begin());
    shown[inverted[n]] ^= 0xff;
    of.step(shown.data(), config.width, true);
  };

  if (interposer_present()) arm_interposer();
  for (int block = 0; block < kSteps / kBlock; ++block) {
    if (block * kBlock == kSavedAt) saved = network->save_file(path.c_str()).has_value();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < kBlock; ++i) step(*network, block * kBlock + i);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    seconds[static_cast<std::size_t>(block)] = passed.count();
  }
  if (interposer_present()) {
    const AllocationCounts counts = disarm_interposer();
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.frees, 0u);
  }
  EXPECT_EQ(network->steps(), static_cast<std::uint64_t>(kSteps));
  ASSERT_TRUE(saved);

  // The fastest block of each third, because other programs can make all blocks of a second slower.
  constexpr int kThird = kSteps / kBlock / 3;
  const double early = *std::min_element(seconds.begin() + 10, seconds.begin() + kThird);
  const double late = *std::min_element(seconds.end() - kThird, seconds.end());
  EXPECT_LT(late, 1.3 * early);
  RecordProperty("early_step_ns", std::to_string(early / kBlock * 1e9));
  RecordProperty("late_step_ns", std::to_string(late / kBlock * 1e9));

  auto loaded = CorticalNetwork::load_file(path.c_str());
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(loaded->steps(), static_cast<std::uint64_t>(kSavedAt));
  for (int i = kSavedAt; i < kSteps; ++i) step(*loaded, i);
  int responding = 0;
  for (const Image& image : images) {
    network->step(image.data(), config.width, false);
    loaded->step(image.data(), config.width, false);
    for (int l = 0; l < network->levels(); ++l) {
      for (int h = 0; h < network->grid(l).width; ++h) {
        const std::vector<int> active = active_inputs(*network, l, h, image);
        std::array<std::int64_t, 32> g{};
        network->responses(l, h, g);
        int winner = kSilent;
        std::int64_t most = 0;
        for (int m = 0; m < network->minicolumns(l); ++m) {
          const std::int64_t expected = response(*network, l, h, m, active);
          ASSERT_EQ(g[static_cast<std::size_t>(m)], expected) << l << " " << h << " " << m;
          if (expected > most) {
            most = expected;
            winner = m;
          }
        }
        ASSERT_EQ(network->winners(l)[static_cast<std::size_t>(h)], winner);
        ASSERT_EQ(loaded->winners(l)[static_cast<std::size_t>(h)], winner);
        responding += winner != kSilent;
      }
    }
  }
  EXPECT_GT(responding, kImages);
  for (int l = 0; l < network->levels(); ++l)
    for (int h = 0; h < network->grid(l).width; ++h)
      for (int i = 0; i < network->inputs(l); ++i)
        for (int m = 0; m < network->minicolumns(l); ++m)
          ASSERT_EQ(network->weight(l, h, i, m), loaded->weight(l, h, i, m));
}

}  // namespace
}  // namespace ocellus::test
