// Placement of cortical networks: the paper's cases, properties of random ones, and the errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ocellus/cortical_placement.h"

namespace ocellus {
namespace {

constexpr PlacementReference kReference{};

PlacementDevice gpu(double speed, std::uint64_t memory = kUnlimitedMemory) {
  PlacementDevice device;
  device.name = "gpu " + std::to_string(speed);
  device.speed = speed;
  device.memory = memory;
  return device;
}

PlacementDevice cpu(double speed, std::uint64_t memory = kUnlimitedMemory) {
  PlacementDevice device = gpu(speed, memory);
  device.kind = PlacementKind::kCpu;
  device.name = "cpu";
  device.launch_s = kReference.cpu_launch_s;
  return device;
}

/// A device whose launches and transfers take no time.
PlacementDevice without_overheads(PlacementDevice device) {
  device.launch_s = 0.0;
  device.link_latency_s = 0.0;
  device.link_bytes_per_s = 1e300;
  device.link_both_bytes_per_s = 1e300;
  return device;
}

CorticalPlacement placed(const CorticalNetworkConfig& config,
                         const std::vector<PlacementDevice>& devices) {
  Expected<CorticalPlacement> made = place_cortical_network(config, devices);
  EXPECT_TRUE(made) << made.error().text;
  return made ? std::move(*made) : CorticalPlacement{};
}

/// Grids of a hierarchy whose windows follow each other by the strides.
std::vector<ImageSize> grids_of(const CorticalNetworkConfig& config) {
  std::vector<ImageSize> grids;
  ImageSize below{config.width, config.height};
  for (int l = 0; l < config.level_count; ++l) {
    const CorticalLevel& level = config.levels[static_cast<std::size_t>(l)];
    below = {(below.width - level.window_width) / level.stride_x + 1,
             (below.height - level.window_height) / level.stride_y + 1};
    grids.push_back(below);
  }
  return grids;
}

HypercolumnCost cost(const CorticalNetworkConfig& config, int level, PlacementKind kind) {
  const Expected<HypercolumnCost> made = hypercolumn_cost(config, level, kind);
  EXPECT_TRUE(made) << made.error().text;
  return made ? *made : HypercolumnCost{};
}

/// Time of a hypercolumn at the full rate, from the text of the header.
double rate(const CorticalNetworkConfig& config, int level, const PlacementDevice& device) {
  if (!device.measured.empty())
    return device.measured[static_cast<std::size_t>(level)].hypercolumn_s;
  const HypercolumnCost c = cost(config, level, device.kind);
  return std::max(c.bytes / kReference.bytes_per_s, c.operations / kReference.operations_per_s) /
         device.speed;
}

/// What a GPU needs beside its hypercolumns, from the text of the header.
std::uint64_t beside(const CorticalNetworkConfig& config) {
  std::uint64_t hypercolumns = 0;
  for (const ImageSize grid : grids_of(config))
    hypercolumns +=
        static_cast<std::uint64_t>(grid.width) * static_cast<std::uint64_t>(grid.height);
  return 16 * hypercolumns +
         2 * static_cast<std::uint64_t>(config.width) * static_cast<std::uint64_t>(config.height) +
         6656;
}

std::uint64_t memory_of(const CorticalNetworkConfig& config, int first = 0) {
  const std::vector<ImageSize> grids = grids_of(config);
  std::uint64_t sum = first == 0 ? beside(config) : 0;
  for (int l = first; l < config.level_count; ++l) {
    const ImageSize grid = grids[static_cast<std::size_t>(l)];
    sum += static_cast<std::uint64_t>(grid.width) * static_cast<std::uint64_t>(grid.height) *
           cost(config, l, PlacementKind::kGpu).memory;
  }
  return sum;
}

/// Memory that the parts of a device need together.
std::uint64_t memory_on(const CorticalPlacement& placement, int device) {
  std::uint64_t sum = 0;
  for (const PlacementPart& part : placement.parts)
    if (part.device == device) sum += part.resident;
  return sum;
}

std::vector<PlacementPart> split_parts(const CorticalPlacement& placement) {
  std::vector<PlacementPart> parts;
  for (const PlacementPart& part : placement.parts)
    if (part.first_level == 0) parts.push_back(part);
  return parts;
}

/// Each hypercolumn has one device, the parts count what `device` says, and without overlap the
/// whole subtree of a split hypercolumn is on one device.
void expect_placed_once(const CorticalNetworkConfig& config, const CorticalPlacement& placement) {
  const std::vector<ImageSize> grids = grids_of(config);
  ASSERT_EQ(placement.grids, grids);
  std::vector<std::vector<std::int64_t>> counts(16, std::vector<std::int64_t>(20, 0));
  std::int64_t all = 0;
  for (int l = 0; l < config.level_count; ++l) {
    const ImageSize grid = grids[static_cast<std::size_t>(l)];
    all += std::int64_t{grid.width} * grid.height;
    for (int h = 0; h < grid.width * grid.height; ++h) {
      const int device = placement.device(l, h);
      ASSERT_GE(device, 0) << "level " << l << " hypercolumn " << h;
      ++counts[static_cast<std::size_t>(device)][static_cast<std::size_t>(l)];
      if (l == 0 || l >= placement.split_levels || split_parts(placement).size() < 2) continue;
      const CorticalLevel& level = config.levels[static_cast<std::size_t>(l)];
      const int below = grids[static_cast<std::size_t>(l - 1)].width;
      for (int y = 0; y < level.window_height; ++y)
        for (int x = 0; x < level.window_width; ++x)
          ASSERT_EQ(placement.device(l - 1, (h / grid.width * level.stride_y + y) * below +
                                                h % grid.width * level.stride_x + x),
                    device);
    }
  }
  EXPECT_EQ(placement.hypercolumns, all);
  std::int64_t in_parts = 0;
  for (const PlacementPart& part : placement.parts) {
    in_parts += part.hypercolumns;
    std::int64_t counted = 0;
    for (int l = part.first_level; l < part.end_level; ++l)
      counted += counts[static_cast<std::size_t>(part.device)][static_cast<std::size_t>(l)];
    EXPECT_EQ(part.hypercolumns, counted);
  }
  EXPECT_EQ(in_parts, all);
}

/// The turns of a part hold each root once; a device never holds more than its memory: what is
/// resident and two turns that follow each other.
void expect_turns(const PlacementPart& part, const PlacementDevice& device) {
  ASSERT_GE(part.turns.size(), 3u);
  int next = part.first_root;
  double moved = 0.0;
  double seconds = part.input_s;
  for (std::size_t i = 0; i < part.turns.size(); ++i) {
    const PlacementTurn& turn = part.turns[i];
    EXPECT_EQ(turn.first_root, next);
    next = turn.end_root;
    moved += turn.transfer_bytes;
    seconds += turn.seconds;
    EXPECT_GE(turn.seconds, turn.compute_s);
    EXPECT_GE(turn.seconds * (1.0 + 1e-9), turn.transfer_bytes / device.link_bytes_per_s);
    if (i + 1 < part.turns.size() && i > 0) {
      EXPECT_LE(part.turns[0].bytes + turn.bytes + part.turns[i + 1].bytes, part.resident);
    }
  }
  EXPECT_EQ(next, part.end_root);
  // Each hypercolumn that does not stay is loaded and written back once in a step.
  EXPECT_NEAR(moved, 2.0 * static_cast<double>(part.bytes - part.turns[0].bytes), 1.0);
  EXPECT_NEAR(part.transfer_bytes, moved, 1.0);
  EXPECT_NEAR(part.seconds, seconds, 1e-9 * seconds);
}

/// A binary tree's placement on one GPU and a CPU, from the text of the header.
double time_by_hand(const CorticalNetworkConfig& config, const PlacementDevice& g,
                    const PlacementDevice& c, int cpu_level) {
  const std::vector<ImageSize> grids = grids_of(config);
  double seconds = 0.0;
  for (int l = 0; l < config.level_count; ++l) {
    const PlacementDevice& on = l < cpu_level ? g : c;
    const int width = l < cpu_level ? kReference.gpu_width : kReference.cpu_width;
    seconds += on.launch_s +
               rate(config, l, on) * std::max(grids[static_cast<std::size_t>(l)].width, width);
  }
  if (cpu_level == 0) return seconds;
  return seconds + g.link_latency_s + config.width / g.link_bytes_per_s + g.link_latency_s +
         4.0 * grids[static_cast<std::size_t>(cpu_level - 1)].width / g.link_bytes_per_s;
}

// Fails if a term of the cost is missing: worked out by hand for 128 minicolumns and 256 inputs.
TEST(Placement, CostOfAHypercolumn) {
  const CorticalNetworkConfig config = binary_tree(4, 128);
  const HypercolumnCost lowest = cost(config, 0, PlacementKind::kGpu);
  EXPECT_EQ(lowest.memory, 2u * 256 * 128 + 256 * 16 + 256 * 16 + 17 * 128);
  EXPECT_EQ(lowest.bytes, 2.0 * 128 * 128 + 13 * 128 + 2 * 32 * 256 + 256);
  EXPECT_EQ(lowest.operations, 3.0 * 128 * 128 + 4 * 128 + 6 * 256);
  const HypercolumnCost upper = cost(config, 1, PlacementKind::kCpu);
  EXPECT_EQ(upper.memory, 2u * 256 * 128 + 256 * 16 + 17 * 128);
  EXPECT_EQ(upper.bytes, 2.0 * 64 + 4 * 256 + 4 * 64 + 12);
}

// Fails if the memory of a hypercolumn is not that of the network of the library.
TEST(Placement, MemoryIsThatOfTheNetwork) {
  for (const int minicolumns : {32, 128}) {
    const CorticalNetworkConfig config = binary_tree(32, minicolumns);
    const Expected<CorticalNetwork> network = CorticalNetwork::create(config);
    ASSERT_TRUE(network);
    const auto memory = static_cast<double>(network->memory());
    double expected = 0.0;
    for (int l = 0; l < config.level_count; ++l)
      expected +=
          static_cast<double>(cost(config, l, PlacementKind::kCpu).memory) * network->grid(l).width;
    EXPECT_NEAR(expected, memory, 0.05 * memory);
    // The plan counts the memory of a GPU.
    EXPECT_NEAR(static_cast<double>(placed(config, {cpu(1.0)}).bytes), memory, 0.1 * memory);
  }
}

// The paper's case of two equal GPUs: halves of the lower levels, the rest on one of them. Fails if
// the halves differ, or if the step is not the sum of its terms.
TEST(Placement, TwoEqualGpus) {
  const CorticalNetworkConfig config = binary_tree(32768, 128);
  const CorticalPlacement placement = placed(config, {gpu(1.0), gpu(1.0)});
  expect_placed_once(config, placement);
  const auto parts = split_parts(placement);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].hypercolumns, parts[1].hypercolumns);
  EXPECT_EQ(placement.cpu_level, config.level_count);
  EXPECT_FALSE(placement.streamed);
  ASSERT_EQ(placement.parts.size(), 3u);
  EXPECT_EQ(placement.parts[2].device, 0);
  EXPECT_EQ(placement.parts[2].end_level, config.level_count);
  // By hand: levels of a half, pixels of a half, the winners of a half, levels on one GPU.
  const std::vector<ImageSize> grids = grids_of(config);
  double seconds = 0.0;
  for (int l = 0; l < config.level_count; ++l) {
    const int count = grids[static_cast<std::size_t>(l)].width;
    seconds += kReference.gpu_launch_s +
               rate(config, l, gpu(1.0)) *
                   std::max(l < placement.split_levels ? count / 2 : count, kReference.gpu_width);
  }
  const int roots = grids[static_cast<std::size_t>(placement.split_levels - 1)].width;
  seconds += 3.0 * kReference.link_latency_s +
             (config.width / 2.0 + 4.0 * roots / 2.0 + 4.0) / kReference.link_bytes_per_s;
  EXPECT_NEAR(placement.step_s, seconds, 1e-9 * seconds);
  EXPECT_LT(placement.step_s, placed(config, {gpu(1.0)}).step_s);
}

