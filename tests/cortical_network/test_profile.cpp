// Measured times of the levels of a cortical network.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ocellus/cortical_profile.h"

namespace ocellus {
namespace {

/// The predicted step on a CPU with these times.
double step_seconds(const CorticalNetworkConfig& config, const std::vector<MeasuredLevel>& levels) {
  PlacementDevice device;
  device.kind = PlacementKind::kCpu;
  device.measured = levels;
  const Expected<CorticalPlacement> made = place_cortical_network(config, {device});
  EXPECT_TRUE(made) << made.error().text;
  return made ? made->step_s : 0.0;
}

// Fails if a level has no time, if equal levels differ, or if a bad profile is accepted.
TEST(Profile, EachLevelHasATime) {
  CorticalProfile profile;
  profile.sample_bytes = 1 << 20;
  profile.steps = 15;
  const CorticalNetworkConfig config = binary_tree(64, 32);
  const auto levels = profile_cortical_network(config, profile);
  ASSERT_TRUE(levels) << levels.error().text;
  ASSERT_EQ(levels->size(), 7u);
  for (std::size_t l = 0; l < 7; ++l) {
    EXPECT_GT((*levels)[l].hypercolumn_s, 1e-9);
    EXPECT_GE((*levels)[l].launch_s, 0.0);
    // Levels of one shape are measured once.
    if (l > 1) {
      EXPECT_EQ((*levels)[l].hypercolumn_s, (*levels)[1].hypercolumn_s);
    }
  }
  EXPECT_GT(step_seconds(config, *levels), 0.0);

  profile.steps = 0;
  EXPECT_FALSE(profile_cortical_network(config, profile));
  profile.steps = 1;
  profile.sample_bytes = 1;
  EXPECT_FALSE(profile_cortical_network(config, profile));
  profile.sample_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(profile_cortical_network(config, profile));
  EXPECT_FALSE(profile_cortical_network({}, CorticalProfile{}));
}

// Fails if the plan from measured levels is far from the measured step of the whole network, as a
// wrong number of active inputs or of hypercolumns would make it. Other programs disturb both
// times, so the limit is wide and the best of three attempts counts.
TEST(Profile, PredictsTheStepOfTheNetwork) {
  const CorticalNetworkConfig config = binary_tree(512, 128);
  const CorticalProfile profile;
  const std::vector<std::uint8_t> image(static_cast<std::size_t>(config.width), 255);
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3 && best > 1.5; ++attempt) {
    // The steps that the profile measures: the time of a step depends on what has been learned.
    Expected<CorticalNetwork> network = CorticalNetwork::create(config);
    ASSERT_TRUE(network);
    std::vector<double> seconds;
    for (int i = 0; i < profile.warm_up + profile.steps; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      network->step(image.data(), config.width, true);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (i >= profile.warm_up) seconds.push_back(passed.count());
    }
    std::sort(seconds.begin(), seconds.end());
    const auto levels = profile_cortical_network(config, profile);
    ASSERT_TRUE(levels) << levels.error().text;
    const double predicted = step_seconds(config, *levels);
    const double ratio = predicted / seconds[seconds.size() / 2];
    best = std::min(best, std::max(ratio, 1.0 / ratio));
    RecordProperty("predicted_us", std::to_string(predicted * 1e6));
    RecordProperty("measured_us", std::to_string(seconds[seconds.size() / 2] * 1e6));
  }
  EXPECT_LT(best, 2.5);
}

}  // namespace
}  // namespace ocellus
