// Placed cortical networks over the fake driver, whose devices run the kernels on the host: several
// devices, streaming, files, errors, and each CUDA call failing in turn. Needs no GPU.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "cortical_network/host_network_work.h"
#include "cortical_network/placements.h"
#include "kernels/fake_driver.h"
#include "support/failing_calls.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

constexpr PlacementKind kGpu = PlacementKind::kGpu;
constexpr PlacementKind kCpu = PlacementKind::kCpu;

class PlacedNetwork : public testing::Test {
 protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    EXPECT_TRUE(fake_driver().empty()) << "leaks";
    reset_fake_driver();
  }

  static void reset() {
    reset_fake_driver();
    FakeDriver& driver = fake_driver();
    driver.devices = 4;
    driver.kernel = [](const cudaLaunchConfig_t& config, const void* kernel, void** arguments) {
      return host_network_work(kernel, config.gridDim.x, config.blockDim.x, arguments);
    };
  }
  static void expect_in_place() {
    EXPECT_TRUE(fake_driver().misplaced.empty()) << fake_driver().misplaced.front();
    EXPECT_EQ(fake_driver().without_context, 0);
  }
};

/// 16 roots at level 2 with subtrees of a row, 6 of them not in a window of the level above.
CorticalNetworkConfig uneven_rows() {
  CorticalNetworkConfig config;
  config.width = 3 * 33;
  config.height = 1;
  config.level_count = 4;
  config.levels[0] = {3, 1, 3, 1, 40};  // 33
  config.levels[1] = {2, 1, 2, 1, 33};  // 16
  config.levels[2] = {3, 1, 3, 1, 32};  // 5
  config.levels[3] = {2, 1, 2, 1, 34};  // 2
  return config;
}

/// Grids of several rows, with hypercolumns that no window covers, and contrast cells.
CorticalNetworkConfig grids() {
  CorticalNetworkConfig config;
  config.width = 23;
  config.height = 17;
  config.lgn = LgnTransform::kContrast;
  config.lgn_threshold = 20;
  config.level_count = 4;
  config.levels[0] = {4, 3, 2, 2, 33};  // 10 x 8, overlapping
  config.levels[1] = {3, 2, 3, 2, 32};  // 3 x 4
  config.levels[2] = {1, 2, 1, 2, 32};  // 3 x 2
  config.levels[3] = {2, 2, 1, 1, 40};  // 2 x 1, overlapping
  config.learning.random_firing = 0.3f;
  config.learning.threshold = 0.6f;
  return config;
}

// Placements that steps in order and pipelines share.

/// Of binary_tree(16, 32): three GPUs with unequal parts, the levels above on the second one, the
/// highest levels on the CPU.
CorticalPlacement three_gpus(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kGpu, kGpu, kGpu, kCpu}, 2, 4)
      .split(0, 1)
      .split(1, 6)
      .split(2, 8)
      .meet(1)
      .top(3);
}

/// Of uneven_rows(): the CPU has a part of the split levels.
CorticalPlacement part_of_cpu(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kGpu, kCpu, kGpu}, 2, 3)
      .split(0, 5)
      .split(1, 9)
      .split(2, 16)
      .meet(2)
      .top(1);
}

/// Of uneven_rows(): nothing meets on a GPU.
CorticalPlacement meets_on_cpu(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kGpu, kGpu, kCpu}, 3, 3).split(0, 2).split(1, 5).top(2);
}

/// Of grids(): two GPUs with turns.
CorticalPlacement streamed_parts(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kGpu, kGpu, kCpu}, 2, 3)
      .split(0, 7)
      .stream(1, 2)
      .split(1, 12)
      .stream(2, 1)
      .meet(1)
      .top(2);
}

CorticalPlacement all_on_gpu(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kGpu}, 4, 4).split(0, 2);
}
CorticalPlacement all_on_cpu(const CorticalNetworkConfig& config) {
  return PlacementText(config, {kCpu}, 0, 0).top(0);
}

