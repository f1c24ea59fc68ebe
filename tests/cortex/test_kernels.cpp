// The CUDA kernels of Cortex, run on the host: what they compute equals the operator on the CPU.
// Needs no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cortex/plan.h"
#include "cortex/stroke_frames.h"
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

/// The operator's kernels, launched as by kernels/cortex/cortex.cpp.
class KernelOperator {
 public:
  explicit KernelOperator(const CortexConfig& config)
      : config_(config), plan_(std::make_unique<CortexPlan>()) {
    must(detail::make_plan(config, *plan_));
    constexpr std::size_t kAlignment = 64;
    const std::size_t bytes = places_of(shape(), config.learn).bytes;
    memory_.resize(bytes + kAlignment);
    void* at = memory_.data();
    std::size_t space = memory_.size();
    model_ = static_cast<std::uint8_t*>(std::align(kAlignment, bytes, at, space));
    must(detail::read_cortex_arrays(*plan_, model_));
    if (config.learn) fill(*tables_);
  }

  Answer run(const FrameBuffer& frame, bool wide) {
    run_features(frame, wide, false);
    return read_out();
  }

  /// All kernels but the last one.
  void run_features(const FrameBuffer& frame, bool wide, bool bad) {
    const detail::Hierarchy& hierarchy = shape().hierarchy;
    const detail::CortexArrays arrays = arrays_at(shape(), model_);
    const CortexParameters& p = shape().parameters;
    const auto pixels = static_cast<unsigned>(shape().pixels());
    std::vector<std::uint8_t> gray(std::size_t{pixels} * kCount);
    std::vector<std::uint8_t> cells(gray.size());
    std::vector<std::uint32_t> has_ink(kCount, 7);
    winners_.resize(static_cast<std::size_t>(hierarchy.hypercolumns) * kCount);
    activity_.resize(winners_.size());
    const Frame view = frame.frame(0);
    cuda::FrameParams params{};
    params.image = view.data;
    params.image_stride = view.stride;
    cuda::TemporalState state{};
    state.bad = bad ? 1 : 0;
    const cuda::StretchArguments stretch{&params,
                                         {plan_->tile.width, plan_->tile.height, p.width, p.height},
                                         plan_->columns,
                                         gray.data()};
    const unsigned per_block = wide ? cuda::kStretchThreads / 32 : cuda::kStretchThreads;
    simt::launch(cuda::stretch_kernel(config_.format, wide), (pixels + per_block - 1) / per_block,
                 kCount, cuda::kStretchThreads, stretch);
    simt::launch(
        cuda::kCellKernel, kCount, 1, cuda::kCellThreads,
        cuda::CellArguments{gray.data(), p.width, p.height, config_.ink, p.deslant, p.lgn_threshold,
                            cells.data(), config_.learn ? has_ink.data() : nullptr});
    for (int level = 0; level < hierarchy.level_count; ++level) {
      const cuda::CompeteArguments compete{
          .cells = level == 0 ? cells.data() : nullptr,
          .fields = level == 0 && p.fields > 0 ? arrays.fields : nullptr,
          .pixels = shape().pixels(),
          .weights = arrays.weights + hierarchy.weights_of(level, 0),
          .bias = arrays.bias + hierarchy.minicolumns_of(level, 0),
          .shares = shape().shares.data(),
          .winners = winners_.data(),
          .activity = activity_.data(),
          .hypercolumns = hierarchy.hypercolumns,
          .level = hierarchy.level(level),
          .competitors = p.competitors};
      simt::launch(cuda::kCompeteKernel, static_cast<unsigned>(hierarchy.level(level).hypercolumns),
                   kCount, cuda::kCompeteThreads, compete);
    }
    for (int level = 0; config_.learn && level < hierarchy.level_count; ++level) {
      detail::LearningArrays learning = learning_arrays_at(shape(), model_);
      learning.weights += hierarchy.weights_of(level, 0);
      learning.bias += hierarchy.minicolumns_of(level, 0);
      learning.probabilities += hierarchy.weights_of(level, 0);
      const cuda::LearnArguments learn{.state = &state,
                                       .enabled = &enabled,
                                       .cells = level == 0 ? cells.data() : nullptr,
                                       .pixels = shape().pixels(),
                                       .winners = winners_.data(),
                                       .has_ink = has_ink.data(),
                                       .patches = plan_->patches,
                                       .hypercolumns = hierarchy.hypercolumns,
                                       .level = hierarchy.level(level),
                                       .rate = plan_->rate,
                                       .tables = tables_.get(),
                                       .arrays = learning};
      simt::launch(cuda::kLearnKernel, static_cast<unsigned>(hierarchy.level(level).hypercolumns),
                   1, cuda::kLearnThreads, learn);
    }
  }