// The paper's case of unequal GPUs. Fails if the shares are not in proportion to the speeds, or if
// the slower GPU computes the levels where the parts meet.
TEST(Placement, SharesFollowTheSpeed) {
  const CorticalNetworkConfig config = binary_tree(32768, 128);
  const CorticalPlacement placement = placed(config, {gpu(0.4), gpu(1.0)});
  expect_placed_once(config, placement);
  const auto parts = split_parts(placement);
  ASSERT_EQ(parts.size(), 2u);
  const double roots = parts[1].end_root;
  EXPECT_NEAR(parts[0].end_root, roots * 0.4 / 1.4, 1.0);
  for (std::size_t i = 2; i < placement.parts.size(); ++i) EXPECT_EQ(placement.parts[i].device, 1);
}

// Figures 12 and 26 of the paper, with simulated devices: the even split has equal parts and the
// highest level on the CPU. Fails if it follows the speeds, if the profiled split is not faster, or
// if the even split moves what does not fit: the paper's even split ends at half the hypercolumns.
TEST(Placement, EvenSplitIgnoresTheSpeed) {
  const auto even = [](int leaves, const std::vector<PlacementDevice>& devices) {
    return place_cortical_network(binary_tree(leaves, 128), devices, PlacementRule::kEven);
  };
  const std::vector<PlacementDevice> unlike = {gpu(0.4, 400'000'000), gpu(1.0, 1'200'000'000),
                                               cpu(0.05)};
  const CorticalNetworkConfig config = binary_tree(4096, 128);
  const Expected<CorticalPlacement> made = even(4096, unlike);
  ASSERT_TRUE(made) << made.error().text;
  expect_placed_once(config, *made);
  const auto parts = split_parts(*made);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].hypercolumns, parts[1].hypercolumns);
  ASSERT_EQ(made->parts.size(), 3u);
  EXPECT_EQ(made->parts[2].device, 2);
  EXPECT_EQ(made->parts[2].hypercolumns, 1);
  EXPECT_GT(made->step_s, 1.2 * placed(config, unlike).step_s);

  const Expected<CorticalPlacement> larger = even(8192, unlike);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().status, Status::kOutOfMemory);
  EXPECT_NE(std::string(larger.error().text).find("'gpu 0.400000' is 400000000 bytes"),
            std::string::npos)
      << larger.error().text;
  EXPECT_FALSE(placed(binary_tree(8192, 128), unlike).streamed);

  // Three GPUs without a CPU: the first one computes the levels where the parts meet.
  const Expected<CorticalPlacement> three = even(4096, {gpu(0.4), gpu(1.0), gpu(0.7)});
  ASSERT_TRUE(three);
  expect_placed_once(config, *three);
  ASSERT_EQ(split_parts(*three).size(), 3u);
  EXPECT_EQ(three->parts.back().device, 0);
  EXPECT_EQ(three->parts.back().hypercolumns, 3);
}