// Winners go from device to device, and through pinned memory where devices cannot access each
// other. Work is done as late as CUDA allows. Fails when a part computes other hypercolumns than
// its own, or is gathered before it is computed.
TEST_F(PlacedNetwork, PartsEqualTheCpu) {
  const CorticalNetworkConfig config = binary_tree(16, 32);
  const CorticalPlacement placement = three_gpus(config);
  for (const bool peers : {true, false}) {
    SCOPED_TRACE(peers ? "peers" : "through pinned memory");
    reset();
    fake_driver().peers = peers;
    fake_driver().lazy = true;
    compare_placed(config, placement, {0, 1, 2}, 40);
    expect_in_place();
    EXPECT_EQ(fake_driver().peer_copies, peers ? 2 * 40 : 0);
  }
}

// Two engines on one device, and a part of the split levels on the CPU. Fails when the parts mix
// their arrays, or the CPU's winners do not reach the device above.
TEST_F(PlacedNetwork, TwoEnginesOnADeviceAndTheCpu) {
  fake_driver().lazy = true;
  const CorticalNetworkConfig config = uneven_rows();
  compare_placed(config, part_of_cpu(config), {0, 0, 0}, 60, 0.01, 2);
  compare_placed(config, meets_on_cpu(config), {1, 0}, 40);
  expect_in_place();
}

// Parts that begin and end in the middle of a row of a grid. Fails when a rectangle of hypercolumns
// or its pixels are missing, or have the arrays of others.
TEST_F(PlacedNetwork, PartsOfGridsEqualTheCpu) {
  fake_driver().lazy = true;
  const CorticalNetworkConfig config = grids();
  compare_placed(config,
                 PlacementText(config, {kGpu, kGpu, kCpu}, 2, 3)
                     .split(1, 2)
                     .split(0, 7)
                     .split(2, 12)
                     .meet(0)
                     .top(2),
                 {2, 3}, 60, 0.02);
  compare_placed(config, PlacementText(config, {kGpu, kGpu}, 3, 4).split(0, 4).split(1, 6).meet(1),
                 {0, 1}, 30, 0.02);
  expect_in_place();
}

// One device for all, and the CPU for all.
TEST_F(PlacedNetwork, OneDeviceEqualsTheCpu) {
  const CorticalNetworkConfig config = grids();
  compare_placed(config, all_on_gpu(config), {0}, 30);
  compare_placed(config, all_on_cpu(config), {}, 30, 0.02, 2);
  compare_placed(config, PlacementText(config, {kGpu, kCpu}, 1, 1).split(0, 80).top(1), {0}, 30);
  expect_in_place();
}

// Subtrees stream through two buffers, with odd and even numbers of turns, with and without
// hypercolumns that stay, and a smaller last turn. Fails when a turn is computed before it is
// loaded, when a buffer is loaded before it is written back, or when a turn is lost.
TEST_F(PlacedNetwork, StreamedTurnsEqualTheCpu) {
  const CorticalNetworkConfig config = binary_tree(16, 32);
  for (const auto& [resident, size] : {std::pair{2, 1}, std::pair{0, 3}, std::pair{3, 2}}) {
    SCOPED_TRACE(std::to_string(resident) + " stay, " + std::to_string(size) + " in a turn");
    reset();
    fake_driver().lazy = true;
    compare_placed(config,
                   PlacementText(config, {kGpu}, 2, 5).split(0, 8).stream(resident, size).meet(0),
                   {0}, 40);
    expect_in_place();
  }
  const CorticalNetworkConfig of_grids = grids();
  compare_placed(of_grids, streamed_parts(of_grids), {0, 1}, 30, 0.02);
  expect_in_place();
}