  /// All arrays, as in a model file.
  std::string arrays() const {
    return {reinterpret_cast<const char*>(model_), places_of(shape(), config_.learn).bytes};
  }

  std::uint32_t enabled = 1;

 private:
  Answer read_out() const {
    const detail::Hierarchy& hierarchy = shape().hierarchy;
    const detail::CortexArrays arrays = arrays_at(shape(), model_);
    std::vector<std::uint32_t> begins;
    for (int level = 0; level < hierarchy.level_count; ++level)
      for (int h = 0; h < hierarchy.level(level).hypercolumns; ++h)
        begins.push_back(static_cast<std::uint32_t>(hierarchy.minicolumns_of(level, h)));
    Answer answer;
    const auto classes = static_cast<std::size_t>(shape().classes);
    answer.evidence.assign(classes * kMaxCortexPatches, 7.0f);
    cuda::FrameParams params{};
    params.out[0] = answer.evidence.data();
    params.out_stride[0] = static_cast<std::int64_t>(classes * sizeof(float));
    cuda::TemporalState state{};
    cuda::FrameOutcome outcome{};
    const cuda::ReadOutArguments arguments{.answers = {.frame = &params,
                                                       .state = &state,
                                                       .outcome = &outcome,
                                                       .record = &answer.record,
                                                       .class_bias = arrays.class_bias,
                                                       .classes = shape().classes,
                                                       .sharpness = plan_->table.sharpness,
                                                       .patches = plan_->patches,
                                                       .truncated = plan_->truncated,
                                                       .none_if_equal = false},
                                           .activity = activity_.data(),
                                           .begins = begins.data(),
                                           .read_out = arrays.read_out,
                                           .hypercolumns = hierarchy.hypercolumns,
                                           .competitors = shape().parameters.competitors};
    simt::launch(cuda::kCortexReadOutKernel, kMaxCortexPatches, 1, cuda::kReadOutThreads,
                 arguments);
    EXPECT_EQ(state.ended, 0u);
    EXPECT_EQ(outcome.bad, 0u);
    return answer;
  }

  const detail::CortexShape& shape() const { return plan_->table.shape; }

  CortexConfig config_;
  std::unique_ptr<CortexPlan> plan_;
  std::unique_ptr<detail::ProbabilityTables> tables_ =
      std::make_unique<detail::ProbabilityTables>();
  std::vector<std::uint8_t> memory_;
  std::uint8_t* model_ = nullptr;
  std::vector<std::int32_t> winners_;
  std::vector<detail::CortexActivity> activity_;
};

Answer step(Rig<Cortex>& rig, const FrameBuffer& frame) {
  OutputBuffer out(rig.op.info());
  OperatorOutput output = out.output();
  Answer answer;
  output.record = &answer.record;
  must(rig.op.wait(must(rig.op.submit(frame.frame(0), output)), Deadline::never()));
  const PlaneF plane = out.plane(0);
  answer.evidence.assign(plane.data.begin(), plane.data.end());
  return answer;
}

Answer run_operator(const CortexConfig& config, const FrameBuffer& frame) {
  auto rig = Rig<Cortex>::make(config, 1);
  return step(rig, frame);
}

/// Models of strokes: numbers of minicolumns that fill a row of weights or not, one and two levels,
/// one and several competitors.
struct Model {
  const char* name;
  std::vector<CorticalLevel> levels;
  int competitors;
  bool deslant;
  int fields = 0;
};
const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"one_level", {{8, 8, 4, 4, 24}}, 1, false},
      {"two_levels", {{8, 8, 4, 4, 40}, {2, 2, 1, 1, 12}}, 3, true},
      {"wide", {{16, 16, 16, 16, 300}}, 8, true},
      {"fields", {{1, 1, 1, 1, 50}, {3, 1, 2, 1, 20}}, 4, true, 7},
  };
  return all;
}