// The paper: speed first, then memory. Fails if the fast GPU gets more than its memory or clearly
// less, or if the rest is not on the other.
TEST(Placement, FullMemoryLeavesTheRestToTheOther) {
  const CorticalNetworkConfig config = binary_tree(32768, 128);
  const std::uint64_t memory = memory_of(config) * 3 / 10;
  const CorticalPlacement placement = placed(config, {gpu(1.0, memory), gpu(0.4)});
  expect_placed_once(config, placement);
  EXPECT_FALSE(placement.streamed);
  EXPECT_LE(memory_on(placement, 0), memory);
  EXPECT_GE(memory_on(placement, 0), memory * 95 / 100);
  EXPECT_GE(memory_on(placement, 1), memory_of(config) * 69 / 100);
}

// The paper: the CPU computes the narrow levels at the top. Fails if another level would be faster
// by the formulas of the header, or if the predicted time is not theirs.
TEST(Placement, CpuTakesTheTop) {
  for (const int leaves : {16, 1024, 32768}) {
    for (const double speed : {0.005, 0.05, 0.5}) {
      const CorticalNetworkConfig config = binary_tree(leaves, 128);
      const PlacementDevice g = gpu(1.0);
      const PlacementDevice c = cpu(speed);
      const CorticalPlacement placement = placed(config, {g, c});
      expect_placed_once(config, placement);
      double best = std::numeric_limits<double>::infinity();
      int level = -1;
      for (int l = 0; l <= config.level_count; ++l) {
        const double seconds = time_by_hand(config, g, c, l);
        if (seconds >= best) continue;
        best = seconds;
        level = l;
      }
      EXPECT_EQ(placement.cpu_level, level) << leaves << " leaves, " << speed << "x";
      EXPECT_NEAR(placement.step_s, best, 1e-9 * best) << leaves << " leaves, " << speed << "x";
    }
  }
  EXPECT_LT(placed(binary_tree(32768, 128), {gpu(1.0), cpu(0.05)}).cpu_level, 16);
  EXPECT_GT(placed(binary_tree(32768, 128), {gpu(1.0), cpu(0.05)}).cpu_level, 3);
}

