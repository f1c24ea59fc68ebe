// The cortical network against the equations in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/philox.h"
#include "cortical_network/network_patterns.h"
#include "cortical_network/network_reference.h"
#include "ocellus/cortical_network.h"

namespace ocellus {
namespace {

using test::overlapping_tiles;
using test::Patterns;
using test::ReferenceNetwork;

std::vector<std::int64_t> responses_of(const CorticalNetwork& network, int level, int hypercolumn) {
  std::vector<std::int64_t> responses(static_cast<std::size_t>(network.minicolumns(level)));
  network.responses(level, hypercolumn, responses);
  return responses;
}

void compare(const CorticalNetwork& network, const ReferenceNetwork& reference) {
  for (int l = 0; l < network.levels(); ++l) {
    const auto& level = reference.levels[static_cast<std::size_t>(l)];
    ASSERT_EQ(network.winners(l).size(), level.hypercolumns.size());
    for (std::size_t h = 0; h < level.hypercolumns.size(); ++h) {
      const auto& expected = level.hypercolumns[h];
      ASSERT_EQ(network.winners(l)[h], expected.winner) << "level " << l << " hypercolumn " << h;
      const auto responses = responses_of(network, l, static_cast<int>(h));
      for (std::size_t m = 0; m < expected.g.size(); ++m) {
        const double g = static_cast<double>(responses[m]) / (32768.0 * 32768.0);
        ASSERT_EQ(g, expected.g[m]) << "level " << l << " hypercolumn " << h << " of " << m;
        ASSERT_NEAR(1.0 / (1.0 + std::exp(-g)), expected.f[m], 1e-9);
      }
    }
  }
}

void compare_weights(const CorticalNetwork& network, const ReferenceNetwork& reference) {
  for (int l = 0; l < network.levels(); ++l) {
    const auto& level = reference.levels[static_cast<std::size_t>(l)];
    for (std::size_t h = 0; h < level.hypercolumns.size(); ++h)
      for (int m = 0; m < network.minicolumns(l); ++m)
        for (int i = 0; i < network.inputs(l); ++i)
          ASSERT_EQ(network.weight(l, static_cast<int>(h), i, m) / 32768.0,
                    level.hypercolumns[h]
                        .weights[static_cast<std::size_t>(m)][static_cast<std::size_t>(i)]);
  }
}

/// Steps that learn, and how many winners of all levels came from responses.
int run_both(const CorticalNetworkConfig& config, Patterns& patterns, int steps) {
  auto network = CorticalNetwork::create(config);
  EXPECT_TRUE(network) << network.error().text;
  ReferenceNetwork reference(config);
  compare_weights(*network, reference);
  int responded = 0;
  for (int step = 0; step < steps; ++step) {
    const auto image = patterns.next();
    const bool learn = step % 7 != 6;
    network->step(image.data(), config.width, learn);
    reference.step(image, learn);
    compare(*network, reference);
    if (testing::Test::HasFatalFailure()) return responded;
    const int top = network->levels() - 1;
    const int winner = network->winners(top)[0];
    responded +=
        winner != kSilent && responses_of(*network, top, 0)[static_cast<std::size_t>(winner)] > 0;
  }
  compare_weights(*network, reference);
  EXPECT_EQ(network->steps(), static_cast<std::uint64_t>(steps - steps / 7));
  return responded;
}

// Fails if a constant or the order of words in the generator is wrong. The answers are those of the
// authors' library Random123 (kat_vectors).
TEST(Philox, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(detail::philox(0, {0, 0, 0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(detail::philox(~0ULL, {~0u, ~0u, ~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(detail::philox(0x299f31d0a4093822ULL, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Fails if an equation, the update, the random firing or the geometry of the tree differs from the
// reference in any of 1,000 steps. Winners, g and weights must be equal.
TEST(CorticalNetwork, BinaryTreeEqualsReference) {
  const CorticalNetworkConfig config = binary_tree(8, 32);
  EXPECT_EQ(config.level_count, 4);
  Patterns patterns(3, 8 * 32, 0.001, 1);
  // Otherwise the top would have compared random firing only.
  EXPECT_GT(run_both(config, patterns, 1000), 200);
}

// Fails in the same way with overlapping windows in two directions, contrast cells, numbers of
// minicolumns that do not fill vectors, and silent hypercolumns.
TEST(CorticalNetwork, OverlappingTilesEqualReference) {
  const CorticalNetworkConfig config = overlapping_tiles();
  Patterns patterns(2, 17 * 14, 0.001, 2);
  EXPECT_GT(run_both(config, patterns, 1000), 50);
}

// Fails if the feedback differs from the reference, by (a), (b), a rule of the hypothesis or the
// order of the levels: winners and g must be equal after each step that does not learn.
TEST(CorticalNetwork, FeedbackEqualsReference) {
  for (CorticalNetworkConfig config : {binary_tree(8, 32), overlapping_tiles()}) {
    const auto pixels =
        static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height);
    int changed = 0;
    for (const int tolerance : {1, 5}) {
      config.feedback_rounds = 3;
      config.feedback_tolerance = tolerance;
      auto network = CorticalNetwork::create(config);
      ASSERT_TRUE(network);
      ReferenceNetwork reference(config);
      config.feedback_rounds = 0;
      auto without = CorticalNetwork::create(config);
      Patterns patterns(3, pixels, 0.0, 8);
      for (int step = 0; step < 600; ++step) {
        const auto image = patterns.next();
        network->step(image.data(), config.width, true);
        without->step(image.data(), config.width, true);
        reference.step(image, true);
      }
      std::mt19937 random(3);
      for (int step = 0; step < 60; ++step) {
        auto image = patterns.next();
        for (int i = 0; i < step / 6; ++i) image[random() % pixels] ^= 0xff;
        network->step(image.data(), config.width, false);
        without->step(image.data(), config.width, false);
        reference.step(image, false);
        compare(*network, reference);
        if (testing::Test::HasFatalFailure()) FAIL() << "step " << step;
        for (int l = 0; l < network->levels(); ++l)
          for (std::size_t h = 0; h < network->winners(l).size(); ++h)
            changed += network->winners(l)[h] != without->winners(l)[h];
      }
      compare_weights(*network, reference);
    }
    EXPECT_GT(changed, 50) << "the feedback had no effect to compare";
  }
}

// Fails if an image of one gray level makes a contrast cell active, or if a hypercolumn without
// active inputs has a winner or learns.
TEST(CorticalNetwork, UniformImageIsSilent) {
  const CorticalNetworkConfig config = overlapping_tiles();
  auto network = CorticalNetwork::create(config);
  ASSERT_TRUE(network);
  const ReferenceNetwork untouched(config);
  const std::vector<std::uint8_t> gray(17 * 14, 99);
  for (int step = 0; step < 20; ++step) network->step(gray.data(), 17, true);
  for (int l = 0; l < 3; ++l)
    for (const int winner : network->winners(l)) EXPECT_EQ(winner, kSilent);
  compare_weights(*network, untouched);
}

// Fails if the result of a level depends on how workers share its hypercolumns: something of one
// hypercolumn would reach into another one, or a level would begin before the one below has ended.
TEST(CorticalNetwork, AnyNumberOfWorkersEqual) {
  // More than one part of the work for the LGN cells and the two lowest levels.
  CorticalNetworkConfig config = binary_tree(512, 160);
  std::vector<CorticalNetwork> networks;
  for (const int workers : {1, 2, 5}) {
    config.workers = workers;
    auto network = CorticalNetwork::create(config);
    ASSERT_TRUE(network) << network.error().text;
    networks.push_back(std::move(*network));
  }
  Patterns patterns(4, static_cast<std::size_t>(config.width), 0.0005, 3);
  for (int step = 0; step < 60; ++step) {
    const auto image = patterns.next();
    for (CorticalNetwork& network : networks) network.step(image.data(), config.width, true);
    for (int l = 0; l < config.level_count; ++l) {
      const auto expected = networks[0].winners(l);
      for (std::size_t n = 1; n < networks.size(); ++n) {
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), networks[n].winners(l).begin()))
            << "step " << step << " level " << l << " network " << n;
      }
    }
  }
  for (int l = 0; l < config.level_count; ++l)
    for (int i = 0; i < networks[0].inputs(l); ++i)
      for (int m = 0; m < networks[0].minicolumns(l); ++m)
        for (const int h : {0, networks[0].grid(l).width - 1})
          for (std::size_t n = 1; n < networks.size(); ++n)
            ASSERT_EQ(networks[n].weight(l, h, i, m), networks[0].weight(l, h, i, m));
}

// Fails if minicolumns do not become selective: each of the repeated images must in the end have a
// winner of its own at the top, by its response, also with learning off.
TEST(CorticalNetwork, LearnsRepeatedImages) {
  const CorticalNetworkConfig config = binary_tree(4, 32);
  auto network = CorticalNetwork::create(config);
  ASSERT_TRUE(network);
  Patterns patterns(6, 4 * 32, 0.0, 4);
  for (int step = 0; step < 3000; ++step) {
    const auto image = patterns.next();
    network->step(image.data(), config.width, true);
  }
  std::set<int> winners;
  for (const auto& image : patterns.images) {
    network->step(image.data(), config.width, false);
    const int winner = network->winners(2)[0];
    ASSERT_NE(winner, kSilent);
    EXPECT_GT(responses_of(*network, 2, 0)[static_cast<std::size_t>(winner)], 0);
    winners.insert(winner);
  }
  EXPECT_EQ(winners.size(), patterns.images.size());
}

// Fails if the seed has no effect, or if two networks of one seed differ.
TEST(CorticalNetwork, SeedDecides) {
  CorticalNetworkConfig config = binary_tree(2, 32);
  const auto a = CorticalNetwork::create(config);
  const auto b = CorticalNetwork::create(config);
  config.seed = 2;
  const auto c = CorticalNetwork::create(config);
  int different = 0;
  for (int i = 0; i < a->inputs(0); ++i) {
    EXPECT_EQ(a->weight(0, 1, i, 5), b->weight(0, 1, i, 5));
    different += a->weight(0, 1, i, 5) != c->weight(0, 1, i, 5);
  }
  EXPECT_GT(different, a->inputs(0) / 2);
}

// Fails if a bad member is accepted, or if the error does not name it.
TEST(CorticalNetwork, RefusesBadConfigurations) {
  const auto text = [](const CorticalNetworkConfig& config) -> std::string {
    const auto made = CorticalNetwork::create(config);
    if (made) return "accepted";
    EXPECT_EQ(made.error().status, Status::kInvalidArgument);
    return made.error().text;
  };
  const CorticalNetworkConfig good = overlapping_tiles();
  CorticalNetworkConfig bad = good;
  bad.levels[1].minicolumns = 0;
  EXPECT_EQ(text(bad), "minicolumns of level 2 is 0; it must be 2 to 1024");
  bad = good;
  bad.levels[0].minicolumns = 1025;
  EXPECT_NE(text(bad).find("minicolumns of level 1 is 1025"), std::string::npos);
  bad = good;
  bad.levels[2] = {1, 1, 1, 1, 4};
  EXPECT_NE(text(bad).find("the hierarchy must converge"), std::string::npos) << text(bad);
  bad = good;
  bad.levels[2].window_width = 4;
  EXPECT_EQ(text(bad), "the window of level 3 is 4x2; the grid below it has 3x2 points");
  bad = good;
  bad.levels[1].stride_y = 0;
  EXPECT_NE(text(bad).find("stride_y of level 2 is 0"), std::string::npos);
  bad = good;
  bad.level_count = 0;
  EXPECT_NE(text(bad).find("level_count is 0"), std::string::npos);
  bad = good;
  bad.width = 0;
  EXPECT_NE(text(bad).find("width is 0"), std::string::npos);
  bad = good;
  bad.learning.potentiation = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(text(bad).find("potentiation is"), std::string::npos);
  bad = good;
  bad.learning.stable_wins = 65;
  EXPECT_NE(text(bad).find("stable_wins is 65"), std::string::npos);
  bad = good;
  bad.workers = 65;
  EXPECT_EQ(text(bad), "workers is 65; it must be 1 to 64");
  bad = good;
  bad.feedback_rounds = 101;
  EXPECT_EQ(text(bad), "feedback_rounds is 101; it must be 0 to 100");
  bad = good;
  bad.feedback_tolerance = 0;
  EXPECT_EQ(text(bad), "feedback_tolerance is 0; it must be 1 to 1000");
  auto network = CorticalNetwork::create(good);
  ASSERT_TRUE(network);
  EXPECT_TRUE(network->set_feedback(3, 2));
  EXPECT_FALSE(network->set_feedback(-1, 2));
  EXPECT_FALSE(network->set_feedback(1, 1001));
  EXPECT_EQ(network->config().feedback_rounds, 3);
  EXPECT_NE(text(binary_tree(1 << 20, 1024)).find("width"), std::string::npos);
}

}  // namespace
}  // namespace ocellus
