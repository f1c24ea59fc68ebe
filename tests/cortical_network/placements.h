// Placements written by hand, engines for them, and the comparison with the network on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cortical_network/network_patterns.h"
#include "ocellus/placed_cortical_network.h"
#include "support/run.h"

namespace ocellus::test {

inline ImageSize grid_of(const CorticalNetworkConfig& config, int level) {
  ImageSize grid{config.width, config.height};
  for (int l = 0; l <= level; ++l) {
    const CorticalLevel& shape = config.levels[static_cast<std::size_t>(l)];
    grid = {(grid.width - shape.window_width) / shape.stride_x + 1,
            (grid.height - shape.window_height) / shape.stride_y + 1};
  }
  return grid;
}

inline int roots_at(const CorticalNetworkConfig& config, int level) {
  const ImageSize grid = grid_of(config, level);
  return grid.width * grid.height;
}

/// The devices, and which of them computes what.
class PlacementText {
 public:
  PlacementText(const CorticalNetworkConfig& config, const std::vector<PlacementKind>& kinds,
                int split_levels, int cpu_level)
      : config_(config) {
    made_.levels = config.level_count;
    made_.split_levels = split_levels;
    made_.cpu_level = cpu_level;
    for (std::size_t d = 0; d < kinds.size(); ++d) {
      const bool cpu = kinds[d] == PlacementKind::kCpu;
      made_.devices.push_back({kinds[d], cpu ? "cpu" : "gpu " + std::to_string(d)});
    }
    for (int l = 0; l < config.level_count; ++l) {
      made_.shapes.push_back(config.levels[static_cast<std::size_t>(l)]);
      made_.grids.push_back(grid_of(config, l));
    }
  }

  /// The split roots before `end_root` that no part has yet.
  PlacementText& split(int device, int end_root) {
    const int begin = made_.parts.empty() ? 0 : made_.parts.back().end_root;
    add(device, 0, made_.split_levels, begin, end_root);
    return *this;
  }
  /// The last part is streamed: `resident` roots stay, turns of `size` follow.
  PlacementText& stream(int resident, int size) {
    PlacementPart& part = made_.parts.back();
    const int kept = part.first_root + resident;
    part.turns.push_back({part.first_root, kept, 0, 0.0, 0.0, 0.0});
    for (int begin = kept; begin < part.end_root; begin += size)
      part.turns.push_back({begin, std::min(begin + size, part.end_root), 0, 0.0, 0.0, 0.0});
    return *this;
  }
  PlacementText& meet(int device) {
    add(device, made_.split_levels, made_.cpu_level, 0, roots_at(config_, made_.cpu_level - 1));
    return *this;
  }
  PlacementText& top(int device) {
    add(device, made_.cpu_level, made_.levels, 0, roots_at(config_, made_.levels - 1));
    return *this;
  }

  operator const CorticalPlacement&() const { return made_; }
  CorticalPlacement& made() { return made_; }

 private:
  void add(int device, int first, int end, int first_root, int end_root) {
    PlacementPart part;
    part.device = device;
    part.first_level = first;
    part.end_level = end;
    part.first_root = first_root;
    part.end_root = end_root;
    made_.parts.push_back(part);
  }

  CorticalNetworkConfig config_;
  CorticalPlacement made_;
};

/// Engines with exactly the memory that a placement needs. `numbers`: CUDA devices of the GPUs.
struct PlacedEngines {
  std::vector<Engine> engines;
  std::vector<Engine*> pointers;