// The placement of place_cortical_network() for a limit of two thirds of the network: the engines
// have no more memory than the devices of the plan. Fails when the plan counts less memory than
// there is.
TEST_F(PlacedNetwork, KeepsTheMemoryOfThePlan) {
  const CorticalNetworkConfig config = binary_tree(64, 32);
  PlacementDevice device;
  device.name = "small";
  const auto whole = place_cortical_network(config, {device});
  ASSERT_TRUE(whole);
  for (const double share : {0.66, 0.3}) {
    device.memory = static_cast<std::uint64_t>(share * static_cast<double>(whole->bytes)) + 20000;
    const auto placement = place_cortical_network(config, {device});
    ASSERT_TRUE(placement) << placement.error().text;
    ASSERT_TRUE(placement->streamed);
    EXPECT_LE(must(PlacedCorticalNetwork::footprint(config, *placement, 0)).device, device.memory);
    compare_placed(config, *placement, {0}, 10);
  }
  device.memory = whole->bytes / 2;
  PlacementDevice other = device;
  other.memory = whole->bytes * 3 / 5 + 20000;
  other.speed = 0.4;
  const auto placement = place_cortical_network(config, {device, other});
  ASSERT_TRUE(placement) << placement.error().text;
  EXPECT_FALSE(placement->streamed);
  for (int d = 0; d < 2; ++d) {
    EXPECT_LE(must(PlacedCorticalNetwork::footprint(config, *placement, d)).device,
              d == 0 ? device.memory : other.memory);
  }
  compare_placed(config, *placement, {0, 1}, 10);
}

// Pipelines: parts that meet on a GPU, with peers and through pinned memory, with a part of the CPU
// and the highest level on it, with turns, and on one device. Fails when a copy of the image or of
// the number of a step is overwritten before it is sent, when winners of two steps mix, or when
// finish() leaves a level behind.
TEST_F(PlacedNetwork, PipelinesEqualTheCpu) {
  const CorticalNetworkConfig tree = binary_tree(16, 32);
  const CorticalPlacement parts = three_gpus(tree);
  for (const bool peers : {true, false}) {
    reset();
    fake_driver().peers = peers;
    fake_driver().lazy = true;
    compare_pipelined(tree, parts, {0, 1, 2}, 33);
    expect_in_place();
  }
  const CorticalNetworkConfig rows = uneven_rows();
  compare_pipelined(rows, part_of_cpu(rows), {0, 0, 0}, 33, 0.01, 2);
  compare_pipelined(rows, meets_on_cpu(rows), {1, 0}, 33);
  const CorticalNetworkConfig of_grids = grids();
  compare_pipelined(of_grids, streamed_parts(of_grids), {0, 1}, 22, 0.02);
  compare_pipelined(of_grids, all_on_gpu(of_grids), {0}, 22);
  compare_pipelined(of_grids, all_on_cpu(of_grids), {}, 22, 0.02, 2);
  expect_in_place();
}

// Two devices with unlike measured times, simulated: the profiled split gives the faster one more,
// the even split each a half. Fails if one of them has other winners than the CPU, if both are the
// same split, or if the model does not expect the profiled one to be faster.
TEST_F(PlacedNetwork, EvenAndProfiledSplitsEqualTheCpu) {
  fake_driver().lazy = true;
  const CorticalNetworkConfig config = binary_tree(32, 32);
  std::vector<PlacementDevice> devices(3);
  devices[2].kind = kCpu;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const double hypercolumn_s = std::array{1e-5, 3e-5, 1e-3}[d];
    devices[d].measured.assign(static_cast<std::size_t>(config.level_count), {1e-6, hypercolumn_s});
  }
  std::array<double, 2> steps{};
  for (const PlacementRule rule : {PlacementRule::kProfiled, PlacementRule::kEven}) {
    const CorticalPlacement placement = must(place_cortical_network(config, devices, rule));
    ASSERT_GE(placement.parts.size(), 3u);
    ASSERT_EQ(placement.parts[1].first_level, 0);
    steps[static_cast<std::size_t>(rule)] = placement.step_s;
    const auto first = placement.parts[0].hypercolumns;
    const auto second = placement.parts[1].hypercolumns;
    if (rule == PlacementRule::kEven) {
      EXPECT_EQ(first, second);
    } else {
      EXPECT_GT(first, 2 * second);
    }
    compare_placed(config, placement, {0, 1}, 20);
  }
  EXPECT_LT(steps[0], 0.8 * steps[1]);
  expect_in_place();
}

