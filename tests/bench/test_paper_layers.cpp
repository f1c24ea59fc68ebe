// The kernels of the programs of section 9 of the paper, run on the host: all schedules, against a
// reference in double precision. Needs no GPU. Blocks run one after the other, so that each block
// of a queue is the only one that is resident.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/layered_reference.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "bench/papers/core/paper_examples.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

using paper::FeedForwardArguments;
using paper::FeedForwardConfig;
using paper::LayerSchedule;
using paper::ReductionArguments;
using paper::ReductionConfig;

/// As paper::LayeredProgram, in the memory of the host.
template <typename Arguments>
class HostProgram {
 public:
  HostProgram(const typename Arguments::Config& config, LayerSchedule schedule, unsigned blocks)
      : schedule_(schedule), blocks_(blocks) {
    must(arguments.describe(config));
    detail::LayoutBuilder sizes(nullptr, 64);
    arguments.layout(sizes);
    memory_.assign(sizes.bytes() + 64, 0);
    void* begin = memory_.data();
    std::size_t room = memory_.size();
    detail::LayoutBuilder places(std::align(64, sizes.bytes(), begin, room), 64);
    arguments.layout(places);
  }

  void upload(const float* to, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), const_cast<float*>(to));
  }

  void run() {
    const auto kernels = layer_kernels(arguments);
    if (schedule_ == LayerSchedule::kPipelined) {
      arguments.launch = launches_++;
      launch(kernels.pipeline, blocks_);
      return;
    }
    if (schedule_ == LayerSchedule::kQueue) {
      launch(kernels.queue, blocks_);
      ++arguments.run;
      return;
    }
    for (arguments.layer = 0; arguments.layer < arguments.layer_count; ++arguments.layer) {
      launch(kernels.layer, static_cast<unsigned>(
                                arguments.layers[static_cast<std::size_t>(arguments.layer)].tasks));
    }
  }

  std::vector<std::vector<float>> results(const std::vector<std::vector<float>>& inputs) {
    const bool pipelined = schedule_ == LayerSchedule::kPipelined;
    const auto behind =
        pipelined ? static_cast<std::size_t>(arguments.layer_count) - 1 : std::size_t{0};
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < inputs.size() + behind; ++i) {
      if (i < inputs.size()) upload(arguments.input, inputs[i]);
      run();
      if (i < behind) continue;
      const float* const from =
          arguments.results[pipelined && launches_ % 2 == 0 ? 1 : 0] + arguments.last().results_at;
      all.emplace_back(from, from + arguments.last().results);
    }
    return all;
  }

  Arguments arguments{};

 private:
  void launch(paper::Kernel<Arguments> kernel, unsigned blocks) {
    simt::launch(kernel, blocks, 1, paper::kLayerThreads, arguments);
  }

  LayerSchedule schedule_;
  unsigned blocks_;
  std::vector<std::uint8_t> memory_;
  std::uint64_t launches_ = 0;
};

// Fails if a task of the reduction adds up other values than its own, if a schedule computes a task
// twice or not at all, or if a run finds the counters of the run before.
TEST(PaperLayers, ReductionMatchesTheSum) {
  for (const ReductionConfig& config : {ReductionConfig{2, 64}, {1500, 64}, {2000, 700}}) {
    SCOPED_TRACE(config.elements);
    std::vector<std::vector<float>> inputs;
    for (unsigned run = 0; run < 3; ++run)
      inputs.push_back(random_values(static_cast<std::size_t>(config.elements), 1.0f, run));
    const auto levels =
        HostProgram<ReductionArguments>(config, LayerSchedule::kLevels, 1).results(inputs);
    for (std::size_t run = 0; run < inputs.size(); ++run) {
      const ReferenceSum expected = reference_sum(inputs[run]);
      EXPECT_NEAR(static_cast<double>(levels[run][0]), expected.sum, 1e-6 * expected.absolute);
    }
    for (const LayerSchedule schedule : {LayerSchedule::kPipelined, LayerSchedule::kQueue}) {
      for (const unsigned blocks : {1u, 7u})
        EXPECT_EQ(HostProgram<ReductionArguments>(config, schedule, blocks).results(inputs),
                  levels);
    }
  }
}

// Fails if the queue ends, or never ends, when the counters of the groups wrap around.
TEST(PaperLayers, CountersWrapAround) {
  HostProgram<ReductionArguments> program({1500, 64}, LayerSchedule::kQueue, 5);
  program.arguments.run = 0xfffffffeu;
  for (int l = 0; l < program.arguments.layer_count; ++l) {
    const paper::TaskLayer& layer = program.arguments.layers[static_cast<std::size_t>(l)];
    for (int g = 0; g < layer.groups(); ++g) {
      program.arguments.done[layer.first_group + g] =
          program.arguments.run *
          static_cast<unsigned>(std::min(layer.group, layer.tasks - g * layer.group));
    }
  }
  std::vector<std::vector<float>> inputs;
  for (unsigned run = 0; run < 4; ++run) inputs.push_back(random_values(1500, 1.0f, run));
  const auto results = program.results(inputs);
  EXPECT_EQ(program.arguments.run, 2u);
  EXPECT_EQ(results,
            HostProgram<ReductionArguments>({1500, 64}, LayerSchedule::kLevels, 1).results(inputs));
}

// Fails if a neuron has other weights or inputs than its own, or a schedule another result.
TEST(PaperLayers, NetMatchesTheEquation) {
  const FeedForwardConfig config{{50, 33, 64, 9, 5}};
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> bias;
  for (std::size_t l = 0; l < FeedForwardConfig::kLayers; ++l) {
    const auto neurons = static_cast<std::size_t>(config.sizes[l + 1]);
    weights.push_back(random_values(neurons * static_cast<std::size_t>(config.sizes[l]), 0.4f,
                                    static_cast<unsigned>(l)));
    bias.push_back(random_values(neurons, 0.3f, static_cast<unsigned>(l) + 10));
  }
  std::vector<std::vector<float>> inputs;
  for (unsigned run = 0; run < 3; ++run) inputs.push_back(random_values(50, 1.0f, 20 + run));
  const auto run = [&](LayerSchedule schedule, unsigned blocks) {
    HostProgram<FeedForwardArguments> program(config, schedule, blocks);
    for (std::size_t l = 0; l < FeedForwardConfig::kLayers; ++l) {
      program.upload(program.arguments.weights[l], weights[l]);
      program.upload(program.arguments.bias[l], bias[l]);
    }
    return program.results(inputs);
  };
  const auto levels = run(LayerSchedule::kLevels, 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto expected = reference_net(config.sizes, weights, bias, inputs[i]);
    for (std::size_t c = 0; c < expected.size(); ++c)
      EXPECT_NEAR(static_cast<double>(levels[i][c]), expected[c], 1e-5) << c;
  }
  for (const LayerSchedule schedule : {LayerSchedule::kPipelined, LayerSchedule::kQueue})
    for (const unsigned blocks : {1u, 3u}) EXPECT_EQ(run(schedule, blocks), levels);
}

}  // namespace
}  // namespace ocellus::test