// A network of 1.5 times the memory is streamed. Fails if a turn does not fit, if a subtree is left
// out, or if the predicted time is shorter than the transfers.
TEST(Placement, LargeNetworkIsStreamed) {
  const CorticalNetworkConfig config = binary_tree(32768, 128);
  for (const std::uint64_t share : {65u, 30u, 5u}) {
    const PlacementDevice device = gpu(1.0, memory_of(config) * share / 100);
    const CorticalPlacement placement = placed(config, {device});
    expect_placed_once(config, placement);
    EXPECT_TRUE(placement.streamed);
    EXPECT_LE(memory_on(placement, 0), device.memory);
    const auto parts = split_parts(placement);
    ASSERT_EQ(parts.size(), 1u);
    expect_turns(parts[0], device);
    const double missing = static_cast<double>(memory_of(config) - device.memory);
    EXPECT_GT(placement.step_s, 2.0 * missing / device.link_bytes_per_s);
    // Buffers take a part of the memory, and both directions share the link.
    EXPECT_LT(parts[0].transfer_bytes, 2.5 * missing);
  }
  // Directions that do not share the link halve the time of the transfers.
  PlacementDevice duplex = gpu(1.0, memory_of(config) * 30 / 100);
  const double shared = placed(config, {duplex}).split_s;
  duplex.link_both_bytes_per_s *= 2.0;
  EXPECT_NEAR(placed(config, {duplex}).split_s, shared / 2.0, 0.05 * shared);
  // A slow CPU takes what the memory leaves, if that is faster than to stream.
  const PlacementDevice small = gpu(1.0, memory_of(config) * 2 / 3);
  const CorticalPlacement helped = placed(config, {small, cpu(0.05)});
  expect_placed_once(config, helped);
  EXPECT_FALSE(helped.streamed);
  EXPECT_LT(helped.step_s, placed(config, {small}).step_s);
}