// Files go from one class to the other. Fails when an array is missing in the file, or what weights
// imply is wrong after it was read: the steps that follow would differ.
TEST_F(PlacedNetwork, FilesContinueInEitherClass) {
  const std::string path = testing::TempDir() + "placed.ocellus";
  for (const bool streamed : {false, true}) {
    const CorticalNetworkConfig config = grids();
    PlacementText text(config, {kGpu, kGpu, kCpu}, 2, 3);
    text.split(0, 5);
    if (streamed) text.stream(1, 1);
    const CorticalPlacement placement = text.split(1, 10).split(2, 12).meet(1).top(2);
    PlacedEngines engines(config, placement, {0, 1});
    Patterns patterns(6, 23 * 17, 0.02, 5);
    CorticalNetwork expected = must(CorticalNetwork::create(config));
    {
      PlacedCorticalNetwork placed =
          must(PlacedCorticalNetwork::create(config, placement, engines.pointers));
      for (int i = 0; i < 20; ++i) {
        const auto image = patterns.next();
        must(placed.step(image.data(), 23, true));
        expected.step(image.data(), 23, true);
      }
      must(placed.save_file(path.c_str()));
    }
    CorticalNetwork read = must(CorticalNetwork::load_file(path.c_str()));
    EXPECT_EQ(read.steps(), expected.steps());
    must(read.save_file(path.c_str()));
    PlacedCorticalNetwork placed =
        must(PlacedCorticalNetwork::load_file(path.c_str(), placement, engines.pointers));
    EXPECT_EQ(placed.steps(), expected.steps());
    compare_placed_steps(placed, expected, 20, 0.02, 11);
    std::remove(path.c_str());
  }
}

// Fails when a placement that does not fit the network, or engines that do not fit the placement,
// are accepted, or when the text does not say what is wrong.
TEST_F(PlacedNetwork, RefusesWhatDoesNotFit) {
  const CorticalNetworkConfig config = binary_tree(16, 32);
  const auto text = [&](int split_levels, int cpu_level) {
    return PlacementText(config, {kGpu, kGpu, kCpu}, split_levels, cpu_level);
  };
  const auto refuses = [&](const CorticalPlacement& placement, const std::vector<std::string>& says,
                           Status status = Status::kInvalidArgument) {
    const auto bytes = PlacedCorticalNetwork::footprint(config, placement, 0);
    ASSERT_FALSE(bytes);
    expect_words(bytes.error(), status, says);
  };
  refuses(PlacementText(binary_tree(8, 32), {kGpu}, 4, 4).split(0, 1), {"4 levels", "5"});
  refuses(PlacementText(binary_tree(16, 64), {kGpu}, 5, 5).split(0, 1), {"another network"});
  refuses(text(2, 4).split(0, 8).meet(0), {"no part", "levels 5 to 5"});
  refuses(text(2, 4).split(0, 7).meet(0).top(2), {"no part", "levels 1 to 2"});
  refuses(text(2, 4).split(0, 7).split(0, 8).meet(0).top(2), {"another part"});
  refuses(text(2, 4).split(0, 8).meet(2).top(2), {"a GPU must compute"});
  refuses(text(2, 4).split(0, 8).meet(0).top(1), {"the CPU the others"});
  refuses(text(2, 4).split(5, 8).meet(0).top(2), {"no such device"});
  refuses(text(2, 4).split(0, 8).stream(6, 2).meet(0).top(2), {"2 turns or more"});
  CorticalNetworkConfig with_feedback = config;
  with_feedback.feedback_rounds = 2;
  const auto feedback =
      PlacedCorticalNetwork::footprint(with_feedback, text(2, 4).split(0, 8).meet(0).top(2), 0);
  ASSERT_FALSE(feedback);
  expect_words(feedback.error(), Status::kUnsupported, {"feedback_rounds is 2"});
  const CorticalNetworkConfig tiles = grids();
  const auto overlapping = PlacedCorticalNetwork::footprint(
      tiles, PlacementText(tiles, {kGpu, kGpu}, 4, 4).split(0, 1).split(1, 2), 0);
  ASSERT_FALSE(overlapping);
  expect_words(overlapping.error(), Status::kInvalidArgument, {"overlap"});

  const CorticalPlacement placement = text(2, 4).split(0, 5).split(1, 8).meet(0).top(2);
  PlacedEngines engines(config, placement, {0, 1});
  const auto fails = [&](const std::vector<Engine*>& on, Status status,
                         const std::vector<std::string>& says) {
    const auto made = PlacedCorticalNetwork::create(config, placement, on);
    ASSERT_FALSE(made);
    expect_words(made.error(), status, says);
  };
  fails({engines.pointers[0]}, Status::kInvalidArgument, {"1 engines", "3 devices"});
  fails({engines.pointers[0], nullptr, engines.pointers[2]}, Status::kInvalidArgument,
        {"engine 1 is missing", "'gpu 1'", "a GPU"});
  fails({engines.pointers[0], engines.pointers[2], engines.pointers[2]}, Status::kInvalidArgument,
        {"engine 1 computes on the CPU", "'gpu 1', is a GPU"});
  fails({engines.pointers[0], engines.pointers[1], engines.pointers[1]}, Status::kInvalidArgument,
        {"engine 2 computes on the CUDA device 'Fake'", "'cpu', is a CPU"});
  EngineConfig small = engine_config(1, BackendChoice::kCuda);
  small.memory = must(PlacedCorticalNetwork::footprint(config, placement, 1));
  small.memory.device -= 4096;
  Engine too_small = must(Engine::create(small));
  fails({engines.pointers[0], &too_small, engines.pointers[2]}, Status::kOutOfMemory,
        {"device 'gpu 1'", "device memory"});
  // Everything that was taken is given back.
  EXPECT_EQ(engines.engines[0].memory_use().used.device, 0u);
  must(PlacedCorticalNetwork::create(config, placement, engines.pointers));
}

