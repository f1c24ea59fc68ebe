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
using paper::LayerCounts;
using paper::OperatorLayers;
using paper::PaperNetwork;
using paper::PlaneCells;

constexpr double kTolerance = 1e-4;
constexpr std::array kPrograms = {CpuProgram::kScatterActive, CpuProgram::kScatterAll,
                                  CpuProgram::kGather, CpuProgram::kScatterBlocks,
                                  CpuProgram::kGatherTiles};

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

/// Columns and rows of the excitatory inputs of a window, and their number.
std::array<int, 3> extent_of(const detail::CellWindow& window) {
  std::array<int, 2> least{99, 99};
  std::array<int, 2> most{-99, -99};
  int inputs = 0;
  for (const detail::WindowTap& tap : window.all()) {
    if (tap.weight <= 0.0f) continue;
    ++inputs;
    least = {std::min<int>(least[0], tap.dx), std::min<int>(least[1], tap.dy)};
    most = {std::max<int>(most[0], tap.dx), std::max<int>(most[1], tap.dy)};
  }
  return {most[0] - least[0] + 1, most[1] - least[1] + 1, inputs};
}

// Fails when the windows are not those of table 2 of the paper: 6x6 for all layers but UC3 with 8x8
// and US4 with 9x9. Windows are round, so that they have up to 36, 64 and 81 inputs.
TEST(PaperPrograms, WindowsOfThePaperAreThoseOfItsTable) {
  const TrainedNeocognitron network =
      paper::with_paper_windows(must(read_neocognitron("digits-small")));
  EXPECT_TRUE(encode_neocognitron(network, "for a test"));
  const auto simple = [&](int stage) {
    return extent_of(detail::simple_window(network.parameters, stage));
  };
  const auto complex = [&](int stage) {
    return extent_of(detail::complex_window(network.parameters, stage));
  };
  EXPECT_EQ(simple(0), (std::array{6, 6, 32}));
  EXPECT_EQ(complex(0), (std::array{6, 6, 32}));
  EXPECT_EQ(simple(1), (std::array{6, 6, 32}));
  EXPECT_EQ(complex(1), (std::array{6, 6, 32}));
  EXPECT_EQ(simple(2), (std::array{6, 6, 32}));
  EXPECT_EQ(complex(2), (std::array{8, 8, 60}));
  EXPECT_EQ(simple(3), (std::array{9, 9, 69}));
}

// Fails when a program counts accesses or operations that it does not do, or leaves some out. The
// expected numbers are those of all inputs that lie in the layer below.
TEST(PaperPrograms, CountsAreThoseOfTheLayers) {
  const TrainedNeocognitron network = paper_cases()[1].network;
  ASSERT_EQ(network.planes, (std::array{16, 26, 78, 70}));
  PaperNetwork programs(network);
  for (int stage = 0; stage < kNeocognitronStages; ++stage) {
    SCOPED_TRACE(stage);
    const std::uint64_t inputs = layer_inputs(network, stage);
    const auto planes = static_cast<std::uint64_t>(programs.layer(stage).planes());
    PlaneCells in(programs.layer(stage).side_in(), programs.layer(stage).in_planes());
    PlaneCells out(programs.layer(stage).side_out(), programs.layer(stage).planes());
    const std::uint64_t cells = out.values.size();
    const std::uint64_t positions = out.plane_cells();
    const auto counts_of = [&](CpuProgram program) {
      LayerCounts counts;
      programs.layer(stage).run(program, in, out, &counts);
      return counts;
    };
    // Without active inputs, F writes the cells and computes their responses.
    LayerCounts counts = counts_of(CpuProgram::kScatterActive);
    EXPECT_EQ(counts.cell_reads, cells);
    EXPECT_EQ(counts.cell_writes, 2 * cells);
    EXPECT_EQ(counts.weight_reads, 0u);
    EXPECT_EQ(counts.input_reads, in.values.size());
    std::fill(in.values.begin(), in.values.end(), 1.0f);
    for (const CpuProgram program :
         {CpuProgram::kScatterActive, CpuProgram::kScatterAll, CpuProgram::kScatterBlocks}) {
      counts = counts_of(program);
      const bool blocks = program == CpuProgram::kScatterBlocks;
      EXPECT_EQ(counts.cell_reads, inputs * planes + cells);
      EXPECT_EQ(counts.cell_writes, inputs * planes + 2 * cells);
      EXPECT_EQ(counts.v_reads, inputs + positions + cells);
      EXPECT_EQ(counts.v_writes, inputs + 2 * positions);
      EXPECT_EQ(counts.energy_reads, in.values.size());
      EXPECT_EQ(counts.input_reads, in.values.size() * (blocks ? (planes + 7) / 8 : 1));
      EXPECT_EQ(counts.weight_reads, inputs * (planes + 1));
      EXPECT_EQ(counts.operations, inputs * (2 * planes + 3) + positions + 6 * cells);
    }
    for (const CpuProgram program : {CpuProgram::kGather, CpuProgram::kGatherTiles}) {
      counts = counts_of(program);
      EXPECT_EQ(counts.cell_reads + counts.v_reads + counts.v_writes + counts.energy_reads, 0u);
      EXPECT_EQ(counts.cell_writes, cells);
      EXPECT_EQ(counts.input_reads, inputs * planes);
      EXPECT_EQ(counts.weight_reads, inputs * (planes + 1));
      EXPECT_EQ(counts.operations, inputs * (2 * planes + 3) + positions + 6 * cells);
    }
  }
}

// Fails when the counts of a character are not those of the paper: its section 5.3 has 56,000 reads
// of inputs for v alone, which a gather does not need, and 140,000 writes of a gather, by the
// product of its table 2 151,030.
TEST(PaperPrograms, CountsOfACharacterAreThoseOfThePaper) {
  PaperNetwork programs(paper_cases()[1].network);
  const std::vector<float> u0 = paper_characters().front();
  const auto sum_of = [&](CpuProgram program) {
    PaperNetwork::Counts counts{};
    programs.recognize(program, u0.data(), &counts);
    LayerCounts sum;
    for (const LayerCounts& one : counts) sum += one;
    return sum;
  };
  const LayerCounts scatter = sum_of(CpuProgram::kScatterActive);
  EXPECT_EQ(scatter.energy_reads, 56'634u);
  EXPECT_EQ(scatter.cell_writes, scatter.cell_reads + 151'030);
  const LayerCounts gather = sum_of(CpuProgram::kGather);
  EXPECT_EQ(gather.energy_reads, 0u);
  EXPECT_EQ(gather.cell_reads, 0u);
  EXPECT_EQ(gather.cell_writes, 151'030u);
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
