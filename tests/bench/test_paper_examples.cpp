// The programs of section 9 of the paper on a device, with all schedules: against a reference in
// double precision, and with blocks that cannot all be resident.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "bench/layered_reference.h"
#include "bench/papers/core/paper_examples.h"
#include "bench/papers/core/paper_layered_program.h"
#include "conformance/conformance.h"
#include "kernels/trouble_kernels.h"

namespace ocellus::test {
namespace {

using paper::FeedForwardArguments;
using paper::FeedForwardConfig;
using paper::LayeredProgram;
using paper::LayerSchedule;
using paper::ReductionArguments;
using paper::ReductionConfig;

using PaperExamplesOnDevice = OnDevice;

/// Ends the program if the kernels take 20 seconds: nothing can stop a kernel whose blocks wait for
/// ever.
template <typename Run>
void in_time(const Run& run) {
  std::promise<void> ended;
  std::thread guard([done = ended.get_future()] {
    if (done.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return;
    std::fprintf(stderr, "the schedule did not end\n");
    std::_Exit(1);
  });
  run();
  ended.set_value();
  guard.join();
}

/// A program and the engine with its memory.
template <typename Arguments>
struct Running {
  Engine engine;
  LayeredProgram<Arguments> program;

  static Running make(const typename Arguments::Config& config, LayerSchedule schedule,
                      int most_blocks = 0) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.memory += must(LayeredProgram<Arguments>::footprint(config));
    Engine engine = must(Engine::create(settings));
    auto program = must(LayeredProgram<Arguments>::create(engine, config, schedule, most_blocks));
    return {std::move(engine), std::move(program)};
  }

  /// The results of a run for each input, in order.
  std::vector<std::vector<float>> results(const std::vector<std::vector<float>>& inputs) {
    const auto layers = static_cast<std::size_t>(program.arguments().layer_count);
    const auto behind = pipelined ? layers - 1 : 0;
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < inputs.size() + behind; ++i) {
      if (i < inputs.size()) must(program.upload(program.arguments().input, inputs[i]));
      must(program.run());
      if (i < behind) continue;
      all.emplace_back(static_cast<std::size_t>(program.arguments().last().results));
      must(program.read(all.back()));
    }
    return all;
  }

