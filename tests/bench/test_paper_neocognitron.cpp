// The schedules of the paper for the neocognitron against the layers of the operator on the CPU.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "bench/paper_cases.h"
#include "bench/papers/neocognitron/paper_character.h"
#include "bench/papers/neocognitron/paper_neocognitron.h"
#include "bench/papers/neocognitron/paper_operator_layers.h"
#include "conformance/conformance.h"

namespace ocellus::test {
namespace {

using paper::DeviceOperatorLayers;
using paper::OperatorLayers;
using paper::PaperNeocognitron;
using paper::PlaneCells;
using paper::SimpleSchedule;

using PaperNeocognitronOnDevice = OnDevice;

constexpr double kTolerance = 1e-4;
constexpr std::array kSchedules = {SimpleSchedule::kGather,    SimpleSchedule::kColumn,
                                   SimpleSchedule::kOneGrid,   SimpleSchedule::kShared,
                                   SimpleSchedule::kTabulated, SimpleSchedule::kWarps};

std::string name_of(SimpleSchedule schedule) {
  return schedule == SimpleSchedule::kWarps ? "B"
                                            : "T" + std::to_string(static_cast<int>(schedule) + 1);
}

Engine engine_for(const TrainedNeocognitron& network) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = must(PaperNeocognitron::footprint(network));
  return must(Engine::create(settings));
}

/// Cells that no layer writes.
std::vector<float> unwritten(std::size_t count) {
  return std::vector<float>(count, std::numeric_limits<float>::quiet_NaN());
}

/// Each layer for the inputs that the operator has on the CPU.
void expect_layers(const PaperCase& one, std::span<const SimpleSchedule> schedules) {
  Engine engine = engine_for(one.network);
  OperatorLayers ours(one.network);
  for (const SimpleSchedule schedule : schedules) {
    const auto theirs = must(PaperNeocognitron::create(engine, one.network, schedule));
    for (const std::vector<float>& u0 : paper_characters()) {
      ours.recognize(u0.data());
      for (int stage = 0; stage < kNeocognitronStages; ++stage) {
        SCOPED_TRACE(one.name + ", " + name_of(schedule) + ", stage " + std::to_string(stage + 1) +
                     ", " + std::to_string(theirs->threads(stage)) + " threads");
        const std::vector<float> simple = by_position(ours.simple(stage));
        std::vector<float> out = unwritten(simple.size());
        must(theirs->simple_layer(stage, by_position(ours.inputs(stage)), out));
        EXPECT_LT(largest_difference(simple, out), kTolerance);
        if (stage + 1 == kNeocognitronStages) continue;
        const std::vector<float> complex = by_position(ours.inputs(stage + 1));
        out = unwritten(complex.size());
        must(theirs->complex_layer(stage, simple, out));
        EXPECT_LT(largest_difference(complex, out), kTolerance);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Fails when a schedule leaves out an input or a plane, takes a wrong weight, or reads a wrong cell
// at a border.
TEST_F(PaperNeocognitronOnDevice, EveryLayerEqualsTheCpus) {
  for (const PaperCase& one : paper_cases()) {
    expect_layers(one, kSchedules);
    if (HasFailure()) return;
  }
}

// The same of schedules that need no blocks of other sizes than multiples of 32, with few planes.
TEST_F(PaperNeocognitronOnDevice, WholeWarpsEqualTheCpus) {
  NeocognitronParameters parameters;
  parameters.reference_side = 5;
  for (NeocognitronStage& stage : parameters.stages) stage.threshold = 0.4f;
  expect_layers({"few", random_paper_network(parameters, {5, 3, 2}, 2, 3)},
                std::array{SimpleSchedule::kGather, SimpleSchedule::kWarps});
}

// Fails when the layers of a schedule are connected wrongly, or a character changes the next one.
TEST_F(PaperNeocognitronOnDevice, CharactersHaveTheSameScores) {
  for (const PaperCase& one : paper_cases()) {
    Engine engine = engine_for(one.network);
    OperatorLayers ours(one.network);
    for (const SimpleSchedule schedule : kSchedules) {
      SCOPED_TRACE(one.name + ", " + name_of(schedule));
      const auto theirs = must(PaperNeocognitron::create(engine, one.network, schedule));
      for (const std::vector<float>& u0 : paper_characters()) {
        ours.recognize(u0.data());
        std::vector<float> scores = unwritten(one.network.names.size());
        const paper::PaperCharacterTimes times = must(theirs->recognize(u0, scores));
        EXPECT_GT(times.upload_ms, 0.0);
        EXPECT_GT(times.compute_ms, 0.0);
        EXPECT_GT(times.download_ms, 0.0);
        EXPECT_LT(largest_difference(largest_similarities(one.network, ours.simple(3)), scores),
                  kTolerance);
      }
      for (int stage = 0; stage < kNeocognitronStages; ++stage) {
        EXPECT_GT(must(theirs->layer_ms(stage, 3)), 0.0);
        EXPECT_GE(theirs->threads(stage), 1);
        EXPECT_LE(theirs->threads(stage), 1024);
      }
    }
  }
}

// Fails when the layers that are timed alone are not those of the operator.
TEST_F(PaperNeocognitronOnDevice, LayersOfTheOperatorEqualTheCpus) {
  for (const PaperCase& one : paper_cases()) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.memory = must(DeviceOperatorLayers::footprint(one.network));
    Engine engine = must(Engine::create(settings));
    const auto device = must(DeviceOperatorLayers::create(engine, one.network));
    OperatorLayers layers(one.network);
    for (const std::vector<float>& u0 : paper_characters()) {
      layers.recognize(u0.data());
      for (int stage = 0; stage < kNeocognitronStages; ++stage) {
        SCOPED_TRACE(one.name + ", stage " + std::to_string(stage + 1));
        const std::vector<float> simple = by_position(layers.simple(stage));
        std::vector<float> out = unwritten(simple.size());
        must(device->simple_layer(stage, by_position(layers.inputs(stage)), out));
        EXPECT_LT(largest_difference(simple, out), kTolerance);
        EXPECT_GT(must(device->layer_ms(stage, 2)), 0.0);
      }
    }
  }
}

// Fails when arrays of a wrong size reach the device.
TEST_F(PaperNeocognitronOnDevice, SizesAreChecked) {
  const TrainedNeocognitron network = must(read_neocognitron("digits-small"));
  Engine engine = engine_for(network);
  const auto op = must(PaperNeocognitron::create(engine, network, SimpleSchedule::kShared));
  std::vector<float> u0(std::size_t{65} * 65);
  std::vector<float> scores(network.names.size() - 1);
  EXPECT_EQ(op->recognize(u0, scores).error().status, Status::kInvalidArgument);
  scores.resize(network.names.size());
  EXPECT_TRUE(op->recognize(u0, scores));
  u0.pop_back();
  EXPECT_EQ(op->recognize(u0, scores).error().status, Status::kInvalidArgument);
  EXPECT_EQ(op->simple_layer(0, u0, scores).error().status, Status::kInvalidArgument);
  EXPECT_EQ(op->complex_layer(2, u0, scores).error().status, Status::kInvalidArgument);
  EXPECT_EQ(op->layer_ms(0, 0).error().status, Status::kInvalidArgument);
}

// Fails when a network whose parts do not fit is taken, or the CPU is taken for a device.
TEST(PaperNeocognitronNetwork, IsChecked) {
  const TrainedNeocognitron network = must(read_neocognitron("digits-small"));
  const auto expect_refused = [](const TrainedNeocognitron& changed, const char* word) {
    const auto refused = PaperNeocognitron::footprint(changed);
    ASSERT_FALSE(refused);
    expect_words(refused.error(), Status::kInvalidArgument, {word});
  };
  TrainedNeocognitron changed = network;
  changed.planes[2] = 1025;
  expect_refused(changed, "1025 planes");
  changed = network;
  changed.weights[1].pop_back();
  expect_refused(changed, "weights");
  changed = network;
  changed.labels.back() = 11;
  expect_refused(changed, "labels");
  changed = network;
  changed.parameters.gain = 0.0f;
  expect_refused(changed, "gain");
  changed = network;
  changed.names.clear();
  expect_refused(changed, "classes");

  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory.host = 1 << 20;
  Engine engine = must(Engine::create(settings));
  const auto on_cpu = PaperNeocognitron::create(engine, network, SimpleSchedule::kGather);
  ASSERT_FALSE(on_cpu);
  EXPECT_EQ(on_cpu.error().status, Status::kUnsupported);
  const auto layers_on_cpu = DeviceOperatorLayers::create(engine, network);
  ASSERT_FALSE(layers_on_cpu);
  EXPECT_EQ(layers_on_cpu.error().status, Status::kUnsupported);
}

}  // namespace
}  // namespace ocellus::test