CorticalNetworkConfig random_network(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<>(low, high)(random);
  };
  CorticalNetworkConfig config;
  config.width = pick(8, 90);
  config.height = pick(1, 60);
  int columns = config.width;
  int rows = config.height;
  const int levels = pick(1, 5);
  for (int l = 0; l < levels; ++l) {
    CorticalLevel level;
    level.window_width = pick(1, std::min(columns, 4));
    level.window_height = pick(1, std::min(rows, 4));
    // Overlap, neighbors and gaps.
    level.stride_x = pick(1, level.window_width + 1);
    level.stride_y = pick(1, level.window_height + 1);
    level.minicolumns = pick(2, 40);
    const int next_columns = (columns - level.window_width) / level.stride_x + 1;
    const int next_rows = (rows - level.window_height) / level.stride_y + 1;
    if (l > 0 && next_columns * next_rows >= columns * rows) break;
    config.levels[static_cast<std::size_t>(config.level_count++)] = level;
    columns = next_columns;
    rows = next_rows;
  }
  return config;
}

std::vector<PlacementDevice> random_devices(std::mt19937& random, std::uint64_t network) {
  const auto pick = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  std::vector<PlacementDevice> devices;
  const int gpus = std::uniform_int_distribution<>(0, 4)(random);
  for (int i = 0; i < gpus; ++i) {
    const bool limited = random() % 2 == 0;
    const auto memory = static_cast<std::uint64_t>(pick(0.02, 1.0) * static_cast<double>(network));
    devices.push_back(gpu(pick(0.1, 2.0), limited ? memory + 1 : kUnlimitedMemory));
    if (random() % 4 != 0) continue;
    devices.back().launch_s = 0.0;
    devices.back().link_latency_s = 0.0;
  }
  if (gpus == 0 || random() % 2 == 0) devices.push_back(cpu(pick(0.001, 0.5)));
  return devices;
}