  bool pipelined = false;
};

std::vector<std::vector<float>> reduce(const ReductionConfig& config, LayerSchedule schedule,
                                       const std::vector<std::vector<float>>& inputs,
                                       int most_blocks = 0) {
  auto running = Running<ReductionArguments>::make(config, schedule, most_blocks);
  running.pipelined = schedule == LayerSchedule::kPipelined;
  std::vector<std::vector<float>> results;
  in_time([&] { results = running.results(inputs); });
  return results;
}

struct Weights {
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> bias;
};
Weights random_weights(const FeedForwardConfig& config) {
  Weights made;
  for (std::size_t l = 0; l < FeedForwardConfig::kLayers; ++l) {
    const auto inputs = static_cast<std::size_t>(config.sizes[l]);
    const auto neurons = static_cast<std::size_t>(config.sizes[l + 1]);
    // Sums of about 1, where tanh is neither linear nor constant.
    const float most = 1.7f / std::sqrt(static_cast<float>(inputs)) * (l == 0 ? 1.7f : 2.5f);
    made.weights.push_back(random_values(inputs * neurons, most, static_cast<unsigned>(l)));
    made.bias.push_back(random_values(neurons, 0.3f, static_cast<unsigned>(l) + 10));
  }
  return made;
}

void upload(LayeredProgram<FeedForwardArguments>& program, const Weights& weights) {
  for (std::size_t l = 0; l < FeedForwardConfig::kLayers; ++l) {
    must(program.upload(program.arguments().weights[l], weights.weights[l]));
    must(program.upload(program.arguments().bias[l], weights.bias[l]));
  }
}

std::vector<std::vector<float>> feed_forward(const FeedForwardConfig& config,
                                             LayerSchedule schedule,
                                             const std::vector<std::vector<float>>& inputs,
                                             int most_blocks = 0) {
  auto running = Running<FeedForwardArguments>::make(config, schedule, most_blocks);
  running.pipelined = schedule == LayerSchedule::kPipelined;
  upload(running.program, random_weights(config));
  std::vector<std::vector<float>> results;
  in_time([&] { results = running.results(inputs); });
  return results;
}

// Fails if a schedule leaves out or repeats a value, reads a partial sum before it is there or of
// another run: sums of one to four layers, whole and partial groups, several runs.
TEST_F(PaperExamplesOnDevice, ReductionMatchesTheSum) {
  struct Case {
    int elements;
    int fan_in;
    int layers;
  };
  for (const Case& one : {Case{2, 64, 1},
                          {64, 64, 1},
                          {65, 64, 2},
                          {100000, 64, 3},
                          {1 << 20, 1024, 2},
                          {1000003, 256, 3},
                          {16777217, 128, 4}}) {
    SCOPED_TRACE(std::to_string(one.elements) + " by " + std::to_string(one.fan_in));
    const ReductionConfig config{one.elements, one.fan_in};
    std::vector<std::vector<float>> inputs;
    for (unsigned run = 0; run < 4; ++run)
      inputs.push_back(random_values(static_cast<std::size_t>(one.elements), 1.0f, run));
    const auto levels = reduce(config, LayerSchedule::kLevels, inputs);
    for (std::size_t run = 0; run < inputs.size(); ++run) {
      const ReferenceSum expected = reference_sum(inputs[run]);
      EXPECT_NEAR(static_cast<double>(levels[run][0]), expected.sum, 1e-6 * expected.absolute);
    }
    EXPECT_EQ(reduce(config, LayerSchedule::kPipelined, inputs), levels);
    EXPECT_EQ(reduce(config, LayerSchedule::kQueue, inputs), levels);
    ReductionArguments arguments{};
    must(arguments.describe(config));
    EXPECT_EQ(arguments.layer_count, one.layers);
  }
}

// Fails if a schedule computes another neuron, or reads outputs before they are there or of another
// run: layers that fill blocks and warps and some that do not, several runs.
TEST_F(PaperExamplesOnDevice, NetMatchesTheEquation) {
  for (const FeedForwardConfig& config :
       {FeedForwardConfig{}, FeedForwardConfig{{1, 1, 1, 1, 1}},
        FeedForwardConfig{{841, 1014, 1250, 100, 10}}, FeedForwardConfig{{33, 7, 9, 65, 8}}}) {
    SCOPED_TRACE(config.sizes[1]);
    std::vector<std::vector<float>> inputs;
    for (unsigned run = 0; run < 5; ++run)
      inputs.push_back(random_values(static_cast<std::size_t>(config.sizes[0]), 1.0f, 100 + run));
    const auto levels = feed_forward(config, LayerSchedule::kLevels, inputs);
    const Weights weights = random_weights(config);
    for (std::size_t run = 0; run < inputs.size(); ++run) {
      const auto expected = reference_net(config.sizes, weights.weights, weights.bias, inputs[run]);
      for (std::size_t c = 0; c < expected.size(); ++c)
        EXPECT_NEAR(static_cast<double>(levels[run][c]), expected[c], 1e-4) << c;
    }
    EXPECT_EQ(feed_forward(config, LayerSchedule::kPipelined, inputs), levels);
    EXPECT_EQ(feed_forward(config, LayerSchedule::kQueue, inputs), levels);
  }
}

// Fails if blocks of the queue wait for blocks that are not resident: one block, fewer and far more
// than can be resident, more than there are tasks.
TEST_F(PaperExamplesOnDevice, QueueNeedsNoOtherBlocks) {
  const ReductionConfig config{300000, 64};
  const std::vector<std::vector<float>> inputs = {random_values(300000, 1.0f, 1),
                                                  random_values(300000, 1.0f, 2)};
  const auto sums = reduce(config, LayerSchedule::kLevels, inputs);
  const FeedForwardConfig net{{784, 3000, 1024, 128, 10}};
  const std::vector<std::vector<float>> images = {random_values(784, 1.0f, 3),
                                                  random_values(784, 1.0f, 4)};
  const auto outputs = feed_forward(net, LayerSchedule::kLevels, images);
  for (const int blocks : {1, 2, 33, 5000, 100000}) {
    SCOPED_TRACE(blocks);
    EXPECT_EQ(reduce(config, LayerSchedule::kQueue, inputs, blocks), sums);
    EXPECT_EQ(feed_forward(net, LayerSchedule::kQueue, images, blocks), outputs);
  }
}

// Fails if blocks of the queue wait for blocks that cannot become resident: another kernel occupies
// all multiprocessors but one until the runs are done.
TEST_F(PaperExamplesOnDevice, QueueEndsBesideAnotherKernel) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  int* stop = nullptr;
  ASSERT_EQ(cudaHostAlloc(&stop, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  *stop = 0;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const ReductionConfig config{200000, 64};
  const std::vector<std::vector<float>> inputs = {random_values(200000, 1.0f, 5)};
  const std::vector<std::vector<float>> images = {random_values(784, 1.0f, 6)};
  const auto sums = reduce(config, LayerSchedule::kLevels, inputs);
  const auto outputs = feed_forward({}, LayerSchedule::kLevels, images);

  // Memory is taken before, because that waits for the device.
  auto reduction = Running<ReductionArguments>::make(config, LayerSchedule::kQueue, 5000);
  auto net = Running<FeedForwardArguments>::make({}, LayerSchedule::kQueue, 5000);
  upload(net.program, random_weights({}));
  auto one_block = Running<FeedForwardArguments>::make({}, LayerSchedule::kQueue, 1);
  upload(one_block.program, random_weights({}));
  // A block with all of the shared memory leaves no room on its multiprocessor.
  ASSERT_EQ(launch_blocks_until(stop, properties.multiProcessorCount - 1,
                                static_cast<int>(properties.sharedMemPerBlockOptin), stream),
            cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  in_time([&] {
    EXPECT_EQ(reduction.results(inputs), sums);
    EXPECT_EQ(net.results(images), outputs);
    EXPECT_EQ(one_block.results(images), outputs);
  });
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady) << "the other kernel has ended too early";
  static_cast<volatile int*>(stop)[0] = 1;
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(stop), cudaSuccess);
}

// Fails if a size that is not possible is taken, if the error does not name it, or if the CPU is
// taken for a device.
TEST(PaperExamplesConfig, IsChecked) {
  const auto reduction = [](const ReductionConfig& config) {
    return LayeredProgram<ReductionArguments>::footprint(config);
  };
  expect_words(reduction({1, 64}).error(), Status::kInvalidArgument, {"elements is 1"});
  expect_words(reduction({(1 << 28) + 1, 64}).error(), Status::kInvalidArgument, {"elements"});
  expect_words(reduction({100, 63}).error(), Status::kInvalidArgument, {"fan_in is 63"});
  EXPECT_TRUE(reduction({1 << 28, 64}));
  const auto net = LayeredProgram<FeedForwardArguments>::footprint({{1, 2, 0, 4, 5}});
  expect_words(net.error(), Status::kInvalidArgument, {"sizes[2] is 0"});
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory.host = 1 << 20;
  Engine engine = must(Engine::create(settings));
  const auto on_cpu =
      LayeredProgram<ReductionArguments>::create(engine, {}, LayerSchedule::kLevels);
  ASSERT_FALSE(on_cpu);
  EXPECT_EQ(on_cpu.error().status, Status::kUnsupported);
}

}  // namespace
}  // namespace ocellus::test