// Fails if a child process of fork() calls CUDA, hangs or gets an error other than Unsupported when
// it uses or destroys a network of its parent, whose devices have work.
TEST_F(PlacedNetwork, AChildOfForkCallsNothing) {
  const CorticalNetworkConfig config = binary_tree(8, 32);
  const CorticalPlacement placement = PlacementText(config, {kGpu, kGpu, kCpu}, 1, 3)
                                          .split(0, 5)
                                          .stream(1, 2)
                                          .split(1, 8)
                                          .meet(1)
                                          .top(2);
  PlacedEngines engines(config, placement, {0, 1});
  std::optional<PlacedCorticalNetwork> network =
      must(PlacedCorticalNetwork::create(config, placement, engines.pointers));
  const std::vector<std::uint8_t> image(
      static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), 255);
  must(network->step(image.data(), config.width, true));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const long calls = fake_driver().calls;
    const auto unsupported = [](const Expected<void>& result) {
      return !result && result.error().status == Status::kUnsupported &&
             std::strstr(result.error().text, "fork") != nullptr;
    };
    std::vector<std::int32_t> winners(static_cast<std::size_t>(roots_at(config, 0)));
    std::vector<std::uint16_t> weights(static_cast<std::size_t>(network->inputs(0)) *
                                       static_cast<std::size_t>(network->minicolumns(0)));
    if (!unsupported(network->step(image.data(), config.width, true))) _exit(1);
    if (!unsupported(network->save_file("/dev/null"))) _exit(2);
    if (!unsupported(network->read_winners(0, winners))) _exit(3);
    if (!unsupported(network->read_weights(0, 0, weights))) _exit(4);
    network.reset();
    engines.engines.clear();
    _exit(fake_driver().calls == calls ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  must(network->step(image.data(), config.width, true));
}