  PlacedEngines(const CorticalNetworkConfig& config, const CorticalPlacement& placement,
                const std::vector<int>& numbers = {}, int workers = 1) {
    engines.reserve(placement.devices.size());
    for (std::size_t d = 0; d < placement.devices.size(); ++d) {
      const bool cpu = placement.devices[d].kind == PlacementKind::kCpu;
      EngineConfig settings =
          engine_config(workers, cpu ? BackendChoice::kCpu : BackendChoice::kCuda);
      settings.backend.device = d < numbers.size() ? numbers[d] : 0;
      settings.memory =
          must(PlacedCorticalNetwork::footprint(config, placement, static_cast<int>(d)));
      engines.push_back(must(Engine::create(settings)));
    }
    for (Engine& engine : engines) pointers.push_back(&engine);
  }
};

inline void expect_level_winners(PlacedCorticalNetwork& got, const CorticalNetwork& expected,
                                 int level) {
  const auto winners = expected.winners(level);
  std::vector<std::int32_t> placed(winners.size());
  must(got.read_winners(level, placed));
  for (std::size_t h = 0; h < placed.size(); ++h)
    ASSERT_EQ(placed[h], winners[h]) << "level " << level << " hypercolumn " << h;
}

inline void expect_equal_weights(PlacedCorticalNetwork& got, const CorticalNetwork& expected) {
  for (int l = 0; l < expected.levels(); ++l) {
    const auto inputs = static_cast<std::size_t>(expected.inputs(l));
    std::vector<std::uint16_t> weights(inputs * static_cast<std::size_t>(expected.minicolumns(l)));
    for (int h = 0; h < static_cast<int>(expected.winners(l).size()); ++h) {
      must(got.read_weights(l, h, weights));
      for (std::size_t i = 0; i < weights.size(); ++i)
        ASSERT_EQ(weights[i],
                  expected.weight(l, h, static_cast<int>(i % inputs), static_cast<int>(i / inputs)))
            << "level " << l << " hypercolumn " << h << " weight " << i;
    }
  }
}

/// Steps with both networks, every seventh without learning. Compares the winners of the highest
/// level after each step, those of all levels after every tenth, and all weights at the end.
inline void compare_placed_steps(PlacedCorticalNetwork& got, CorticalNetwork& expected, int steps,
                                 double noise = 0.0, unsigned seed = 3) {
  const CorticalNetworkConfig& config = expected.config();
  Patterns patterns(
      6, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), noise,
      seed);
  const int top = expected.levels() - 1;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto image = patterns.next();
    const bool learn = step % 7 != 6;
    must(got.step(image.data(), config.width, learn));
    expected.step(image.data(), config.width, learn);
    ASSERT_TRUE(std::equal(got.winners().begin(), got.winners().end(),
                           expected.winners(top).begin(), expected.winners(top).end()));
    if (step % 10 != 9 && step + 1 != steps) continue;
    for (int l = 0; l <= top; ++l) {
      expect_level_winners(got, expected, l);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(got.steps(), expected.steps());
  expect_equal_weights(got, expected);
}

/// Steps of a pipeline: the winners of the highest level are those of the step before. Those of all
/// levels are compared after every tenth step, with finish() before, and all weights at the end.
inline void compare_pipelined(const CorticalNetworkConfig& config,
                              const CorticalPlacement& placement, const std::vector<int>& numbers,
                              int steps, double noise = 0.0, int workers = 1) {
  PlacedEngines engines(config, placement, numbers, workers);
  PlacedCorticalNetwork got = must(PlacedCorticalNetwork::create(
      config, placement, engines.pointers, PlacedSchedule::kPipelined));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  Patterns patterns(
      6, static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), noise,
      3);
  const int top = expected.levels() - 1;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    {
      // The network does not read it later.
      auto image = patterns.next();
      const bool learn = step % 7 != 6;
      const std::vector<std::int32_t> before(expected.winners(top).begin(),
                                             expected.winners(top).end());
      expected.step(image.data(), config.width, learn);
      must(got.step(image.data(), config.width, learn));
      std::fill(image.begin(), image.end(), std::uint8_t{0});
      ASSERT_TRUE(
          std::equal(got.winners().begin(), got.winners().end(), before.begin(), before.end()));
    }
    if (step % 10 != 9 && step + 1 != steps) continue;
    must(got.finish());
    ASSERT_TRUE(std::equal(got.winners().begin(), got.winners().end(),
                           expected.winners(top).begin(), expected.winners(top).end()));
    for (int l = 0; l <= top; ++l) {
      expect_level_winners(got, expected, l);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(got.steps(), expected.steps());
  expect_equal_weights(got, expected);
}

/// compare_placed_steps() for a new network.
inline void compare_placed(const CorticalNetworkConfig& config, const CorticalPlacement& placement,
                           const std::vector<int>& numbers, int steps, double noise = 0.0,
                           int workers = 1) {
  PlacedEngines engines(config, placement, numbers, workers);
  PlacedCorticalNetwork network =
      must(PlacedCorticalNetwork::create(config, placement, engines.pointers));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  compare_placed_steps(network, expected, steps, noise);
}

}  // namespace ocellus::test
