// The CUDA kernels of the cortical network, run on the host: winners and all that is learned equal
// the network on the CPU. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cortical_network/network_patterns.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "cortical_network/network_arithmetic.h"
#include "kernels/cortical_network/network_parts.h"
#include "ocellus/cortical_network.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

using cuda::NetworkArguments;
using cuda::NetworkPart;

/// A network whose kernels run on the host.
class HostNetwork {
 public:
  explicit HostNetwork(const CorticalNetworkConfig& config) {
    must(detail::make_network_plan(config, plan));
    detail::LayoutBuilder sizes(nullptr, kAlignment);
    arguments.layout(plan, sizes);
    memory_.resize(sizes.bytes() + kAlignment);
    void* at = memory_.data();
    std::size_t space = memory_.size();
    detail::LayoutBuilder places(std::align(kAlignment, sizes.bytes(), at, space), kAlignment);
    arguments.layout(plan, places);
    arguments.describe(plan);
    simt::launch(cuda::kNetworkStartKernel, static_cast<unsigned>(arguments.hypercolumns), 1,
                 cuda::kNetworkThreads, arguments);
  }

  void begin_step(const std::vector<std::uint8_t>& image, bool learn) {
    std::copy(image.begin(), image.end(), arguments.image);
    *arguments.step = {steps_, learn ? 1 : 0};
    if (learn) ++steps_;
  }
  /// Returns the number of launches.
  int run(const NetworkPart& part) {
    int launches = 0;
    must(cuda::for_each_kernel(
        arguments, part,
        [&](auto kernel, unsigned blocks, int threads, const auto& argument) -> Expected<void> {
          simt::launch(kernel, blocks, 1, static_cast<unsigned>(threads), argument);
          ++launches;
          return {};
        }));
    return launches;
  }

  detail::NetworkPlan plan;
  NetworkArguments arguments{};

 private:
  static constexpr std::size_t kAlignment = 256;

  std::vector<std::uint8_t> memory_;
  std::uint64_t steps_ = 0;
};

void expect_winners(const HostNetwork& network, const CorticalNetwork& expected) {
  for (int l = 0; l < expected.levels(); ++l) {
    const auto winners = expected.winners(l);
    const std::int32_t* const got =
        network.arguments.winners + network.plan.hierarchy.level(l).first;
    for (std::size_t h = 0; h < winners.size(); ++h)
      ASSERT_EQ(got[h], winners[h]) << "level " << l << " hypercolumn " << h;
  }
}

/// Weights, and what they imply.
void expect_state(const HostNetwork& network, const CorticalNetwork& expected) {
  const NetworkArguments& a = network.arguments;
  const detail::NetworkPlan& plan = network.plan;
  const int full = detail::largest_unchanged(plan.potentiation);
  const int empty = detail::largest_unchanged(plan.depression);
  for (int l = 0; l < expected.levels(); ++l) {
    const detail::LevelPlan& level = plan.hierarchy.level(l);
    const bool has_patterns = l == 0 && cuda::fits_subtrees(a.levels[0]);
    for (int h = 0; h < plan.hierarchy.level(l).hypercolumns; ++h) {
      const std::uint32_t* const strong = a.strong + plan.hierarchy.strong_of(l, h);
      for (int m = 0; m < level.minicolumns; ++m) {
        SCOPED_TRACE("level " + std::to_string(l) + " hypercolumn " + std::to_string(h) +
                     " minicolumn " + std::to_string(m));
        const std::size_t at = plan.hierarchy.weights_of(l, h, m);
        detail::Minicolumn implied;
        implied.settled = true;
        for (int i = 0; i < level.inputs; ++i) {
          const int weight = expected.weight(l, h, i, m);
          ASSERT_EQ(a.weights[at + static_cast<std::size_t>(i)], weight) << "input " << i;
          const bool is_strong = weight >= detail::kStrongWeight;
          ASSERT_EQ(strong[i * level.words + m / 32] >> (m % 32) & 1u, is_strong ? 1u : 0u)
              << "input " << i;
          if (has_patterns) {
            ASSERT_EQ(a.patterns[at / 8 + static_cast<std::size_t>(i / 8)] >> (i % 8) & 1,
                      is_strong ? 1 : 0)
                << "input " << i;
          }
          implied.omega += detail::counted(weight);
          implied.strong_sum += is_strong ? weight : 0;
          implied.strong = static_cast<std::uint16_t>(implied.strong + (is_strong ? 1 : 0));
          implied.settled &= is_strong ? kCorticalWeightOne - weight <= full : weight <= empty;
        }
        const std::size_t place = plan.hierarchy.minicolumns_of(l, h) + static_cast<std::size_t>(m);
        const detail::Minicolumn& got = a.minicolumns[place];
        ASSERT_EQ(got.omega, implied.omega);
        ASSERT_EQ(got.strong_sum, implied.strong_sum);
        ASSERT_EQ(got.strong, implied.strong);
        // Before its first win, a minicolumn counts as not settled.
        if (implied.strong > 0) {
          ASSERT_EQ(got.settled, implied.settled);
        }
        ASSERT_EQ(got.stable, a.wins[place] == plan.stable_wins);
      }
    }
  }
}