/// Uses everything of a network, up to the first error.
Expected<void> use(const CorticalNetworkConfig& config, const CorticalPlacement& placement,
                   const std::string& path) {
  std::vector<Engine> engines;
  for (std::size_t d = 0; d < placement.devices.size(); ++d) {
    const bool cpu = placement.devices[d].kind == kCpu;
    EngineConfig settings = engine_config(1, cpu ? BackendChoice::kCpu : BackendChoice::kCuda);
    settings.backend.device = cpu ? 0 : static_cast<int>(d);
    settings.memory =
        must(PlacedCorticalNetwork::footprint(config, placement, static_cast<int>(d)));
    Expected<Engine> engine = Engine::create(settings);
    if (!engine) return tl::unexpected(engine.error());
    engines.push_back(std::move(*engine));
  }
  std::vector<Engine*> pointers;
  for (Engine& engine : engines) pointers.push_back(&engine);
  auto network = PlacedCorticalNetwork::create(config, placement, pointers);
  if (!network) return tl::unexpected(network.error());
  const std::vector<std::uint8_t> image(
      static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height), 255);
  for (int i = 0; i < 2; ++i) {
    if (auto done = network->step(image.data(), config.width, true); !done) {
      // The error stays.
      const auto again = network->step(image.data(), config.width, true);
      EXPECT_FALSE(again);
      if (!again) {
        EXPECT_STREQ(again.error().text, done.error().text);
      }
      EXPECT_FALSE(network->save_file(path.c_str()));
      return done;
    }
  }
  std::vector<std::int32_t> winners(static_cast<std::size_t>(roots_at(config, 0)));
  if (auto done = network->read_winners(0, winners); !done) return done;
  return network->save_file(path.c_str());
}

// Fails when a failed call of creation, a step, or a file is ignored or named wrongly, or when
// something made before it leaks. The network streams on one device, and gathers from peers or
// through pinned memory.
// Promises: ERR-002.
TEST_F(PlacedNetwork, EveryCallFailsInTurn) {
  const std::string path = testing::TempDir() + "placed-faults.ocellus";
  const CorticalNetworkConfig config = binary_tree(8, 32);
  const CorticalPlacement placement = PlacementText(config, {kGpu, kGpu, kCpu}, 1, 3)
                                          .split(0, 5)
                                          .stream(1, 2)
                                          .split(1, 8)
                                          .meet(1)
                                          .top(2);
  for (const bool peers : {true, false}) {
    const auto begin = [&] {
      fake_driver().devices = 2;
      fake_driver().peers = peers;
    };
    expect_every_failure_reported(100, begin, [&] { return use(config, placement, path); });
    if (HasFailure()) return;
  }
  std::remove(path.c_str());
}

// Fails when an image in pinned memory is copied by the host, which would need pixels of the whole
// image in the staging buffer, or when memory of a device is accepted.
TEST_F(PlacedNetwork, PinnedImagesAreNotCopied) {
  const CorticalNetworkConfig config = grids();
  const CorticalPlacement placement = PlacementText(config, {kGpu}, 4, 4).split(0, 2);
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  constexpr std::size_t kStride = 40;
  settings.memory = must(PlacedCorticalNetwork::footprint(config, placement, 0)) +
                    Buffer::footprint(MemorySpace::kPinned, kStride * 17);
  Engine engine = must(Engine::create(settings));
  Buffer image = must(Buffer::create(engine, MemorySpace::kPinned, kStride * 17));
  Engine* const engines[] = {&engine};
  PlacedCorticalNetwork network = must(PlacedCorticalNetwork::create(config, placement, engines));
  CorticalNetwork expected = must(CorticalNetwork::create(config));
  auto* const pixels = static_cast<std::uint8_t*>(image.data());
  std::mt19937 random(3);
  for (int step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < kStride * 17; ++i)
      pixels[i] = static_cast<std::uint8_t>(random() % 256);
    must(network.step(pixels, kStride, true, MemorySpace::kPinned));
    expected.step(pixels, kStride, true);
    for (int l = 0; l < 4; ++l) expect_level_winners(network, expected, l);
  }
  const auto on_device = network.step(pixels, kStride, true, MemorySpace::kCuda);
  ASSERT_FALSE(on_device);
  expect_words(on_device.error(), Status::kInvalidArgument, {"memory of the host"});
  EXPECT_EQ(network.steps(), 20u);
}

}  // namespace
}  // namespace ocellus::test
