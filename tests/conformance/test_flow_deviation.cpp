// The standard deviation of the flow on every backend: against the reference, from the flow that
// the operator itself has computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "reference/deviation.h"
#include "reference/pyramid.h"
#include "support/flow_view.h"
#include "support/object_search.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::moving_frames;
using test::OnBackend;
using test::PlaneD;
using test::Results;

constexpr double kTolerance = 5 * test::kFloatTolerance;  // relative

class DeviationOf : public OnBackend {
 protected:
  Results results(const OpticalFlowConfig& config, const std::vector<FrameBuffer>& frames) const {
    return OnBackend::results<OpticalFlow>(config, frames, 2, 1);
  }
};
/// These run on the host over the fake driver, too.
class KernelDeviation : public DeviationOf {};
class PyramidDeviation : public DeviationOf {};
INSTANTIATE_TEST_SUITE_P(Backends, KernelDeviation, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);
INSTANTIATE_TEST_SUITE_P(Backends, PyramidDeviation,
                         testing::ValuesIn(test::conformance_backends()), test::backend_label);

PlaneD doubles(const test::PlaneF& plane) {
  PlaneD result(plane.width, plane.height);
  for (std::size_t i = 0; i < plane.data.size(); ++i)
    result.data[i] = static_cast<double>(plane.data[i]);
  return result;
}

void expect_near(const test::PlaneF& got, const reference::DeviationRange& expected) {
  ASSERT_EQ(got.size(), expected.low.size());
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double value = static_cast<double>(got.data[i]);
    ASSERT_TRUE(value >= expected.low.data[i] * (1.0 - kTolerance) &&
                value <= expected.high.data[i] * (1.0 + kTolerance))
        << "pixel " << i << ": " << value << ", expected " << expected.low.data[i] << " to "
        << expected.high.data[i];
  }
}

/// The range must be narrow at most pixels, or the comparison would not say much.
void expect_narrow(const reference::DeviationRange& range) {
  std::size_t wide = 0;
  for (std::size_t i = 0; i < range.low.data.size(); ++i)
    wide += range.high.data[i] <= range.low.data[i] * (1.0 + kTolerance) ? 0 : 1;
  EXPECT_LE(wide, range.low.data.size() / 20);
}

OpticalFlowConfig kernels_config(ImageSize size) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.kernels.nx = 7;
  config.kernels.ny = 7;
  config.kernels.nt = 5;
  config.deviation = true;
  return config;
}

/// The planes of frame f without a region of interest.
void expect_kernel_deviation(const OpticalFlowConfig& config,
                             const std::vector<FrameBuffer>& frames, const Results& got,
                             std::size_t f) {
  ASSERT_EQ(got.planes[f].size(), 4u);
  const std::vector<PlaneD> values = test::values_of(frames);
  const std::vector<PlaneD> past(values.begin(),
                                 values.begin() + static_cast<std::ptrdiff_t>(f) + 1);
  const auto kernels = reference::kernels_of(config.kernels, config.size);
  const reference::DeviationRange expected = reference::kernel_deviation(
      reference::kernel_constants(config.format, kernels), reference::convolve(past, kernels, 0),
      reference::convolve(past, kernels, 1), reference::convolve(past, kernels, 2),
      doubles(got.planes[f][0]), doubles(got.planes[f][1]));
  expect_near(got.planes[f][3], expected);
  if (config.size.width > 60) expect_narrow(expected);
}

