// The kernel of the deviation for the pyramid, run on the host: its warp, derivatives and sums
// against the reference, on images and flow of the test.
#include <gtest/gtest.h>
#include <vector_types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/host_work.h"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "reference/deviation.h"
#include "reference/image.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using test::PlaneD;
using test::PlaneF;

constexpr int kBefore = 8;  // pixels in memory around an image, which repeat its edge

struct Geometry {
  ImageSize size;
  Rect region;
  Rect roi;
};

detail::DeviationModel model_of(const reference::DeviationConstants& constants) {
  return {
      static_cast<float>(constants.gradient_floor), static_cast<float>(constants.least),
      static_cast<float>(constants.noise),          static_cast<float>(constants.bend),
      static_cast<float>(constants.rounding),       static_cast<float>(constants.gradient_rounding),
      static_cast<float>(constants.pixel_rounding), static_cast<float>(constants.texture_noise)};
}

constexpr double kTolerance = 5e-4;  // relative

void expect_in(float got, const reference::DeviationRange& range, int x, int y) {
  const double value = static_cast<double>(got);
  ASSERT_TRUE(value >= range.low.at(x, y) * (1.0 - kTolerance) &&
              value <= range.high.at(x, y) * (1.0 + kTolerance))
      << value << " at (" << x << ", " << y << "), expected " << range.low.at(x, y) << " to "
      << range.high.at(x, y);
}

/// The planes u, v, confidence and deviation of the region of interest. With `cells`, the kernel
/// gets no plane for the deviation, and writes that of the cells there.
std::vector<PlaneF> run_kernel(const Geometry& setup, const PlaneD& reference, const PlaneD& next,
                               const PlaneD& guide, const PlaneD& u, const PlaneD& v,
                               float threshold, const cuda::DeviationCells* cells = nullptr) {
  cuda::DeviationArguments a{};
  const int stride = setup.size.width + 2 * kBefore;
  const auto level_floats = static_cast<std::size_t>(stride * (setup.size.height + 2 * kBefore));
  const std::size_t image_floats = level_floats + guide.data.size();
  std::vector<float> window(2 * image_floats);
  for (std::size_t i = 0; i < guide.data.size(); ++i)
    window[level_floats + i] = static_cast<float>(guide.data[i]);
  // The ring has the reference frame, then the newest one.
  for (int f = 0; f < 2; ++f) {
    for (int y = -kBefore; y < setup.size.height + kBefore; ++y) {
      for (int x = -kBefore; x < setup.size.width + kBefore; ++x) {
        window[static_cast<std::size_t>(f) * image_floats +
               static_cast<std::size_t>((y + kBefore) * stride + x + kBefore)] =
            static_cast<float>((f == 0 ? reference : next).clamped(x, y));
      }
    }
  }
  cuda::TemporalState state{1, 1, 0, 0};
  cuda::FrameOutcome outcome{};
  std::vector<float2> flow;
  std::vector<float> confidence;
  for (int y = 0; y < setup.region.height; ++y) {
    for (int x = 0; x < setup.region.width; ++x) {
      const int at_x = setup.region.x + x;
      const int at_y = setup.region.y + y;
      flow.push_back({static_cast<float>(u.at(at_x, at_y)), static_cast<float>(v.at(at_x, at_y))});
      confidence.push_back(0.01f * static_cast<float>((at_x * 7 + at_y * 13) % 50));
    }
  }
  std::vector<PlaneF> out(4, PlaneF(setup.roi.width, setup.roi.height));
  cuda::FrameParams frame{};
  for (std::size_t p = 0; p < out.size(); ++p) {
    frame.out[p] = out[p].data.data();
    frame.out_stride[p] = static_cast<std::int64_t>(sizeof(float)) * setup.roi.width;
  }
  if (cells != nullptr) {
    frame.out[3] = nullptr;
    a.cells = *cells;
  }
  a.frame = &frame;
  a.state = &state;
  a.outcome = &outcome;
  a.frames = 2;
  const cuda::StoredLevel stored = {std::int64_t{kBefore} * stride + kBefore, stride,
                                    setup.size.width, setup.size.height};
  a.window = {window.data(), static_cast<std::int64_t>(image_floats)};
  a.level = {stored,
             {static_cast<std::int64_t>(level_floats), setup.size.width, setup.size.width,
              setup.size.height},
             setup.region,
             setup.region.width};
  a.source.flow = flow.data();
  a.source.stride = setup.region.width;
  a.target.part = cuda::moved_into(setup.roi, setup.region);
  a.target.threshold = threshold;
  a.model = model_of(reference::pyramid_constants(PixelFormat::kGray8, FlowSolver::kLucasKanade));
  a.confidence = confidence.data();
  void* arguments[] = {&a};
  const auto blocks = [](int pixels, int tile) {
    return static_cast<unsigned>((pixels + tile - 1) / tile);
  };
  const auto work =
      test::host_work({reinterpret_cast<const void*>(cuda::deviation_kernel(FlowMethod::kPyramid)),
                       blocks(setup.roi.width, cuda::kPyramidTileWidth),
                       blocks(setup.roi.height, cuda::kDeviationTileHeight), 1,
                       cuda::kPyramidThreads, 0, arguments});
  EXPECT_TRUE(work != nullptr);
  if (work) work();
  EXPECT_EQ(state.head, 0) << "the frame has not ended";
  return out;
}

