// The CUDA kernels of Cortex, run on the host: what they compute equals the operator on the CPU.
// Needs no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cortex/labeled_strokes.h"
#include "cortex/plan.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/cortex/kernels.h"
#include "ocellus/cortex_training.h"
#include "ocellus/ocellus.h"
#include "support/files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {
namespace {

using detail::CortexPlan;

constexpr ImageSize kTiles{3, 2};
constexpr int kCount = kTiles.width * kTiles.height;

struct Answer {
  CortexRecord record;
  std::vector<float> evidence;
};

/// What the operator's kernels compute, launched as by kernels/cortex/cortex.cpp.
Answer run_kernels(const CortexConfig& config, const FrameBuffer& frame, bool wide) {
  auto plan = std::make_unique<CortexPlan>();
  must(detail::make_plan(config, *plan));
  const detail::CortexShape& shape = plan->table.shape;
  const detail::Hierarchy& hierarchy = shape.hierarchy;
  constexpr std::size_t kAlignment = 64;
  std::vector<std::uint8_t> model(places_of(shape).bytes + kAlignment);
  void* at = model.data();
  std::size_t space = model.size();
  auto* const bytes =
      static_cast<std::uint8_t*>(std::align(kAlignment, places_of(shape).bytes, at, space));
  must(detail::read_cortex_arrays(*plan, bytes));
  const detail::CortexArrays arrays = arrays_at(shape, bytes);
  const auto pixels = static_cast<unsigned>(shape.pixels());
  std::vector<std::uint8_t> gray(std::size_t{pixels} * kCount);
  std::vector<std::uint8_t> cells(gray.size());
  const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
  std::vector<std::int32_t> winners(hypercolumns * kCount);
  std::vector<detail::CortexActivity> activity(winners.size());
  std::vector<std::uint32_t> begins;
  for (int level = 0; level < hierarchy.level_count; ++level)
    for (int h = 0; h < hierarchy.level(level).hypercolumns(); ++h)
      begins.push_back(static_cast<std::uint32_t>(hierarchy.minicolumns_of(level, h)));

  Answer answer;
  const auto classes = static_cast<std::size_t>(shape.classes);
  answer.evidence.assign(classes * kMaxCortexPatches, 7.0f);
  const Frame view = frame.frame(0);
  cuda::FrameParams params{};
  params.image = view.data;
  params.image_stride = view.stride;
  params.out[0] = answer.evidence.data();
  params.out_stride[0] = static_cast<std::int64_t>(classes * sizeof(float));
  const cuda::StretchArguments stretch{
      &params,
      {plan->tile.width, plan->tile.height, shape.parameters.width, shape.parameters.height},
      plan->columns,
      gray.data()};
  const unsigned per_block = wide ? cuda::kStretchThreads / 32 : cuda::kStretchThreads;
  simt::launch(cuda::stretch_kernel(config.format, wide), (pixels + per_block - 1) / per_block,
               kCount, cuda::kStretchThreads, stretch);
  simt::launch(
      cuda::cell_kernel(), kCount, 1, cuda::kCellThreads,
      cuda::CellArguments{gray.data(), shape.parameters.width, shape.parameters.height, config.ink,
                          shape.parameters.deslant, shape.parameters.lgn_threshold, cells.data()});
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const detail::LevelPlan& l = hierarchy.level(level);
    const cuda::CompeteArguments compete{.cells = level == 0 ? cells.data() : nullptr,
                                         .pixels = shape.pixels(),
                                         .weights = arrays.weights + hierarchy.weights_of(level, 0),
                                         .bias = arrays.bias + hierarchy.minicolumns_of(level, 0),
                                         .shares = shape.shares.data(),
                                         .winners = winners.data(),
                                         .activity = activity.data(),
                                         .hypercolumns = hierarchy.hypercolumns,
                                         .level = cuda::grid_level(hierarchy, level),
                                         .competitors = shape.parameters.competitors};
    simt::launch(cuda::compete_kernel(), static_cast<unsigned>(l.hypercolumns()), kCount,
                 cuda::kCompeteThreads, compete);
  }
  cuda::TemporalState state{};
  cuda::FrameOutcome outcome{};
  const cuda::ReadOutArguments read_out{.frame = &params,
                                        .state = &state,
                                        .outcome = &outcome,
                                        .record = &answer.record,
                                        .activity = activity.data(),
                                        .begins = begins.data(),
                                        .read_out = arrays.read_out,
                                        .class_bias = arrays.class_bias,
                                        .hypercolumns = hierarchy.hypercolumns,
                                        .competitors = shape.parameters.competitors,
                                        .classes = shape.classes,
                                        .sharpness = plan->table.sharpness,
                                        .patches = plan->patches,
                                        .truncated = plan->truncated};
  simt::launch(cuda::cortex_read_out_kernel(), kMaxCortexPatches, 1, cuda::kReadOutThreads,
               read_out);
  EXPECT_EQ(state.ended, 0u);
  EXPECT_EQ(outcome.bad, 0u);
  return answer;
}