// Fails when a term, the box, its borders, or the treatment of invalid flow is wrong.
TEST_P(KernelDeviation, MatchesTheReference) {
  for (const ImageSize size :
       {ImageSize{67, 45}, {33, 17}, {16, 16}, {9, 31}, {40, 3}, {1, 1}, {2, 40}}) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    OpticalFlowConfig config = kernels_config(size);
    const auto frames = moving_frames(size, PixelFormat::kGray8, 6);
    const Results got = results(config, frames);
    expect_kernel_deviation(config, frames, got, 5);
    if (HasFailure()) return;
    // Some flow is invalid.
    std::vector<float> confidence = got.planes[5][2].data;
    std::nth_element(confidence.begin(),
                     confidence.begin() + static_cast<std::ptrdiff_t>(confidence.size() / 3),
                     confidence.end());
    config.confidence_threshold = confidence[confidence.size() / 3];
    expect_kernel_deviation(config, frames, results(config, frames), 5);
    if (HasFailure()) return;
  }
}

// Fails when the mark of invalid flow changes the deviation, or flow without a deviation is not
// what it is with one.
TEST_P(KernelDeviation, DependsOnTheFlowOnly) {
  OpticalFlowConfig config = kernels_config({67, 45});
  const auto frames = moving_frames(config.size, PixelFormat::kGray8, 6);
  std::vector<float> confidence = results(config, frames).planes[5][2].data;
  std::nth_element(confidence.begin(), confidence.begin() + 500, confidence.end());
  config.confidence_threshold = confidence[500];
  const Results nan = results(config, frames);
  config.invalid = InvalidFlow::kZero;
  const Results zero = results(config, frames);
  config.deviation = false;
  const Results without = results(config, frames);
  ASSERT_EQ(without.planes[5].size(), 3u);
  int invalid = 0;
  int finite = 0;
  for (std::size_t i = 0; i < nan.planes[5][3].data.size(); ++i) {
    ASSERT_EQ(nan.planes[5][3].data[i], zero.planes[5][3].data[i]);
    const bool unknown = std::isnan(nan.planes[5][0].data[i]);
    ASSERT_TRUE(!unknown || std::isinf(nan.planes[5][3].data[i]));
    invalid += unknown ? 1 : 0;
    finite += std::isinf(nan.planes[5][3].data[i]) ? 0 : 1;
    for (std::size_t p = 0; p < 3; ++p)
      ASSERT_EQ(zero.planes[5][p].data[i], without.planes[5][p].data[i]);
  }
  EXPECT_GT(invalid, 50);
  EXPECT_GT(finite, 1000);
}

/// A region of interest must have the deviation of that part of the whole image.
void expect_crop(const Results& part, const Results& whole, const Rect& roi) {
  for (std::size_t f = 0; f < whole.planes.size(); ++f) {
    for (int y = 0; y < roi.height; ++y) {
      for (int x = 0; x < roi.width; ++x) {
        const float a = part.planes[f][3].at(x, y);
        const float b = whole.planes[f][3].at(roi.x + x, roi.y + y);
        if (std::isinf(a) && std::isinf(b)) continue;
        ASSERT_NEAR(a, b, 3e-4f * (1.0f + b)) << "frame " << f << " at (" << x << ", " << y << ")";
      }
    }
  }
}
constexpr Rect kRegions[] = {
    {0, 0, 64, 48}, {10, 7, 33, 21}, {0, 0, 1, 1}, {63, 47, 1, 1}, {40, 0, 24, 5}};

// Fails when the region in which derivatives or flow are computed is too small for the deviation.
TEST_P(KernelDeviation, RegionOfInterestIsACropOfTheWhole) {
  OpticalFlowConfig config = kernels_config({64, 48});
  const auto frames = moving_frames(config.size, PixelFormat::kGray8, 6);
  const Results whole = results(config, frames);
  for (const Rect& roi : kRegions) {
    config.roi = roi;
    expect_crop(results(config, frames), whole, roi);
    if (HasFailure()) return;
  }
}

/// A body that moves over ground that moves, too.
std::vector<FrameBuffer> frames_with_body(ImageSize size, PixelFormat format, int count) {
  std::vector<FrameBuffer> frames = moving_frames(size, format, count);
  for (int f = 0; f < count; ++f)
    for (int y = 20; y < 60; ++y)
      for (int x = 20; x < 60; ++x)
        frames[static_cast<std::size_t>(f)].set(x + 2 * f, y, (x * 37 + y * 61) % 200 + 20);
  return frames;
}

