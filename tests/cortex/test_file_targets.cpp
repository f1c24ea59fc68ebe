// The files that the library writes: every target, and two operators that save to one path.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "cortex/stroke_frames.h"
#include "cortical_network/network_patterns.h"
#include "cortical_network/placements.h"
#include "ocellus/cortical_network.h"
#include "ocellus/placed_cortical_network.h"
#include "support/file_targets.h"

namespace ocellus::test {
namespace {

std::string text_of(const Expected<void>& done) {
  return done ? "" : done.error().text;
}

/// Models of an operator that has learned from other frames.
class SavedModels : public testing::Test {
 protected:
  SavedModels() {
    CortexTraining training;
    training.parameters.deslant = false;
    training.parameters.levels[0] = {8, 8, 4, 4, 24};
    training.feature_images = 200;
    model_ = folder_ / "model.ocellus";
    write_model(model_, must(train_cortex(labeled_strokes(100, 1), training)));
  }

  Rig<Cortex> learner(unsigned seed) const {
    CortexConfig config = stroke_config(model_, 2, 2);
    config.learn = true;
    auto made = Rig<Cortex>::make(config, 1, BackendChoice::kCpu);
    (void)send(made.op, {stroke_frame(labeled_strokes(4, seed), 2, 2, PixelFormat::kGray8)});
    return made;
  }

  TemporaryFolder folder_;
  std::string model_;
};

TEST_F(SavedModels, MeetEveryTarget) {
  auto made = learner(5);
  expect_file_targets({"save_model", ".ocellus", [&](const std::string& path) {
                         return text_of(made.op.save_model(path.c_str()));
                       }});
}

// Fails if two operators that save to one path share a temporary file.
TEST_F(SavedModels, OfTwoOperatorsAreNotMixed) {
  const TemporaryFolder shared;
  const std::string path = shared / "model.ocellus";
  std::vector<Rig<Cortex>> learners;
  std::vector<std::string> whole;
  for (const unsigned seed : {5u, 6u}) {
    learners.push_back(learner(seed));
    must(learners.back().op.save_model(path.c_str()));
    whole.push_back(bytes_of(path));
  }
  ASSERT_FALSE(whole[0] == whole[1]);
  std::atomic<int> failed{0};
  std::atomic<int> left{2};
  std::vector<std::thread> savers;
  for (Rig<Cortex>& one : learners) {
    savers.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        if (!one.op.save_model(path.c_str())) ++failed;
      --left;
    });
  }
  int broken = 0;
  while (left > 0) {
    const std::string bytes = bytes_of(path);
    broken += bytes == whole[0] || bytes == whole[1] ? 0 : 1;
  }
  for (std::thread& saver : savers) saver.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(shared.path()), {}), 1);
}

TEST(SavedNetworks, MeetEveryTarget) {
  const CorticalNetworkConfig config = binary_tree(4, 32);
  const CorticalNetwork network = must(CorticalNetwork::create(config));
  expect_file_targets({"CorticalNetwork", ".ocellus", [&](const std::string& path) {
                         return text_of(network.save_file(path.c_str()));
                       }});
  const CorticalPlacement placement = PlacementText(config, {PlacementKind::kCpu}, 0, 0).top(0);
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory = must(PlacedCorticalNetwork::footprint(config, placement, 0));
  Engine engine = must(Engine::create(settings));
  Engine* const engines[] = {&engine};
  PlacedCorticalNetwork placed = must(PlacedCorticalNetwork::create(config, placement, engines));
  expect_file_targets({"PlacedCorticalNetwork", ".ocellus", [&](const std::string& path) {
                         return text_of(placed.save_file(path.c_str()));
                       }});
}

}  // namespace
}  // namespace ocellus::test