// Fails when the kernel warps another frame, or a derivative, a sum, a border or the region of
// interest is wrong.
TEST(DeviationKernel, OfThePyramidMatchesTheReference) {
  const Geometry setups[] = {{{70, 45}, {0, 0, 70, 45}, {0, 0, 70, 45}},
                             {{40, 3}, {0, 0, 40, 3}, {0, 0, 40, 3}},
                             {{1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}},
                             {{90, 70}, {6, 4, 70, 60}, {15, 13, 40, 33}}};
  for (const Geometry& setup : setups) {
    SCOPED_TRACE(std::to_string(setup.size.width) + "x" + std::to_string(setup.size.height));
    const int width = setup.size.width;
    const int height = setup.size.height;
    const PlaneD here = test::noise(setup.size, 1);
    const PlaneD next = test::noise(setup.size, 2);
    PlaneD u(width, height);
    PlaneD v(width, height);
    PlaneD residual(width, height);
    PlaneD ix(width, height);
    PlaneD iy(width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        // Values that are the same in single precision.
        u.at(x, y) = std::round(64.0 * 3.0 * std::sin(0.2 * x + 0.1 * y)) / 64.0;
        v.at(x, y) = std::round(64.0 * 2.0 * std::cos(0.15 * x - 0.3 * y)) / 64.0;
        const double at_x = x + u.at(x, y);
        const double at_y = y + v.at(x, y);
        residual.at(x, y) = reference::bicubic(next, at_x, at_y) - here.at(x, y);
        ix.at(x, y) = (here.clamped(x - 2, y) - 8.0 * here.clamped(x - 1, y) +
                       8.0 * here.clamped(x + 1, y) - here.clamped(x + 2, y)) /
                      12.0;
        iy.at(x, y) = (here.clamped(x, y - 2) - 8.0 * here.clamped(x, y - 1) +
                       8.0 * here.clamped(x, y + 1) - here.clamped(x, y + 2)) /
                      12.0;
      }
    }
    // From flat to rough, with the mean of a flat image between them.
    PlaneD guide(width, height);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) guide.at(x, y) = (x / 4 + y / 6) % 3;
    const reference::DeviationRange expected = reference::deviation(
        reference::pyramid_constants(PixelFormat::kGray8, FlowSolver::kLucasKanade), ix, iy,
        residual, reference::texture_of(guide), u, v);
    constexpr float kThreshold = 0.1f;
    const std::vector<PlaneF> got = run_kernel(setup, here, next, guide, u, v, kThreshold);
    for (int y = 0; y < setup.roi.height; ++y) {
      for (int x = 0; x < setup.roi.width; ++x) {
        const int at_x = setup.roi.x + x;
        const int at_y = setup.roi.y + y;
        const float deviation = got[3].at(x, y);
        if (got[2].at(x, y) < kThreshold) {
          ASSERT_TRUE(std::isinf(deviation) && got[0].at(x, y) == 0.0f) << x << ", " << y;
          continue;
        }
        ASSERT_EQ(got[0].at(x, y), static_cast<float>(u.at(at_x, at_y))) << x << ", " << y;
        expect_in(deviation, expected, at_x, at_y);
      }
    }
    // Without the plane, cells that may move have its values, and tiles without one are left out.
    cuda::DeviationCells cells{detail::CellGrid({setup.roi.width, setup.roi.height}), {}, nullptr};
    cells.motion.min_motion = 2.9f;
    constexpr float kUntouched = -1.0f;
    std::vector<float> of_cells(cells.grid.cells(), kUntouched);
    cells.deviation = of_cells.data();
    const std::vector<PlaneF> without =
        run_kernel(setup, here, next, guide, u, v, kThreshold, &cells);
    std::size_t moving = 0;
    for (int row = 0; row < cells.grid.rows; ++row) {
      for (int column = 0; column < cells.grid.columns; ++column) {
        const int x = cells.grid.sample_x(column);
        const int y = cells.grid.sample_y(row);
        const float value = of_cells[static_cast<std::size_t>(row * cells.grid.columns + column)];
        const bool moves =
            cells.motion.may_pass(static_cast<float>(u.at(setup.roi.x + x, setup.roi.y + y)),
                                  static_cast<float>(v.at(setup.roi.x + x, setup.roi.y + y)));
        moving += moves ? 1 : 0;
        if (moves || value != kUntouched) {
          ASSERT_EQ(value, got[3].at(x, y)) << x << ", " << y;
        }
      }
    }
    for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(without[p].data, got[p].data);
    if (setup.size.width > 60) {
      EXPECT_GT(moving, 10u);
    }
    cells.motion.min_motion = 10.0f;
    std::fill(of_cells.begin(), of_cells.end(), kUntouched);
    run_kernel(setup, here, next, guide, u, v, kThreshold, &cells);
    for (const float value : of_cells) ASSERT_EQ(value, kUntouched);
  }
}