// Fails if a hypercolumn is left out or placed twice, a memory is exceeded, the predicted time is
// better than the ideal split (worked out here), the time is not the sum of its terms, or a second
// call gives another placement.
TEST(Placement, PropertiesOfRandomPlacements) {
  std::mt19937 random(7);
  int streamed = 0;
  int split = 0;
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    const CorticalNetworkConfig config = random_network(random);
    const std::vector<PlacementDevice> devices = random_devices(random, memory_of(config));
    const Expected<CorticalPlacement> made = place_cortical_network(config, devices);
    if (!made) {
      ASSERT_EQ(made.error().status, Status::kOutOfMemory) << made.error().text;
      for (const PlacementDevice& device : devices) ASSERT_LT(device.memory, memory_of(config));
      ++refused;
      continue;
    }
    const CorticalPlacement& placement = *made;
    expect_placed_once(config, placement);
    ASSERT_FALSE(HasFailure()) << "case " << i;
    const std::vector<ImageSize> grids = grids_of(config);
    // The bound of the header: every hypercolumn at the sum of the speeds.
    double work = 0.0;
    double speed = 0.0;
    for (int l = 0; l < config.level_count; ++l) {
      const ImageSize grid = grids[static_cast<std::size_t>(l)];
      work += grid.width * grid.height * rate(config, l, devices[0]);
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      ASSERT_LE(memory_on(placement, static_cast<int>(d)), devices[d].memory);
      double best = 0.0;
      for (int l = 0; l < config.level_count; ++l)
        best = std::max(best, rate(config, l, devices[0]) / rate(config, l, devices[d]));
      speed += best;
    }
    ASSERT_NEAR(placement.ideal_s, work / speed, 1e-9 * placement.ideal_s);
    ASSERT_GE(placement.step_s, placement.ideal_s * (1.0 - 1e-9));
    double longest = 0.0;
    for (const PlacementPart& part : placement.parts) {
      if (part.first_level == 0 && placement.split_levels > 0)
        longest = std::max(longest, part.seconds);
      if (part.turns.empty()) {
        ASSERT_EQ(part.resident, part.bytes);
      } else {
        expect_turns(part, devices[static_cast<std::size_t>(part.device)]);
      }
    }
    ASSERT_EQ(placement.split_s, longest);
    ASSERT_NEAR(placement.step_s,
                placement.split_s + placement.gather_s + placement.merge_s + placement.output_s +
                    placement.cpu_s,
                1e-12);
    const CorticalPlacement again = placed(config, devices);
    ASSERT_EQ(again.step_s, placement.step_s);
    ASSERT_EQ(again.parts.size(), placement.parts.size());
    for (std::size_t p = 0; p < again.parts.size(); ++p)
      ASSERT_EQ(again.parts[p].end_root, placement.parts[p].end_root);
    streamed += placement.streamed ? 1 : 0;
    split += split_parts(placement).size() > 1 ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "case " << i;
  }
  // All kinds of placement occur.
  EXPECT_GT(streamed, 20);
  EXPECT_GT(split, 20);
  EXPECT_GT(refused, 5);
}

// Fails if equal GPUs get shares that differ by more than one subtree.
TEST(Placement, EqualDevicesGetEqualShares) {
  const CorticalNetworkConfig config = binary_tree(8192, 128);
  for (std::size_t count = 2; count <= 16; ++count) {
    const CorticalPlacement placement =
        placed(config, std::vector<PlacementDevice>(count, without_overheads(gpu(0.7))));
    const auto parts = split_parts(placement);
    EXPECT_EQ(parts.size(), count);
    int least = config.width;
    int most = 0;
    for (const PlacementPart& part : parts) {
      least = std::min(least, part.end_root - part.first_root);
      most = std::max(most, part.end_root - part.first_root);
    }
    EXPECT_LE(most - least, 1) << count << " GPUs";
  }
}

// Fails if the time of the computation does not scale with the speeds.
TEST(Placement, TwiceTheSpeedHalvesTheComputation) {
  const CorticalNetworkConfig config = binary_tree(4096, 64);
  std::vector<PlacementDevice> devices = {without_overheads(gpu(1.0)), without_overheads(gpu(0.3)),
                                          without_overheads(cpu(0.02))};
  const CorticalPlacement slow = placed(config, devices);
  for (PlacementDevice& device : devices) device.speed *= 2.0;
  const CorticalPlacement fast = placed(config, devices);
  EXPECT_NEAR(fast.step_s, slow.step_s / 2.0, 1e-9 * slow.step_s);
  ASSERT_EQ(fast.parts.size(), slow.parts.size());
  for (std::size_t i = 0; i < fast.parts.size(); ++i)
    EXPECT_NEAR(fast.parts[i].compute_s, slow.parts[i].compute_s / 2.0,
                1e-9 * slow.parts[i].compute_s);
}