Answer run_operator(const CortexConfig& config, const FrameBuffer& frame) {
  auto rig = Rig<Cortex>::make(config, 1);
  OutputBuffer out(rig.op.info());
  OperatorOutput output = out.output();
  Answer answer;
  output.record = &answer.record;
  must(rig.op.wait(must(rig.op.submit(frame.frame(0), output)), Deadline::never()));
  const PlaneF plane = out.plane(0);
  answer.evidence.assign(plane.data.begin(), plane.data.end());
  return answer;
}

/// Models of strokes: numbers of minicolumns that fill a row of weights or not, one and two levels,
/// one and several competitors.
struct Model {
  const char* name;
  std::vector<CorticalLevel> levels;
  int competitors;
  bool deslant;
};
const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"one_level", {{8, 8, 4, 4, 24}}, 1, false},
      {"two_levels", {{8, 8, 4, 4, 40}, {2, 2, 1, 1, 12}}, 3, true},
      {"wide", {{16, 16, 16, 16, 300}}, 8, true},
  };
  return all;
}

class CortexKernels : public testing::TestWithParam<Model> {};
INSTANTIATE_TEST_SUITE_P(Models, CortexKernels, testing::ValuesIn(models()),
                         [](const auto& made) { return std::string(made.param.name); });

// Fails if a kernel computes another pixel, cell, winner, activity or evidence than the CPU.
TEST_P(CortexKernels, EqualTheOperatorOnTheCpu) {
  const TemporaryFolder folder;
  CortexTraining training;
  training.parameters.deslant = GetParam().deslant;
  training.parameters.competitors = GetParam().competitors;
  training.parameters.level_count = static_cast<int>(GetParam().levels.size());
  std::copy(GetParam().levels.begin(), GetParam().levels.end(), training.parameters.levels.begin());
  training.feature_images = 1000;
  const TrainedCortex cortex = must(train_cortex(labeled_strokes(600, 1), training));
  const std::string path = folder / "model.ocellus";
  const auto file = must(encode_cortex(cortex, "strokes"));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  struct Case {
    ImageSize tile;
    PixelFormat format;
    CortexInk ink;
    bool wide;
  };
  for (const Case& made : {Case{{16, 16}, PixelFormat::kGray8, CortexInk::kAuto, false},
                           Case{{37, 23}, PixelFormat::kGray16, CortexInk::kDark, false},
                           Case{{90, 81}, PixelFormat::kFloat32, CortexInk::kLight, true},
                           Case{{9, 5}, PixelFormat::kFloat32, CortexInk::kAuto, true}}) {
    CortexConfig config;
    config.size = {kTiles.width * made.tile.width + 2, kTiles.height * made.tile.height + 1};
    config.format = made.format;
    config.model.assign(path.c_str());
    config.layout = CortexLayout::kTiles;
    config.tile_width = made.tile.width;
    config.tile_height = made.tile.height;
    config.ink = made.ink;
    const FrameBuffer frame = noise_frames(config.size, made.format, 1, 3, 3)[0];
    const Answer kernels = run_kernels(config, frame, made.wide);
    const Answer expected = run_operator(config, frame);
    EXPECT_EQ(kernels.evidence, expected.evidence);
    EXPECT_EQ(kernels.record.count, kCount);
    EXPECT_EQ(kernels.record.label, expected.record.label);
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_NEAR(kernels.record.confidence[i], expected.record.confidence[i], 1e-6f);
  }
}

// Fails if a bad frame has an answer, or counts as a frame.
TEST(CortexReadOut, LeavesABadFrameEmpty) {
  std::vector<float> evidence(std::size_t{10} * kMaxCortexPatches, 7.0f);
  cuda::FrameParams params{};
  params.out[0] = evidence.data();
  params.out_stride[0] = 10 * sizeof(float);
  cuda::TemporalState state{};
  state.bad = 1;
  cuda::FrameOutcome outcome{};
  CortexRecord record;
  const std::vector<std::int32_t> bias(10, 5);
  const cuda::ReadOutArguments read_out{.frame = &params,
                                        .state = &state,
                                        .outcome = &outcome,
                                        .record = &record,
                                        .activity = nullptr,
                                        .begins = nullptr,
                                        .read_out = nullptr,
                                        .class_bias = bias.data(),
                                        .hypercolumns = 0,
                                        .competitors = 1,
                                        .classes = 10,
                                        .sharpness = 1.0f,
                                        .patches = 3,
                                        .truncated = false};
  simt::launch(cuda::cortex_read_out_kernel(), kMaxCortexPatches, 1, cuda::kReadOutThreads,
               read_out);
  EXPECT_EQ(evidence, std::vector<float>(evidence.size(), 0.0f));
  EXPECT_EQ(record.count, 0);
  EXPECT_EQ(outcome.bad, 1u);
  EXPECT_EQ(state.bad, 0u);
}

}  // namespace
}  // namespace ocellus::test