/// Steps with both networks; every seventh step does not learn.
template <typename Run>
void compare_steps(const CorticalNetworkConfig& config, int steps, double noise, const Run& run) {
  HostNetwork network(config);
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  Patterns patterns(
      4, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), noise,
      3);
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto image = patterns.next();
    const bool learn = step % 7 != 6;
    network.begin_step(image, learn);
    run(network);
    expected.step(image.data(), config.width, learn);
    expect_winners(network, expected);
    if (testing::Test::HasFatalFailure()) return;
  }
  expect_state(network, expected);
}

/// The whole network in `launches` launches.
void compare_whole(const CorticalNetworkConfig& config, int steps, double noise, int launches) {
  compare_steps(config, steps, noise, [&](HostNetwork& network) {
    EXPECT_EQ(network.run(whole(network.arguments)), launches);
  });
}

// Fails when a subtree is computed before one below it, when a winner, a weight, a strong bit or a
// sum of a minicolumn differs, or when a tree takes more than one launch.
TEST(NetworkKernels, TreesEqualCpu) {
  compare_whole(binary_tree(128, 32), 6, 0.0, 1);
  compare_whole(binary_tree(4, 128), 30, 0.01, 1);
  compare_whole(binary_tree(1, 64), 30, 0.01, 1);
}

// As above for windows of two to five hypercolumns, and hypercolumns that no window reads.
TEST(NetworkKernels, IrregularTreesEqualCpu) {
  CorticalNetworkConfig config;
  config.width = 3 * 83;
  config.height = 1;
  config.level_count = 5;
  config.levels[0] = {3, 1, 3, 1, 40};
  config.levels[1] = {2, 1, 2, 1, 33};
  config.levels[2] = {3, 1, 3, 1, 32};
  config.levels[3] = {2, 1, 2, 1, 50};
  config.levels[4] = {5, 1, 4, 1, 32};
  compare_whole(config, 20, 0.0, 2);
}

// As above for windows that overlap, contrast cells, padded minicolumns and many random firings.
TEST(NetworkKernels, OverlappingTilesEqualCpu) {
  compare_whole(overlapping_tiles(), 20, 0.02, 3);
}

// As above for levels with too many inputs for subtrees, of which one block computes all.
TEST(NetworkKernels, LargeHypercolumnsEqualCpu) {
  CorticalNetworkConfig config;
  config.width = 40;
  config.height = 23;
  config.level_count = 2;
  config.levels[0] = {20, 20, 10, 3, 300};
  config.levels[1] = {3, 2, 1, 1, 130};
  config.learning.random_firing = 0.2f;
  compare_whole(config, 8, 0.0, 1);
}

// Fails when a part computes another hypercolumn than its own, or misses one.
TEST(NetworkKernels, PartsEqualCpu) {
  constexpr int kRootLevel = 3;
  const CorticalNetworkConfig config = binary_tree(128, 32);
  compare_steps(config, 5, 0.0, [&](HostNetwork& network) {
    const NetworkArguments& a = network.arguments;
    const int leaves = a.levels[0].hypercolumns;
    constexpr int kOfRoot = 1 << kRootLevel;
    for (const auto& [begin, end] :
         {std::pair{5 * kOfRoot, leaves}, std::pair{0, kOfRoot}, std::pair{kOfRoot, 5 * kOfRoot}})
      network.run({0, kRootLevel + 1, begin, end});
    network.run({kRootLevel + 1, a.level_count, 0, a.levels[kRootLevel + 1].hypercolumns});
  });
}

}  // namespace
}  // namespace ocellus::test
