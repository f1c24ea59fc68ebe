// PaperNeocognitron over the fake driver: each CUDA call fails in turn. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/paper_cases.h"
#include "bench/papers/neocognitron/paper_neocognitron.h"
#include "bench/papers/neocognitron/paper_operator_layers.h"
#include "conformance/conformance.h"
#include "kernels/fake_driver.h"
#include "support/failing_calls.h"

namespace ocellus::test {
namespace {

using paper::DeviceOperatorLayers;
using paper::PaperNeocognitron;
using paper::SimpleSchedule;

/// Uses everything of a schedule, up to the first error. Without a schedule: the layers of the
/// operator.
Expected<void> use(const TrainedNeocognitron& network, std::optional<SimpleSchedule> schedule) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = must(schedule ? PaperNeocognitron::footprint(network)
                                  : DeviceOperatorLayers::footprint(network));
  auto engine = Engine::create(settings);
  if (!engine) return tl::unexpected(engine.error());
  const auto use_layers = [](auto& op) -> Expected<void> {
    for (int stage = 0; stage < kNeocognitronStages; ++stage)
      if (const auto ms = op.layer_ms(stage, 2); !ms) return tl::unexpected(ms.error());
    const std::vector<float> in(std::size_t{71} * 71 * 2);
    std::vector<float> out(std::size_t{68} * 68 * 16);
    return op.simple_layer(0, in, out);
  };
  if (!schedule) {
    auto layers = DeviceOperatorLayers::create(*engine, network);
    if (!layers) return tl::unexpected(layers.error());
    return use_layers(**layers);
  }
  auto op = PaperNeocognitron::create(*engine, network, *schedule);
  if (!op) return tl::unexpected(op.error());
  const std::vector<float> u0(std::size_t{65} * 65);
  std::vector<float> scores(network.names.size());
  if (const auto times = (*op)->recognize(u0, scores); !times) return tl::unexpected(times.error());
  return use_layers(**op);
}

// Fails when a failed call is ignored or named wrongly, or when something made before it leaks.
TEST(PaperNeocognitronFaults, EveryCallFailsInTurn) {
  const TrainedNeocognitron network = random_paper_network({}, {5, 3, 2}, 2, 3);
  using Schedule = std::optional<SimpleSchedule>;
  for (const Schedule schedule :
       {Schedule(), Schedule(SimpleSchedule::kGather), Schedule(SimpleSchedule::kOneGrid),
        Schedule(SimpleSchedule::kTabulated), Schedule(SimpleSchedule::kWarps)}) {
    expect_every_failure_reported(
        60, [] {}, [&] { return use(network, schedule); });
    if (HasFailure()) return;
  }
}

/// Cells of the layer below that the rectangles around the windows of all positions have.
std::uint64_t rectangle_cells(const TrainedNeocognitron& network, int stage) {
  const detail::CellWindow window = detail::simple_window(network.parameters, stage);
  const auto along_axis = [&](int position) {
    int least = window.sides.in;
    int most = -1;
    for (const detail::WindowTap& tap : window.all()) {
      const int at = window.first + position + tap.dx;  // windows are symmetric
      if (at < 0 || at >= window.sides.in) continue;
      least = std::min(least, at);
      most = std::max(most, at);
    }
    return static_cast<std::uint64_t>(most - least + 1);
  };
  std::uint64_t sum = 0;
  for (int p = 0; p < window.sides.out; ++p) sum += along_axis(p);
  return sum * sum;
}

// Fails when a schedule counts accesses that it does not do, or when B has blocks that are no
// multiples of 32.
TEST(PaperNeocognitronCounts, AreThoseOfTheSchedules) {
  reset_fake_driver();
  const TrainedNeocognitron network = paper_cases()[1].network;
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = must(PaperNeocognitron::footprint(network));
  {
    Engine engine = must(Engine::create(settings));
    for (const SimpleSchedule schedule :
         {SimpleSchedule::kGather, SimpleSchedule::kColumn, SimpleSchedule::kOneGrid,
          SimpleSchedule::kShared, SimpleSchedule::kTabulated, SimpleSchedule::kWarps}) {
      const auto op = must(PaperNeocognitron::create(engine, network, schedule));
      for (std::size_t stage = 0; stage < kNeocognitronStages; ++stage) {
        SCOPED_TRACE(std::to_string(static_cast<int>(schedule)) + ", " + std::to_string(stage));
        const paper::LayerCounts counts = op->counts(stage);
        const std::uint64_t inputs = layer_inputs(network, static_cast<int>(stage));
        const auto planes = static_cast<std::uint64_t>(network.planes[stage]);
        const auto side = static_cast<std::uint64_t>(
            detail::simple_window(network.parameters, static_cast<int>(stage)).sides.out);
        EXPECT_EQ(counts.cell_reads, 0u);
        EXPECT_EQ(counts.cell_writes, side * side * planes);
        EXPECT_EQ(counts.weight_reads, inputs * planes);
        const bool gather = schedule == SimpleSchedule::kGather;
        EXPECT_EQ(counts.v_writes, gather ? side * side : 0);
        EXPECT_EQ(counts.energy_reads, gather ? inputs : 0);
        if (schedule < SimpleSchedule::kShared) {
          EXPECT_EQ(counts.input_reads, inputs * planes);
          continue;
        }
        // All times of the fake driver are 0, and a block has one position.
        const auto below =
            static_cast<std::uint64_t>(stage == 0 ? kContrastPlanes : network.planes[stage - 1]);
        EXPECT_EQ(counts.input_reads, rectangle_cells(network, static_cast<int>(stage)) * below);
        EXPECT_EQ(op->threads(stage), schedule == SimpleSchedule::kWarps
                                          ? (std::array{32, 32, 96, 96})[stage]
                                          : network.planes[stage]);
        EXPECT_GE(op->trials(stage).size(), 5u);
        EXPECT_LE(static_cast<int>(op->trials(stage).size()) * op->trial_threads(stage), 1024);
      }
    }
  }
  EXPECT_TRUE(fake_driver().empty()) << "leaks";
}

}  // namespace
}  // namespace ocellus::test