struct ObjectCase {
  Rect roi;
  float min_deviations;
};
constexpr ObjectCase kObjectCases[] = {
    {{}, 4.0f}, {{}, 0.0f}, {{12, 9, 90, 61}, 5.0f}, {{13, 8, 118, 89}, 5.5f}};

/// The record must have exactly the objects of the planes that the operator has written. Without
/// the plane, the deviation must be the same.
void expect_objects(OpticalFlowConfig config, const std::vector<FrameBuffer>& frames,
                    std::span<const ObjectCase> cases,
                    const std::function<Results(const OpticalFlowConfig&)>& compute) {
  config.objects = 5;
  config.min_area = 1;
  config.min_motion = 0.25f;
  for (const ObjectCase& one : cases) {
    SCOPED_TRACE(std::string(one.roi.empty() ? "" : "region, ") +
                 std::to_string(one.min_deviations));
    config.roi = one.roi;
    config.min_deviations = one.min_deviations;
    config.deviation = true;
    const Results with = compute(config);
    config.deviation = false;
    const Results without = compute(config);
    ASSERT_EQ(with.records.size(), frames.size());
    ASSERT_EQ(without.records.size(), frames.size());
    test::ObjectSearch search(config);
    const auto objects_of = [&](const std::vector<test::PlaneF>& flow,
                                std::vector<float> deviation) {
      std::vector<float> u = flow[0].data;
      std::vector<float> v = flow[1].data;
      const MovingObjectsRecord record =
          search.find(test::flow_view(search.grid().size, u, v, deviation));
      std::vector<std::uint32_t> values(sizeof(record) / sizeof(std::uint32_t));
      std::memcpy(values.data(), &record, sizeof(record));
      return values;
    };
    int found = 0;
    int others = 0;  // by the deviation
    for (std::size_t f = 0; f < frames.size(); ++f) {
      ASSERT_EQ(without.planes[f].size(), 3u);
      const std::vector<float>& deviation = with.planes[f][3].data;
      EXPECT_EQ(with.records[f], objects_of(with.planes[f], deviation)) << "frame " << f;
      EXPECT_EQ(without.records[f], objects_of(without.planes[f], deviation))
          << "without the plane, frame " << f;
      found += without.records[f][0] > 0 ? 1 : 0;
      others += without.records[f] != objects_of(without.planes[f], {}) ? 1 : 0;
    }
    EXPECT_GT(found, 0);
    EXPECT_EQ(others > 0, one.min_deviations > 0.0f);
  }
}

// Fails when a cell is sampled at another pixel, before the field is complete, or from another
// frame in flight; when a box is not in the frame; or when the deviation is left out, or is not
// that of the plane where there is none.
TEST_P(KernelDeviation, ObjectsAreThoseOfTheField) {
  const OpticalFlowConfig config = kernels_config({131, 97});
  const auto frames = frames_with_body(config.size, PixelFormat::kGray8, 6);
  expect_objects(config, frames, kObjectCases,
                 [&](const OpticalFlowConfig& made) { return results(made, frames); });
}
TEST_P(PyramidDeviation, ObjectsAreThoseOfTheField) {
  const ImageSize size{131, 97};
  const auto frames = frames_with_body(size, PixelFormat::kGray8, 4);
  for (const auto preset :
       {&OpticalFlowConfig::fast, &OpticalFlowConfig::quality, &OpticalFlowConfig::best}) {
    // On the host, the kernels of `best` take long.
    const std::size_t cases = preset == &OpticalFlowConfig::best ? 1 : std::size(kObjectCases);
    expect_objects(preset(size), frames, std::span(kObjectCases).first(cases),
                   [&](const OpticalFlowConfig& made) { return results(made, frames); });
  }
}