// Fails when the guide of a new frame is that of another place or is normalized, when it is stored
// with another frame, or when it is stored although it is not wanted.
TEST(DeviationKernel, TheGuideIsTheFrame) {
  constexpr ImageSize kSize{70, 53};
  constexpr int kFrames = 2;
  constexpr int kHead = 1;
  constexpr int kStride = kSize.width + 2 * kBefore;
  constexpr std::size_t kLevelFloats = std::size_t{kStride} * (kSize.height + 2 * kBefore);
  constexpr std::size_t kFrameFloats = kLevelFloats + std::size_t{kSize.width} * kSize.height;
  const PlaneD image = test::noise(kSize, 3);
  std::vector<std::uint8_t> pixels;
  for (const double value : image.data) pixels.push_back(static_cast<std::uint8_t>(value));
  for (const bool normalize : {false, true}) {
    for (const bool wanted : {false, true}) {
      SCOPED_TRACE(std::string(normalize ? "normalized" : "plain") + (wanted ? "" : ", unwanted"));
      constexpr float kUntouched = -5.0f;
      std::vector<float> window(kFrames * kFrameFloats, kUntouched);
      cuda::FrameParams frame{};
      frame.image = pixels.data();
      frame.image_stride = kSize.width;
      cuda::TemporalState state{kHead, 1, 0, 0};
      cuda::PrepareArguments a{};
      a.frame = &frame;
      a.state = &state;
      a.window = {window.data(), static_cast<std::int64_t>(kFrameFloats)};
      a.levels = 1;
      constexpr int kTilesX = (kSize.width + cuda::kPyramidTileWidth - 1) / cuda::kPyramidTileWidth;
      constexpr int kTilesY =
          (kSize.height + cuda::kPrepareTileHeight - 1) / cuda::kPrepareTileHeight;
      a.level[0] = {nullptr,
                    0,
                    {std::int64_t{kBefore} * kStride + kBefore, kStride, kSize.width, kSize.height},
                    kTilesX,
                    0};
      if (wanted)
        a.guide = {static_cast<std::int64_t>(kLevelFloats), kSize.width, kSize.width, kSize.height};
      a.scale = 1.0f;
      a.presmoothing[0] = 1.0f;
      void* arguments[] = {&a};
      const auto work = test::host_work(
          {reinterpret_cast<const void*>(cuda::prepare_kernel(PixelFormat::kGray8, normalize)),
           kTilesX * kTilesY, 1, 1, cuda::kPyramidThreads, 0, arguments});
      ASSERT_TRUE(work != nullptr);
      work();
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        ASSERT_EQ(window[kLevelFloats + i], kUntouched) << i;
        const float got = window[kHead * kFrameFloats + kLevelFloats + i];
        ASSERT_EQ(got, wanted ? static_cast<float>(pixels[i]) : kUntouched) << i;
      }
    }
  }
}