TrainedCortex model_of(const Model& made) {
  CortexTraining training;
  training.parameters.deslant = made.deslant;
  training.parameters.competitors = made.competitors;
  training.parameters.level_count = static_cast<int>(made.levels.size());
  std::copy(made.levels.begin(), made.levels.end(), training.parameters.levels.begin());
  training.parameters.fields = made.fields;
  training.parameters.field_inputs = 40;
  training.feature_images = 1000;
  return must(train_cortex(labeled_strokes(600, 1), training));
}

class CortexKernels : public testing::TestWithParam<Model> {};
INSTANTIATE_TEST_SUITE_P(Models, CortexKernels, testing::ValuesIn(models()),
                         [](const auto& made) { return std::string(made.param.name); });

// Fails if a kernel computes another pixel, cell, winner, activity or evidence than the CPU.
TEST_P(CortexKernels, EqualTheOperatorOnTheCpu) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.ocellus";
  write_model(path, model_of(GetParam()));
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
    EXPECT_TRUE(config.model.assign(path.c_str()));
    config.layout = CortexLayout::kTiles;
    config.tile_width = made.tile.width;
    config.tile_height = made.tile.height;
    config.ink = made.ink;
    const FrameBuffer frame = noise_frames(config.size, made.format, 1, 3, 3)[0];
    const Answer kernels = KernelOperator(config).run(frame, made.wide);
    const Answer expected = run_operator(config, frame);
    EXPECT_EQ(kernels.evidence, expected.evidence);
    EXPECT_EQ(kernels.record.count, kCount);
    EXPECT_EQ(kernels.record.label, expected.record.label);
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_NEAR(kernels.record.confidence[i], expected.record.confidence[i], 1e-6f);
  }
}

// Fails if the kernels learn another byte than the CPU, from a patch without ink, from a bad frame,
// or before they are enabled.
TEST_P(CortexKernels, LearnAsTheOperatorOnTheCpu) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.ocellus";
  write_model(path, model_of(GetParam()));
  CortexConfig config = stroke_config(path, kTiles.width, kTiles.height);
  config.learn = true;
  config.learn_rate = 0.04f;
  auto rig = Rig<Cortex>::make(config, 2);
  KernelOperator kernels(config);
  const std::string begin = kernels.arrays();
  const auto frame = [&](unsigned number) {
    LabeledImages images = labeled_strokes(kCount, 50 + number);
    std::fill_n(images.ink.begin() + number % kCount * kStrokeSide * kStrokeSide,
                kStrokeSide * kStrokeSide, std::uint8_t{0});
    return stroke_frame(images, kTiles.width, kTiles.height, config.format);
  };
  kernels.enabled = 0;
  kernels.run_features(frame(0), false, false);
  kernels.enabled = 1;
  kernels.run_features(frame(0), false, /*bad=*/true);
  EXPECT_TRUE(kernels.arrays() == begin);
  for (unsigned f = 0; f < 2; ++f) {
    kernels.run_features(frame(f), false, false);
    (void)step(rig, frame(f));
    must(rig.op.save_model(path.c_str()));
    const std::string file = bytes_of(path);
    ASSERT_TRUE(file.ends_with(kernels.arrays())) << "frame " << f;
  }
  EXPECT_FALSE(kernels.arrays() == begin);
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
  const cuda::ReadOutArguments read_out{.answers = {.frame = &params,
                                                    .state = &state,
                                                    .outcome = &outcome,
                                                    .record = &record,
                                                    .class_bias = bias.data(),
                                                    .classes = 10,
                                                    .sharpness = 1.0f,
                                                    .patches = 3,
                                                    .truncated = false,
                                                    .none_if_equal = false},
                                        .activity = nullptr,
                                        .begins = nullptr,
                                        .read_out = nullptr,
                                        .hypercolumns = 0,
                                        .competitors = 1};
  simt::launch(cuda::kCortexReadOutKernel, kMaxCortexPatches, 1, cuda::kReadOutThreads, read_out);
  EXPECT_EQ(evidence, std::vector<float>(evidence.size(), 0.0f));
  EXPECT_EQ(record.count, 0);
  EXPECT_EQ(outcome.bad, 1u);
  EXPECT_EQ(state.bad, 0u);
}

}  // namespace
}  // namespace ocellus::test
