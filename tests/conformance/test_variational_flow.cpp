// The variational solver on every backend against the same steps in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "reference/variational_flow.h"
#include "support/simd.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::layered_frames;
using test::PlaneD;
using test::Results;

class VariationalFlow : public test::OnBackend {
 protected:
  Results results(const OpticalFlowConfig& config, const std::vector<FrameBuffer>& frames) const {
    return OnBackend::results<OpticalFlow>(config, frames);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, VariationalFlow, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

reference::VariationalParameters parameters_of(const OpticalFlowConfig& config) {
  const PyramidConfig& pyramid = config.pyramid;
  reference::VariationalParameters p;
  p.levels = pyramid.levels;
  p.warps = pyramid.warps;
  p.coarse_warps = pyramid.coarse_warps;
  p.sweeps = pyramid.sweeps;
  p.coarse_sweeps = pyramid.coarse_sweeps;
  p.reweightings = pyramid.reweightings;
  p.smoothness = static_cast<double>(pyramid.smoothness);
  return p;
}

/// Compares the flow of the last two frames. A candidate or a limit of a step that rounding decides
/// otherwise changes the pixels around it, so a small share may differ. Returns the largest
/// expected motion.
double expect_matches(const OpticalFlowConfig& config, const std::vector<FrameBuffer>& frames,
                      const Results& got) {
  const std::size_t last = frames.size() - 1;
  const reference::VariationalResult expected = reference::variational_flow(
      frames[last - 1].values(), frames[last].values(), parameters_of(config));
  const auto& planes = got.planes[last];
  double sum = 0.0;
  double confidence = 0.0;
  double most = 1e-9;
  double moved = 0.0;
  int far = 0;
  for (int y = 0; y < config.size.height; ++y) {
    for (int x = 0; x < config.size.width; ++x) {
      const double error = test::end_point_error(static_cast<double>(planes[0].at(x, y)),
                                                 static_cast<double>(planes[1].at(x, y)),
                                                 expected.u.at(x, y), expected.v.at(x, y));
      // A value that is not a number counts as far.
      if (!(error < 0.01)) ++far;
      sum += error;
      confidence +=
          std::abs(static_cast<double>(planes[2].at(x, y)) - expected.confidence.at(x, y));
      most = std::max(most, expected.confidence.at(x, y));
      moved = std::max(moved, std::hypot(expected.u.at(x, y), expected.v.at(x, y)));
    }
  }
  const double pixels = static_cast<double>(config.size.width) * config.size.height;
  EXPECT_LE(far, 0.01 * pixels) << "pixels whose flow differs by 0.01 pixels or more";
  EXPECT_LE(sum / pixels, 1e-3) << "pixels on the mean";
  EXPECT_LE(confidence / pixels, 1e-3 * most) << "of " << most;
  return moved;
}

// Fails when a step or a setting of the solver differs from the reference.
// Promises: RES-003.
TEST_P(VariationalFlow, MatchesTheReference) {
  struct Case {
    const char* name;
    std::function<void(OpticalFlowConfig&)> change;
    ImageSize size = {73, 62};
  };
  const Case cases[] = {
      {"best", [](auto&) {}},
      {"three levels, odd sizes", [](auto&) {}, {102, 97}},
      {"small", [](auto&) {}, {25, 24}},
      {"narrow", [](auto&) {}, {90, 5}},
      {"one level", [](auto& c) { c.pyramid.levels = 1; }},
      {"one warp", [](auto& c) { c.pyramid.warps = c.pyramid.coarse_warps = 1; }},
      {"two, three and four warps", [](auto& c) { c.pyramid.warps = 2; }, {102, 97}},
      {"one sweep", [](auto& c) { c.pyramid.sweeps = c.pyramid.coarse_sweeps = 1; }},
      {"28 sweeps", [](auto& c) { c.pyramid.sweeps = c.pyramid.coarse_sweeps = 28; }},
      {"smooth", [](auto& c) { c.pyramid.smoothness = 5.0f; }},
      {"a weighted mean", [](auto& c) { c.pyramid.reweightings = 0; }},
      {"16 bits", [](auto& c) { c.format = PixelFormat::kGray16; }},
      {"floats", [](auto& c) { c.format = PixelFormat::kFloat32; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    OpticalFlowConfig config = OpticalFlowConfig::best(one.size);
    one.change(config);
    const auto frames = layered_frames(config.size, config.format, 3);
    EXPECT_GT(expect_matches(config, frames, results(config, frames)), 0.5)
        << "nothing moved: the test shows nothing";
  }
}

// Fails when a tiny or narrow image has wrong borders.
TEST_P(VariationalFlow, TakesEverySize) {
  for (const ImageSize size :
       {ImageSize{1, 1}, {1, 40}, {40, 1}, {2, 2}, {7, 7}, {9, 16}, {17, 13}, {31, 33}, {200, 9}}) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    OpticalFlowConfig config = OpticalFlowConfig::best(size);
    config.pyramid.levels = 6;
    const auto frames = layered_frames(size, PixelFormat::kGray8, 3);
    expect_matches(config, frames, results(config, frames));
  }
}

// Fails when an instruction set differs from the reference, or when the bands of the workers change
// a bit of the result.
// Promises: RES-002.
TEST(VariationalFlowOnCpu, MatchesOnEachInstructionSet) {
  const OpticalFlowConfig config = OpticalFlowConfig::best({150, 131});
  const auto frames = layered_frames(config.size, PixelFormat::kGray8, 2);
  for (const test::SimdTarget& target : test::simd_targets()) {
    SCOPED_TRACE(target.name);
    const test::OnlyTargets only(target.bit);
    const Results got = test::run<OpticalFlow>(config, frames, 1);
    expect_matches(config, frames, got);
    for (const int workers : {2, 3, 7})
      EXPECT_TRUE(same_bytes(got, test::run<OpticalFlow>(config, frames, workers)))
          << workers << " workers";
  }
}

// Fails when the region of interest is not the part of the whole image, bit for bit.
TEST_P(VariationalFlow, RegionOfInterestIsACropOfTheWhole) {
  OpticalFlowConfig config = OpticalFlowConfig::best({400, 90});
  config.pyramid.levels = 2;
  config.pyramid.warps = config.pyramid.coarse_warps = 1;
  config.pyramid.sweeps = config.pyramid.coarse_sweeps = 4;
  const auto frames = layered_frames(config.size, PixelFormat::kGray8, 2);
  const Results whole = results(config, frames);
  for (const Rect& roi : {Rect{190, 11, 33, 40}, Rect{0, 0, 7, 5}, Rect{399, 89, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << roi.x << "," << roi.y);
    config.roi = roi;
    const Results part = results(config, frames);
    for (std::size_t p = 0; p < 3; ++p)
      for (int y = 0; y < roi.height; ++y)
        for (int x = 0; x < roi.width; ++x)
          ASSERT_EQ(part.planes[1][p].at(x, y), whole.planes[1][p].at(roi.x + x, roi.y + y))
              << "plane " << p << " at " << x << "," << y;
  }
}

// Fails when the first frame has motion, or when values of frames of floats that are not finite
// reach a later result.
TEST_P(VariationalFlow, WarmsUpAndLeavesOutBadFrames) {
  const OpticalFlowConfig config = [] {
    OpticalFlowConfig best = OpticalFlowConfig::best({73, 62});
    best.format = PixelFormat::kFloat32;
    return best;
  }();
  std::vector<FrameBuffer> frames = layered_frames(config.size, config.format, 2);
  const Results good = results(config, frames);
  for (const float u : good.planes[0][0].data) ASSERT_LT(std::abs(u), 1e-3f);
  FrameBuffer bad(config.size, config.format);
  PlaneD pixels = frames[0].values();
  pixels.at(5, 7) = std::numeric_limits<double>::quiet_NaN();
  bad.fill(pixels);
  frames.insert(frames.begin() + 1, std::move(bad));
  const Results got = results(config, frames);
  EXPECT_TRUE(std::isnan(got.planes[1][0].at(30, 30)));
  EXPECT_EQ(got.planes[2][0].data, good.planes[1][0].data);
}

// Fails when what earlier frames left in memory changes a result.
TEST_P(VariationalFlow, EarlierFramesLeaveNothing) {
  for (const OpticalFlowConfig& config :
       {OpticalFlowConfig::quality({320, 240}), OpticalFlowConfig::best({151, 96})}) {
    std::vector<FrameBuffer> frames = test::noise_frames(config.size, config.format, 4, 3);
    const std::vector<FrameBuffer> moving = layered_frames(config.size, config.format, 2);
    frames.insert(frames.end(), moving.begin(), moving.end());
    const Results alone = results(config, moving);
    const Results after = results(config, frames);
    for (std::size_t p = 0; p < 3; ++p)
      EXPECT_EQ(after.planes.back()[p].data, alone.planes.back()[p].data) << "plane " << p;
  }
}

}  // namespace
}  // namespace ocellus
