// Every instruction set of this processor and build gives the same results within the tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "support/operator_cases.h"
#include "support/simd.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::noise_frames;
using test::OnlyTargets;
using test::RandomTaps;
using test::Results;
using test::simd_targets;
using test::SimdTarget;

// Fails when the restriction of targets has no effect, so that the tests below run the same code.
TEST(SimdTargets, AreMoreThanOne) {
  const std::vector<SimdTarget> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  std::string names;
  for (const SimdTarget& target : targets) names += " " + target.name;
  RecordProperty("targets", names);
  std::printf("targets:%s\n", names.c_str());
#if defined(__x86_64__)
  EXPECT_GE(targets.size(), 2u) << "an x86-64 processor has more than the baseline";
#endif
}

// Fails when the filter differs from the reference with one instruction set, form or storage.
// Promises: RES-002.
TEST(SimdTargets, FilterMatchesOnEach) {
  for (const SimdTarget& target : simd_targets()) {
    for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel, KernelForm::kFull}) {
      for (const CoefficientStorage storage :
           {CoefficientStorage::kFloat, CoefficientStorage::kHalf}) {
        for (const PixelFormat format :
             {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
          SCOPED_TRACE(target.name);
          const OnlyTargets only(target.bit);
          SpatioTemporalFilterConfig config;
          config.size = {37, 19};
          config.format = format;
          config.kernels.form = form;
          config.kernels.nx = 7;
          config.kernels.ny = 6;
          config.kernels.nt = 5;
          config.kernels.terms = form == KernelForm::kFull ? 1 : 2;
          config.storage = storage;
          RandomTaps taps{};
          taps.use_in(config.kernels);
          const auto frames = noise_frames(config.size, format, 7, 41, 3, 1);
          test::expect_filter_matches(
              config, frames, test::run<SpatioTemporalFilter>(config, frames), {1, 6}, 250,
              storage == CoefficientStorage::kHalf ? test::kHalfTolerance : test::kFloatTolerance);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Fails when flow differs from the reference with one instruction set.
// Promises: RES-002.
TEST(SimdTargets, FlowMatchesOnEach) {
  for (const SimdTarget& target : simd_targets()) {
    SCOPED_TRACE(target.name);
    const OnlyTargets only(target.bit);
    OpticalFlowConfig config = OpticalFlowConfig::with_kernels({37, 29});
    config.kernels.nx = config.kernels.ny = 7;
    config.kernels.nt = 5;
    config.window = 7;
    config.window_sigma = 2.0f;
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 42);
    const double share =
        test::expect_flow_matches(config, frames, test::run<OpticalFlow>(config, frames), {5});
    EXPECT_GT(share, 0.4);
  }
}

// Fails when pyramid flow with one instruction set differs from that of the widest one by more than
// rounding.
// Promises: RES-002.
TEST(SimdTargets, PyramidAgreesOnEach) {
  const ImageSize size{80, 64};
  const test::Texture texture(6, 12.0, 40.0);
  const test::AffineMotion motion(0, 0, 2.3, 0, 0, -1.1);
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < 3; ++f) {
    frames.emplace_back(size, PixelFormat::kGray8);
    frames.back().fill(test::render(texture, motion, size, f));
  }
  const OpticalFlowConfig config = OpticalFlowConfig::quality(size);
  const Results widest = test::run<OpticalFlow>(config, frames);
  for (const SimdTarget& target : simd_targets()) {
    const OnlyTargets only(target.bit);
    const Results got = test::run<OpticalFlow>(config, frames);
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::size_t i = 0; i < got.planes[2][p].data.size(); ++i) {
        ASSERT_TRUE(std::isfinite(widest.planes[2][p].data[i])) << "pixel " << i;
        ASSERT_NEAR(got.planes[2][p].data[i], widest.planes[2][p].data[i], 1e-3f)
            << target.name << " pixel " << i;
      }
    }
  }
}

// Fails when the result of an operator depends on the number of workers with one of the instruction
// sets.
// Promises: RES-001.
TEST(SimdTargets, TheNumberOfWorkersChangesNothing) {
  const ImageSize size{61, 33};
  const auto frames = test::moving_frames(size, PixelFormat::kGray8, 7, true);
  for (const SimdTarget& target : simd_targets()) {
    const OnlyTargets only(target.bit);
    for (const test::OperatorCase& what : test::operator_cases())
      EXPECT_TRUE(
          same_bytes(test::run(what.with(size), frames, 1), test::run(what.with(size), frames, 5)))
          << target.name << ", " << what.name;
  }
}

}  // namespace
}  // namespace ocellus
