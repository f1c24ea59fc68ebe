// The CPU programs of the paper against the layers of the operator, and these against the operator.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/paper_cases.h"
#include "bench/papers/neocognitron/paper_character.h"
#include "conformance/conformance.h"
#include "ocellus/neocognitron.h"

namespace ocellus::test {
namespace {

using paper::CpuProgram;
using paper::OperatorLayers;
using paper::PaperNetwork;
using paper::PlaneCells;

constexpr double kTolerance = 1e-4;
constexpr std::array kPrograms = {CpuProgram::kScatterActive, CpuProgram::kScatterAll,
                                  CpuProgram::kGather};

// Fails when a program leaves out an input, takes a wrong weight or a wrong border, or does not
// clear what a character before it has left.
TEST(PaperPrograms, EveryLayerEqualsTheOperators) {
  for (const PaperCase& one : paper_cases()) {
    OperatorLayers ours(one.network);
    PaperNetwork programs(one.network);
    std::array<std::size_t, kNeocognitronStages> active{};
    for (const std::vector<float>& u0 : paper_characters()) {
      ours.recognize(u0.data());
      for (int stage = 0; stage < kNeocognitronStages; ++stage) {
        const PlaneCells in = ours.inputs(stage);
        const PlaneCells expected = ours.simple(stage);
        for (const float cell : expected.values)
          active[static_cast<std::size_t>(stage)] += cell > 0.0f;
        for (const CpuProgram program : kPrograms) {
          SCOPED_TRACE(one.name + ", S" + std::to_string(stage + 1) + ", program " +
                       std::to_string(static_cast<int>(program)));
          PlaneCells out(expected.side, expected.planes);
          std::fill(out.values.begin(), out.values.end(), std::numeric_limits<float>::quiet_NaN());
          programs.layer(stage).run(program, in, out);
          EXPECT_LT(largest_difference(expected.values, out.values), kTolerance);
        }
      }
    }
    for (std::size_t stage = 0; stage < active.size(); ++stage)
      EXPECT_GT(active[stage], 0u) << one.name << ": S" << stage + 1 << " is silent: not tested";
  }
}

// Fails when a layer between the S-layers differs, or the layers are connected wrongly.
TEST(PaperPrograms, CharactersHaveTheSameScores) {
  for (const PaperCase& one : paper_cases()) {
    OperatorLayers ours(one.network);
    PaperNetwork programs(one.network);
    for (const std::vector<float>& u0 : paper_characters()) {
      const paper::LayerTimes own = ours.recognize(u0.data());
      EXPECT_GT(own.character_ms, 0.0);
      const std::vector<float> expected = largest_similarities(one.network, ours.simple(3));
      for (const CpuProgram program : kPrograms) {
        SCOPED_TRACE(one.name + ", program " + std::to_string(static_cast<int>(program)));
        const paper::LayerTimes times = programs.recognize(program, u0.data());
        double sum = 0.0;
        for (const double ms : times.simple_ms) {
          EXPECT_GT(ms, 0.0);
          sum += ms;
        }
        EXPECT_LT(sum, times.character_ms);
        EXPECT_LT(
            largest_difference(expected, {programs.scores().begin(), programs.scores().end()}),
            kTolerance);
      }
    }
  }
}

// Fails when OperatorLayers computes something else than the operator on the CPU.
TEST(PaperPrograms, OperatorLayersAreThoseOfTheOperator) {
  const TrainedNeocognitron network = must(read_neocognitron("digits-small"));
  NeocognitronConfig config;
  config.size = {40, 40};
  config.layout = CharacterLayout::kTiles;
  config.tile_width = config.tile_height = 40;
  config.ink = CharacterInk::kLight;
  ASSERT_TRUE(config.model.assign("digits-small"));
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory = must(Neocognitron::footprint(must(Engine::probe(settings)), config));
  Engine engine = must(Engine::create(settings));
  Neocognitron op = must(Neocognitron::create(engine, config));
  std::vector<float> scores(static_cast<std::size_t>(op.info().planes[0].size.width) *
                            kMaxCharacters);
  OperatorLayers layers(network);
  for (int value = 0; value < 10; ++value) {
    Scene scene(40, 40, 0.0, 255.0);
    scene.digit(value, 12.0, 8.0, 24.0, 3.0, 5.0);
    const std::vector<std::uint8_t> pixels = scene.pixels();
    Frame frame;
    frame.data = pixels.data();
    frame.size = config.size;
    frame.stride = 40;
    frame.format = PixelFormat::kGray8;
    ImageView out;
    out.data = scores.data();
    out.size = op.info().planes[0].size;
    out.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * out.size.width;
    out.format = PixelFormat::kFloat32;
    must(op.wait(must(op.submit(frame, out, nullptr)), Deadline::never()));

    const std::vector<float> u0 =
        paper::normalized_character(network.normalization, pixels.data(), 40, 40);
    layers.recognize(u0.data());
    for (std::size_t c = 0; c < network.characters(); ++c)
      EXPECT_NEAR(layers.scores()[c], scores[c], 1e-6) << "digit " << value << ", class " << c;
    for (int stage = 0; stage < kNeocognitronStages; ++stage) {
      EXPECT_GT(layers.active_share(stage), 0.0);
      EXPECT_LT(layers.active_share(stage), 0.3);
    }
  }
}

// Fails when a network with other numbers of planes has weights that are not normalized, or labels
// that do not fit, or when a model file cannot hold it.
TEST(PaperPrograms, NumbersOfPlanesCanBeChosen) {
  const TrainedNeocognitron digits = must(read_neocognitron("digits-small"));
  EXPECT_TRUE(encode_neocognitron(digits, "for a test"));
  for (const std::array<int, 3>& planes :
       {std::array{26, 78, 70}, std::array{1, 1, 11}, std::array{40, 200, 300}}) {
    const TrainedNeocognitron network = must(paper::with_planes(digits, planes));
    EXPECT_EQ(network.planes, (std::array{kEdgePlanes, planes[0], planes[1], planes[2]}));
    EXPECT_TRUE(encode_neocognitron(network, "for a test"));
    EXPECT_EQ(network.labels.front(), 0);
    EXPECT_EQ(network.labels.back(), 10) << "what is no character";
    for (std::size_t stage = 1; stage < network.weights.size(); ++stage) {
      const detail::CellWindow window =
          detail::simple_window(network.parameters, static_cast<int>(stage));
      const auto below = static_cast<std::size_t>(network.planes[stage - 1]);
      const auto own = static_cast<std::size_t>(network.planes[stage]);
      for (std::size_t k = 0; k < own; ++k) {
        double square = 0.0;
        for (std::size_t at = k; at < network.weights[stage].size(); at += own) {
          const auto a = static_cast<double>(network.weights[stage][at]);
          square += a * a / static_cast<double>(window.tap[at / own / below].weight);
        }
        EXPECT_NEAR(square, 1.0, 1e-3) << "stage " << stage + 1 << ", plane " << k;
      }
    }
  }
  for (const std::array<int, 3>& planes :
       {std::array{0, 78, 70}, std::array{26, 1025, 70}, std::array{26, 78, 9}}) {
    const auto refused = paper::with_planes(digits, planes);
    ASSERT_FALSE(refused);
    expect_words(refused.error(), Status::kInvalidArgument, {"planes: stage "});
  }
  EXPECT_FALSE(read_neocognitron("/no such model"));
}

}  // namespace
}  // namespace ocellus::test