// Fails if measured times are not used in place of the model.
TEST(Placement, MeasuredTimesReplaceTheModel) {
  const CorticalNetworkConfig config = binary_tree(256, 32);
  PlacementDevice measured = cpu(1.0);
  double seconds = 0.0;
  for (int l = 0; l < config.level_count; ++l) {
    measured.measured.push_back({1e-6 * (l + 1), 1e-7 * (l + 2)});
    seconds += 1e-6 * (l + 1) + (256 >> l) * 1e-7 * (l + 2);
  }
  EXPECT_NEAR(placed(config, {measured}).step_s, seconds, 1e-12);
}

// Fails if a wrong value is accepted, or if the text names neither the device nor the value.
TEST(Placement, Errors) {
  const CorticalNetworkConfig tree = binary_tree(16, 32);
  const auto expect = [](const CorticalNetworkConfig& config,
                         const std::vector<PlacementDevice>& devices, Status status,
                         const std::vector<std::string>& says) {
    const Expected<CorticalPlacement> made = place_cortical_network(config, devices);
    ASSERT_FALSE(made) << says[0];
    EXPECT_EQ(made.error().status, status);
    for (const std::string& text : says)
      EXPECT_NE(std::string(made.error().text).find(text), std::string::npos) << made.error().text;
  };
  const auto invalid = Status::kInvalidArgument;
  expect(tree, {}, invalid, {"no device", "give a CPU, a GPU"});
  expect(tree, std::vector<PlacementDevice>(17, gpu(1.0)), invalid, {"17 devices", "16"});
  expect(tree, {cpu(1.0), cpu(1.0)}, invalid, {"'cpu' and 'cpu'", "one"});
  expect(tree, {gpu(1.0, 0)}, invalid, {"memory of device 'gpu 1.000000' is 0", "leave out"});
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    PlacementDevice device = gpu(1.0);
    device.name = "left";
    device.speed = bad;
    expect(tree, {device}, invalid, {"speed of device 'left'", "above 0"});
    device = gpu(1.0);
    device.link_bytes_per_s = bad;
    expect(tree, {device}, invalid, {"link_bytes_per_s", "above 0"});
    device = gpu(1.0);
    device.link_both_bytes_per_s = bad;
    expect(tree, {device}, invalid, {"link_both_bytes_per_s", "above 0"});
    device = gpu(1.0);
    device.measured.assign(5, {0.0, bad});
    expect(tree, {device}, invalid, {"hypercolumn_s", "above 0"});
    if (bad == 0.0) continue;
    device = gpu(1.0);
    device.launch_s = bad;
    expect(tree, {device}, invalid, {"launch_s", "0 or more"});
    device = gpu(1.0);
    device.link_latency_s = bad;
    expect(tree, {device}, invalid, {"link_latency_s", "0 or more"});
  }
  PlacementDevice device = gpu(1.0);
  device.measured.resize(4, {0.0, 1e-6});
  expect(tree, {device}, invalid, {"measured times of 4 levels", "5"});

  CorticalNetworkConfig config = tree;
  config.levels[2] = {1, 1, 1, 1, 32};
  expect(config, {gpu(1.0)}, invalid, {"level 3", "must converge"});
  config = tree;
  config.level_count = 0;
  expect(config, {gpu(1.0)}, invalid, {"level_count is 0"});

  expect(tree, {gpu(1.0, 1000), gpu(1.0, 2000)}, Status::kOutOfMemory,
         {"more than the memory of every GPU", "'gpu 1.000000', 2000 bytes"});
  expect(tree, {cpu(1.0, 1000)}, Status::kOutOfMemory,
         {"memory of every device", "'cpu', 1000 bytes", "give a device"});
  expect(binary_tree(1024, 32), {gpu(1.0, 2 << 20), cpu(1.0, 1 << 20)}, Status::kOutOfMemory,
         {"the host keeps it", "'cpu' has 1048576 bytes"});
  // A level with overlapping windows is not split.
  config = {};
  config.width = 64;
  config.height = 64;
  config.level_count = 2;
  config.levels[0] = {4, 4, 4, 4, 32};
  config.levels[1] = {2, 2, 1, 1, 32};
  expect(config, {gpu(1.0, 500000)}, Status::kOutOfMemory, {"level 2", "overlapping windows"});
  EXPECT_FALSE(hypercolumn_cost(tree, 5, PlacementKind::kCpu));
  EXPECT_FALSE(hypercolumn_cost(tree, -1, PlacementKind::kCpu));
}

}  // namespace
}  // namespace ocellus