// Fails when a frame with NaN has a deviation other than infinity, or changes those after it.
TEST_P(KernelDeviation, BadFramesHaveNone) {
  OpticalFlowConfig config = kernels_config({40, 30});
  config.format = PixelFormat::kFloat32;
  auto frames = moving_frames(config.size, PixelFormat::kFloat32, 6);
  const Results good = results(config, frames);
  FrameBuffer bad = frames[5];
  bad.set(7, 9, std::numeric_limits<double>::quiet_NaN());
  frames.insert(frames.begin() + 5, bad);
  const Results got = results(config, frames);
  for (const float value : got.planes[5][3].data) ASSERT_TRUE(std::isinf(value)) << value;
  EXPECT_EQ(got.planes[6][3].data, good.planes[5][3].data);
}

// Fails when the reference frame, the warp or a term is wrong, for either solver.
TEST_P(PyramidDeviation, MatchesTheReference) {
  for (const ImageSize size : {ImageSize{73, 62}, {25, 24}, {40, 3}, {1, 1}}) {
    for (const bool quality : {false, true}) {
      SCOPED_TRACE(std::string(quality ? "quality " : "fast ") + std::to_string(size.width) + "x" +
                   std::to_string(size.height));
      OpticalFlowConfig config =
          quality ? OpticalFlowConfig::quality(size) : OpticalFlowConfig::fast(size);
      config.deviation = true;
      const auto frames = moving_frames(size, PixelFormat::kGray8, 3);
      const Results got = results(config, frames);
      const std::vector<PlaneD> values = test::values_of(frames);
      for (const std::size_t f : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        ASSERT_EQ(got.planes[f].size(), 4u);
        const std::vector<PlaneD> past(values.begin(),
                                       values.begin() + static_cast<std::ptrdiff_t>(f) + 1);
        const reference::DeviationRange expected = reference::pyramid_deviation(
            past, config, doubles(got.planes[f][0]), doubles(got.planes[f][1]));
        expect_near(got.planes[f][3], expected);
        if (size.width > 60) expect_narrow(expected);
        if (HasFailure()) return;
      }
    }
  }
}

// Fails when the flow is computed in too small a region for the deviation.
TEST_P(PyramidDeviation, RegionOfInterestIsACropOfTheWhole) {
  OpticalFlowConfig config = OpticalFlowConfig::quality({64, 48});
  config.pyramid.levels = 3;
  config.deviation = true;
  const auto frames = moving_frames(config.size, PixelFormat::kGray8, 3);
  const Results whole = results(config, frames);
  for (const Rect& roi : kRegions) {
    config.roi = roi;
    expect_crop(results(config, frames), whole, roi);
    if (HasFailure()) return;
  }
}

// Fails when flow below the threshold has a deviation, or the planes differ from those without it.
TEST_P(PyramidDeviation, InvalidFlowHasNone) {
  OpticalFlowConfig config = OpticalFlowConfig::quality({64, 48});
  const auto frames = moving_frames(config.size, PixelFormat::kGray8, 3);
  config.confidence_threshold = 0.05f;
  const Results without = results(config, frames);
  config.deviation = true;
  const Results got = results(config, frames);
  int finite = 0;
  for (std::size_t i = 0; i < got.planes[2][3].data.size(); ++i) {
    ASSERT_TRUE(!std::isnan(got.planes[2][0].data[i]) || std::isinf(got.planes[2][3].data[i]));
    finite += std::isinf(got.planes[2][3].data[i]) ? 0 : 1;
    for (std::size_t p = 0; p < 3; ++p) {
      const float a = got.planes[2][p].data[i];
      const float b = without.planes[2][p].data[i];
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || std::abs(a - b) < 1e-5f) << a << " " << b;
    }
  }
  EXPECT_GT(finite, 100);
}

}  // namespace
}  // namespace ocellus