// Fails when the kernel reads another derivative, or takes invalid flow for motion.
TEST(DeviationKernel, OfKernelsMatchesTheReference) {
  constexpr int kWidth = 70;
  constexpr int kHeight = 45;
  constexpr Rect kRoi{9, 4, 50, 37};
  constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
  std::vector<float> derivatives;
  std::vector<float> solved;
  std::vector<PlaneD> planes;  // Ix, Iy, It, u, v
  for (unsigned p = 0; p < 5; ++p) {
    PlaneD plane = test::noise({kWidth, kHeight}, p + 1);
    for (std::size_t i = 0; i < kPixels; ++i) {
      plane.data[i] = (plane.data[i] - 128.0) / 64.0;
      (p < 3 ? derivatives : solved).push_back(static_cast<float>(plane.data[i]));
    }
    planes.push_back(plane);
  }
  for (std::size_t i = 0; i < kPixels; i += 7) {
    for (std::size_t p = 0; p < 2; ++p) {
      solved[p * kPixels + i] = std::numeric_limits<float>::quiet_NaN();
      planes[3 + p].data[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  // The flow fits the derivatives up to some noise, so that the variance of rounding matters.
  for (std::size_t i = 0; i < kPixels; ++i) {
    double& it = planes[2].data[i];
    it *= 0.3;
    if (i % 7 != 0)
      it -= planes[0].data[i] * planes[3].data[i] + planes[1].data[i] * planes[4].data[i];
    derivatives[2 * kPixels + i] = static_cast<float>(it);
  }
  solved.resize(3 * kPixels, 0.5f);
  cuda::TemporalState state{0, 0, 0, 0};
  cuda::FrameOutcome outcome{};
  PlaneF u(kRoi.width, kRoi.height);
  PlaneF v = u;
  PlaneF deviation = u;
  cuda::FrameParams frame{};
  frame.out[0] = u.data.data();
  frame.out[1] = v.data.data();
  frame.out[3] = deviation.data.data();
  for (const std::size_t p : {0, 1, 3})
    frame.out_stride[p] = static_cast<std::int64_t>(sizeof(float)) * kRoi.width;
  cuda::DeviationArguments a{};
  a.frame = &frame;
  a.state = &state;
  a.outcome = &outcome;
  a.frames = 5;
  // Variances of rounding that matter beside these derivatives.
  const reference::DeviationConstants constants = {1.0, 0.22, 0.0014, 37.0, 0.9, 0.3, 0.05, 0.4};
  a.model = model_of(constants);
  a.level.region = {0, 0, kWidth, kHeight};
  a.target.part = kRoi;
  a.solved = {solved.data(), kWidth, kPixels};
  a.derivatives = {derivatives.data(), kWidth, kPixels};
  void* arguments[] = {&a};
  const auto work =
      test::host_work({reinterpret_cast<const void*>(cuda::deviation_kernel(FlowMethod::kKernels)),
                       2, 3, 1, cuda::kPyramidThreads, 0, arguments});
  ASSERT_TRUE(work != nullptr);
  work();
  const reference::DeviationRange expected =
      reference::kernel_deviation(constants, planes[0], planes[1], planes[2], planes[3], planes[4]);
  int invalid = 0;
  int finite = 0;
  for (int y = 0; y < kRoi.height; ++y) {
    for (int x = 0; x < kRoi.width; ++x) {
      const float got = deviation.at(x, y);
      if (std::isnan(planes[3].at(kRoi.x + x, kRoi.y + y))) {
        ++invalid;
        ASSERT_TRUE(std::isinf(got) && u.at(x, y) == a.target.invalid) << x << ", " << y;
        continue;
      }
      finite += std::isinf(got) ? 0 : 1;
      expect_in(got, expected, kRoi.x + x, kRoi.y + y);
    }
  }
  EXPECT_GT(finite, kRoi.width * kRoi.height / 2);
  EXPECT_GT(invalid, 100);
}

}  // namespace
}  // namespace ocellus
