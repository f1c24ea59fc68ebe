// OpticalFlow on every backend: kernels against equations (2) and (3), and the pyramid against its
// steps in double precision. Also what is particular to flow: marks, thresholds, confidence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "reference/pyramid.h"

namespace ocellus {
namespace {

using test::expect_flow_matches;
using test::FrameBuffer;
using test::layered_frames;
using test::moving_frames;
using test::noise_frames;
using test::OnBackend;
using test::RandomTaps;
using test::Results;

class Flow : public OnBackend {
 protected:
  Results results(const OpticalFlowConfig& config, const std::vector<FrameBuffer>& frames,
                  int workers = 2, int in_flight = 1) const {
    return OnBackend::results<OpticalFlow>(config, frames, workers, in_flight);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Flow, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

class SlowFlow : public Flow {};
INSTANTIATE_TEST_SUITE_P(Backends, SlowFlow, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

constexpr KernelForm kForms[] = {KernelForm::kUniform, KernelForm::kPerPixel, KernelForm::kFull};
/// The methods and the solvers of the pyramid.
enum class Method { kKernels, kLucasKanade, kVariational };
constexpr Method kMethods[] = {Method::kKernels, Method::kLucasKanade, Method::kVariational};

std::string name_of(KernelForm form) {
  return form == KernelForm::kUniform ? "uniform"
         : form == KernelForm::kFull  ? "full"
                                      : "per pixel";
}
std::string name_of(Method method) {
  return method == Method::kKernels       ? "kernels"
         : method == Method::kLucasKanade ? "Lucas-Kanade"
                                          : "variational";
}

OpticalFlowConfig small_config(KernelForm form, ImageSize size = {31, 23}) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.depth = 2;
  config.kernels.form = form;
  config.kernels.nx = 7;
  config.kernels.ny = 7;
  config.kernels.nt = 5;
  config.window = 5;
  config.window_sigma = 1.5f;
  return config;
}

OpticalFlowConfig small_config(Method method, ImageSize size = {64, 48}) {
  if (method == Method::kKernels) return small_config(KernelForm::kUniform, size);
  OpticalFlowConfig config = method == Method::kLucasKanade ? OpticalFlowConfig::fast(size)
                                                            : OpticalFlowConfig::quality(size);
  config.depth = 2;
  config.pyramid.levels = 3;
  return config;
}

// Fails when flow or confidence differ from equation (3) on noise, for each form and origin of
// kernels.
// Promises: RES-003.
TEST_P(Flow, MatchesTheEquations) {
  struct Case {
    KernelForm form;
    KernelOrigin origin;
  };
  for (const Case& one : {Case{KernelForm::kUniform, KernelOrigin::kGaussian},
                          {KernelForm::kPerPixel, KernelOrigin::kGaussian},
                          {KernelForm::kPerPixel, KernelOrigin::kFoveated},
                          {KernelForm::kUniform, KernelOrigin::kCallback},
                          {KernelForm::kPerPixel, KernelOrigin::kCallback},
                          {KernelForm::kFull, KernelOrigin::kFoveated},
                          {KernelForm::kFull, KernelOrigin::kCallback}}) {
    for (const int terms : {1, 3}) {
      if (terms > 1 && (one.origin != KernelOrigin::kCallback || one.form == KernelForm::kFull))
        continue;
      SCOPED_TRACE(name_of(one.form) + " origin " + std::to_string(static_cast<int>(one.origin)) +
                   " terms " + std::to_string(terms));
      OpticalFlowConfig config = small_config(one.form);
      config.kernels.origin = one.origin;
      config.kernels.terms = terms;
      config.kernels.fovea_radius = 15.0f;
      RandomTaps taps{};
      if (one.origin == KernelOrigin::kCallback) taps.use_in(config.kernels);
      const auto frames = noise_frames(config.size, PixelFormat::kGray8, 8, 31);
      const double share = expect_flow_matches(config, frames, results(config, frames), {1, 4, 7});
      if (HasFailure()) return;
      EXPECT_GT(share, 0.5) << "too few pixels were compared";
    }
  }
}

// Fails when the weights, the size or the borders of the window are wrong.
TEST_P(Flow, EveryWindow) {
  constexpr float box = 0.0f;
  for (const auto& [window, sigma] : {std::pair{3, 1.0f},
                                      {5, box},
                                      {7, 0.8f},
                                      {9, 2.0f},
                                      {15, 4.0f},
                                      {15, box},
                                      {21, 3.5f},
                                      {31, 6.0f},
                                      {31, box}}) {
    SCOPED_TRACE("window " + std::to_string(window) + " sigma " + std::to_string(sigma));
    OpticalFlowConfig config = small_config(KernelForm::kUniform);
    config.window = window;
    config.window_weight = sigma == box ? WindowWeight::kBox : WindowWeight::kGaussian;
    if (sigma != box) config.window_sigma = sigma;
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 32);
    expect_flow_matches(config, frames, results(config, frames), {5});
    if (HasFailure()) return;
  }
}

// Fails when the borders of an image are wrong: narrow, odd, or smaller than kernel and window.
TEST_P(Flow, EverySize) {
  for (const KernelForm form : kForms) {
    for (const ImageSize size : {ImageSize{1, 1},
                                 {1, 9},
                                 {9, 1},
                                 {2, 3},
                                 {7, 5},
                                 {13, 17},
                                 {16, 16},
                                 {17, 13},
                                 {31, 2},
                                 {64, 48},
                                 {67, 5}}) {
      SCOPED_TRACE(name_of(form) + " " + std::to_string(size.width) + "x" +
                   std::to_string(size.height));
      OpticalFlowConfig config = small_config(form, size);
      const auto frames = noise_frames(size, PixelFormat::kGray8, 6, 33);
      expect_flow_matches(config, frames, results(config, frames), {0, 5});
      if (HasFailure()) return;
    }
  }
}

// Fails when a format is scaled wrongly, a stride is ignored, or a frame must be aligned.
TEST_P(Flow, FormatsStridesAndAddresses) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    OpticalFlowConfig config = small_config(KernelForm::kPerPixel, {27, 19});
    config.format = format;
    const auto frames = noise_frames(config.size, format, 6, 34, 5, 3);
    expect_flow_matches(config, frames, results(config, frames), {5});
    if (HasFailure()) return;
  }
}

// Fails when frames of a camera, with flat and one-dimensional parts, differ from the equations.
TEST_P(Flow, RealFrames) {
  const ImageSize size{96, 80};
  const auto frames = test::real_frames({70, 60, size.width, size.height}, 8);
  if (frames.empty()) GTEST_SKIP() << "no frames in OCELLUS_TEST_DATA";
  for (const KernelForm form : kForms) {
    OpticalFlowConfig config = small_config(form, size);
    config.window = 9;
    const double share = expect_flow_matches(config, frames, results(config, frames), {7});
    if (HasFailure()) return;
    EXPECT_GT(share, 0.2) << "too few pixels were compared";
  }
}

// Fails when half storage of taps and ring exceeds its tolerance.
TEST_P(Flow, HalfStorage) {
  OpticalFlowConfig config = small_config(KernelForm::kPerPixel);
  config.storage = CoefficientStorage::kHalf;
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 7, 35);
  // The smaller eigenvalue amplifies the error of the derivatives, on noise by up to about 10.
  const double share =
      expect_flow_matches(config, frames, results(config, frames), {6}, 10 * test::kHalfTolerance);
  EXPECT_GT(share, 0.5);
}

// Fails when a region of interest differs from that part of the whole result.
TEST_P(Flow, RegionOfInterestIsACropOfTheWhole) {
  for (const Method method : kMethods) {
    OpticalFlowConfig config = small_config(method);
    const auto frames = moving_frames(config.size, PixelFormat::kGray8, 6);
    const Results whole = results(config, frames);
    for (const Rect roi : {Rect{0, 0, 64, 48},
                           {10, 7, 33, 21},
                           {0, 0, 1, 1},
                           {63, 47, 1, 1},
                           {40, 0, 24, 5},
                           {0, 30, 3, 18}}) {
      config.roi = roi;
      const Results part = results(config, frames);
      for (std::size_t f = 0; f < frames.size(); ++f) {
        for (std::size_t p = 0; p < 3; ++p) {
          for (int y = 0; y < roi.height; ++y) {
            for (int x = 0; x < roi.width; ++x) {
              const float a = part.planes[f][p].at(x, y);
              const float b = whole.planes[f][p].at(roi.x + x, roi.y + y);
              if (std::isnan(a) && std::isnan(b)) continue;
              ASSERT_NEAR(a, b, 1e-4f * (1.0f + std::abs(b)))
                  << name_of(method) << " plane " << p << " frame " << f << " at (" << x << ", "
                  << y << ") of " << roi.width << "x" << roi.height;
            }
          }
        }
      }
    }
  }
}

// Fails when the threshold applies to another value than the confidence of the result, or when the
// mark is wrong.
TEST_P(Flow, FlowBelowTheThresholdIsMarked) {
  for (const Method method : kMethods) {
    OpticalFlowConfig config = small_config(method);
    const auto frames = moving_frames(config.size, PixelFormat::kGray8, 6);
    const Results all = results(config, frames);
    std::vector<float> sorted = all.planes[5][2].data;
    std::sort(sorted.begin(), sorted.end());
    config.confidence_threshold = sorted[sorted.size() / 3];
    for (const InvalidFlow mark : {InvalidFlow::kNan, InvalidFlow::kZero}) {
      config.invalid = mark;
      const Results got = results(config, frames);
      std::size_t marked = 0;
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        const float u = got.planes[5][0].data[i];
        const float v = got.planes[5][1].data[i];
        const float confidence = got.planes[5][2].data[i];
        if (method == Method::kKernels) {
          ASSERT_EQ(confidence, all.planes[5][2].data[i]) << "the threshold changes the confidence";
        }
        if (confidence < config.confidence_threshold) {
          ++marked;
          ASSERT_TRUE(mark == InvalidFlow::kNan ? std::isnan(u) && std::isnan(v)
                                                : u == 0.0f && v == 0.0f)
              << name_of(method) << " " << u << " " << v;
        } else {
          ASSERT_TRUE(std::isfinite(u) && std::isfinite(v)) << name_of(method);
          if (method == Method::kKernels) {
            ASSERT_EQ(u, all.planes[5][0].data[i]);
          }
        }
      }
      EXPECT_GT(marked, sorted.size() / 5);
      EXPECT_LT(marked, sorted.size() / 2);
    }
  }
}

// Fails when a flat image, which determines no motion, has flow, or a mark other than the
// configured one.
TEST_P(Flow, FlatImagesAreInvalid) {
  for (const Method method : kMethods) {
    for (const InvalidFlow mark : {InvalidFlow::kNan, InvalidFlow::kZero}) {
      for (const float threshold : {0.0f, 0.01f}) {
        OpticalFlowConfig config = small_config(method);
        config.invalid = mark;
        config.confidence_threshold = threshold;
        std::vector<FrameBuffer> frames;
        for (int f = 0; f < 6; ++f) {
          frames.emplace_back(config.size, PixelFormat::kGray8);
          frames.back().fill(test::PlaneD(config.size.width, config.size.height, 93.0));
        }
        const Results got = results(config, frames);
        // A singular system of the kernels is invalid at any threshold. The pyramid keeps its
        // start, no motion.
        const bool nan =
            mark == InvalidFlow::kNan && (method == Method::kKernels || threshold > 0.0f);
        for (std::size_t i = 0; i < got.planes[5][0].data.size(); ++i) {
          const float u = got.planes[5][0].data[i];
          const float v = got.planes[5][1].data[i];
          ASSERT_TRUE(nan ? std::isnan(u) && std::isnan(v) : u == 0.0f && v == 0.0f)
              << name_of(method) << " threshold " << threshold << ": " << u << " " << v;
          ASSERT_NEAR(got.planes[5][2].data[i], 0.0f, 1e-3f);
        }
      }
    }
  }
}

// Fails when stripes, a singular system, are not marked, or when their confidence is not about 0.
TEST_P(Flow, StripesAreInvalid) {
  OpticalFlowConfig config = small_config(Method::kKernels);
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < 6; ++f) {
    frames.emplace_back(config.size, PixelFormat::kFloat32);
    test::PlaneD plane(config.size.width, config.size.height);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x)
        plane.at(x, y) = 128.0 + 100.0 * std::sin(0.5 * (x - 0.3 * f));
    }
    frames.back().fill(plane);
  }
  config.format = PixelFormat::kFloat32;
  const Results got = results(config, frames);
  for (std::size_t i = 0; i < got.planes[5][0].data.size(); ++i) {
    ASSERT_TRUE(std::isnan(got.planes[5][0].data[i]) && std::isnan(got.planes[5][1].data[i]))
        << "pixel " << i << " u " << got.planes[5][0].data[i] << " confidence "
        << got.planes[5][2].data[i];
    ASSERT_NEAR(got.planes[5][2].data[i], 0.0f, 0.01f);
  }
}

// Fails when a system that single precision can solve counts as singular: faint patterns, and
// patterns that vary a hundred times less in one direction than in the other.
TEST_P(Flow, WeakPatternsAreSolved) {
  const test::Texture texture(5, 6.0, 24.0);
  const test::AffineMotion motion(0, 0, 0.6, 0, 0, -0.4);
  OpticalFlowConfig config = small_config(Method::kKernels);
  config.format = PixelFormat::kFloat32;
  for (const bool faint : {true, false}) {
    SCOPED_TRACE(faint ? "faint" : "nearly one-dimensional");
    std::vector<FrameBuffer> frames;
    for (int f = 0; f < 6; ++f) {
      test::PlaneD plane = test::render(texture, motion, config.size, f);
      for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
          plane.at(x, y) =
              faint ? 0.001 * plane.at(x, y)
                    : 100.0 * std::sin(0.7 * (x - 0.6 * f)) + 1.0 * std::sin(0.7 * (y + 0.4 * f));
        }
      }
      frames.emplace_back(config.size, config.format);
      frames.back().fill(plane);
    }
    const Results got = results(config, frames);
    const auto kernels = reference::kernels_of(config.kernels, config.size);
    const std::vector<test::PlaneD> values = test::values_of(frames);
    const test::PlaneD ix = reference::convolve(values, kernels, 0);
    const test::PlaneD iy = reference::convolve(values, kernels, 1);
    const test::PlaneD it = reference::convolve(values, kernels, 2);
    double weakest = 1.0;
    int compared = 0;
    for (int y = 0; y < config.size.height; ++y) {
      for (int x = 0; x < config.size.width; ++x) {
        const auto expected =
            reference::solve_at(ix, iy, it, config.window, reference::window_sigma(config), x, y);
        weakest = std::min(weakest, faint ? expected.smaller : expected.smaller / expected.larger);
        if (expected.smaller < 1e-5 || expected.smaller < 2e-5 * expected.larger) continue;
        ++compared;
        ASSERT_NEAR(got.planes[5][0].at(x, y), expected.u, 0.02) << x << ", " << y;
        ASSERT_NEAR(got.planes[5][1].at(x, y), expected.v, 0.02) << x << ", " << y;
      }
    }
    EXPECT_GT(compared, config.size.width * config.size.height / 2);
    EXPECT_LT(weakest, 2e-4) << "the pattern is not weak: the test shows nothing";
  }
}

// Fails when the flag of the warm-up, the described frame or the delay differ from the header, for
// any method.
TEST_P(Flow, WarmUpFrameByFrame) {
  struct Case {
    Method method;
    int frames;
  };
  for (const Case& one : {Case{Method::kKernels, 2},
                          {Method::kKernels, 5},
                          {Method::kKernels, 6},
                          {Method::kLucasKanade, 2},
                          {Method::kVariational, 2}}) {
    SCOPED_TRACE(name_of(one.method) + " " + std::to_string(one.frames));
    OpticalFlowConfig config = small_config(one.method);
    config.kernels.nt = one.frames;
    const auto frames = moving_frames(config.size, PixelFormat::kGray8, one.frames + 3);
    auto rig = this->rig<OpticalFlow>(config);
    const Results got = send(rig.op, frames);
    for (int f = 0; f < one.frames + 3; ++f) {
      const FrameInfo& info = got.infos[static_cast<std::size_t>(f)];
      EXPECT_EQ(info.warming_up(), f + 1 < one.frames) << "frame " << f;
      EXPECT_EQ(info.sequence, static_cast<std::uint64_t>(f));
      EXPECT_EQ(info.delay_frames, rig.op.info().delay_frames);
      // The delay is (l-1)/2 for kernels of l frames, and at least 1 for the pyramid.
      const int middle = (one.frames - 1) / 2;
      const int back = one.method == Method::kKernels ? middle : std::max(1, middle);
      const int described = std::max(0, f - back);
      EXPECT_EQ(info.described_sequence, static_cast<std::uint64_t>(described)) << "frame " << f;
      EXPECT_EQ(info.described_timestamp_ns, described * 1'000'000 + 7);
      for (const float value : got.planes[static_cast<std::size_t>(f)][0].data) {
        ASSERT_TRUE(std::isfinite(value) || std::isnan(value));
      }
    }
    if (one.method == Method::kKernels) {
      EXPECT_EQ(rig.op.info().delay_frames, static_cast<float>(one.frames - 1) / 2.0f);
      std::vector<std::size_t> all;
      for (std::size_t f = 0; f < frames.size(); ++f) all.push_back(f);
      expect_flow_matches(config, frames, got, all);
    }
  }
}

// Fails when the first frame, which replaces all missing frames, has motion.
TEST_P(Flow, TheFirstFrameDoesNotMove) {
  for (const Method method : kMethods) {
    const OpticalFlowConfig config = small_config(method);
    const Results got = results(config, moving_frames(config.size, PixelFormat::kGray8, 1));
    EXPECT_TRUE(got.infos[0].warming_up());
    std::size_t valid = 0;
    for (std::size_t i = 0; i < got.planes[0][0].data.size(); ++i) {
      const float u = got.planes[0][0].data[i];
      const float v = got.planes[0][1].data[i];
      if (std::isnan(u) || std::isnan(v)) continue;
      ++valid;
      ASSERT_NEAR(u, 0.0f, 1e-3f) << name_of(method);
      ASSERT_NEAR(v, 0.0f, 1e-3f) << name_of(method);
    }
    EXPECT_GT(valid, got.planes[0][0].data.size() / 2);
  }
}

// Fails when the result of a frame with NaN looks like flow: u and v must be marked, and the
// confidence is 0.
TEST_P(Flow, BadFramesAreMarked) {
  for (const Method method : kMethods) {
    for (const InvalidFlow mark : {InvalidFlow::kNan, InvalidFlow::kZero}) {
      OpticalFlowConfig config = small_config(method);
      config.format = PixelFormat::kFloat32;
      config.invalid = mark;
      auto frames = moving_frames(config.size, PixelFormat::kFloat32, 7);
      frames.back().set(61, 40, std::numeric_limits<double>::quiet_NaN());
      const Results got = results(config, frames);
      for (std::size_t i = 0; i < got.planes[6][0].data.size(); ++i) {
        const float u = got.planes[6][0].data[i];
        const float v = got.planes[6][1].data[i];
        ASSERT_TRUE(mark == InvalidFlow::kNan ? std::isnan(u) && std::isnan(v)
                                              : u == 0.0f && v == 0.0f)
            << name_of(method);
        ASSERT_EQ(got.planes[6][2].data[i], 0.0f) << name_of(method);
      }
    }
  }
}

// Fails when finite pixels whose products overflow a float give infinite flow, or mark only one of
// u and v.
TEST_P(Flow, HugePixelsGiveNoInfiniteFlow) {
  for (const Method method : kMethods) {
    OpticalFlowConfig config = small_config(method);
    config.format = PixelFormat::kFloat32;
    auto frames = moving_frames(config.size, PixelFormat::kFloat32, 7);
    for (int x = 0; x < 20; ++x) frames[3].set(x, 11, 3e38);
    const Results got = results(config, frames);
    for (const auto& planes : got.planes) {
      for (std::size_t i = 0; i < planes[0].data.size(); ++i) {
        ASSERT_FALSE(std::isinf(planes[0].data[i]) || std::isinf(planes[1].data[i]))
            << name_of(method);
        ASSERT_EQ(std::isnan(planes[0].data[i]), std::isnan(planes[1].data[i])) << name_of(method);
      }
    }
  }
}

/// Compares frame f with the reference at every pixel. Returns the largest expected |u|.
double expect_pyramid_matches(const OpticalFlowConfig& config,
                              const std::vector<FrameBuffer>& frames, const Results& got,
                              std::size_t f) {
  std::vector<test::PlaneD> past;
  for (std::size_t i = 0; i <= f; ++i) past.push_back(frames[i].values());
  const auto expected = reference::pyramid_flow(past, config);
  double worst = 0.0;
  double worst_confidence = 0.0;
  double most = 0.0;
  double moved = 0.0;
  for (int y = 0; y < config.size.height; ++y) {
    for (int x = 0; x < config.size.width; ++x) {
      const auto error = [&](std::size_t plane, const test::PlaneD& truth) {
        const double difference =
            std::abs(static_cast<double>(got.planes[f][plane].at(x, y)) - truth.at(x, y));
        return std::isnan(difference) ? 1e9 : difference;
      };
      worst = std::max({worst, error(0, expected.u), error(1, expected.v)});
      worst_confidence = std::max(worst_confidence, error(2, expected.confidence));
      most = std::max(most, expected.confidence.at(x, y));
      moved = std::max(moved, std::abs(expected.u.at(x, y)));
    }
  }
  EXPECT_LE(worst, test::kFloatTolerance) << "pixels, frame " << f;
  EXPECT_LE(worst_confidence, test::kFloatTolerance * most + 1e-9) << "frame " << f;
  return moved;
}

// Fails when a step or a setting of Lucas-Kanade on the pyramid differs from the reference, which
// has the same steps in double precision.
// Promises: RES-003.
TEST_P(Flow, ThePyramidMatchesTheReference) {
  struct Case {
    const char* name;
    std::function<void(OpticalFlowConfig&)> change;
    ImageSize size = {73, 62};
  };
  const Case cases[] = {
      {"fast", [](auto&) {}},
      {"three levels, odd sizes", [](auto&) {}, {102, 97}},
      {"small", [](auto&) {}, {25, 24}},
      {"narrow", [](auto&) {}, {90, 5}},
      {"one level", [](auto& c) { c.pyramid.levels = 1; }},
      {"two warps", [](auto& c) { c.pyramid.warps = 2; }},
      {"three and one warps",
       [](auto& c) { c.pyramid.warps = 3, c.pyramid.coarse_warps = 1; },
       {102, 97}},
      {"ridge 0.2", [](auto& c) { c.pyramid.ridge = 0.2f; }},
      {"smoothing 3", [](auto& c) { c.pyramid.smoothing_size = 3; }},
      {"smoothing 31", [](auto& c) { c.pyramid.smoothing_size = 31; }},
      {"window 7", [](auto& c) { c.window = 7; }},
      {"window 31", [](auto& c) { c.window = 31; }},
      {"Gaussian window",
       [](auto& c) {
         c.window = 13;
         c.window_weight = WindowWeight::kGaussian;
         c.window_sigma = 2.5f;
       }},
      {"16 bits", [](auto& c) { c.format = PixelFormat::kGray16; }},
      {"floats", [](auto& c) { c.format = PixelFormat::kFloat32; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    OpticalFlowConfig config = OpticalFlowConfig::fast(one.size);
    one.change(config);
    // One frame more than a result has, so that the oldest frame has left.
    const auto frames = layered_frames(config.size, config.format, 3);
    const Results got = results(config, frames);
    for (std::size_t f = 0; f < frames.size(); ++f) {
      const double moved = expect_pyramid_matches(config, frames, got, f);
      if (f > 0) {
        EXPECT_GT(moved, 0.5) << "nothing moved: the test shows nothing";
      }
    }
  }
}

// Fails when the pyramid of a tiny or narrow image has wrong borders.
TEST_P(Flow, ThePyramidTakesEverySize) {
  for (const ImageSize size : {ImageSize{1, 1},
                               {1, 40},
                               {40, 1},
                               {2, 2},
                               {7, 7},
                               {8, 8},
                               {9, 16},
                               {15, 15},
                               {17, 13},
                               {31, 33},
                               {200, 9}}) {
    OpticalFlowConfig config = OpticalFlowConfig::fast(size);
    config.pyramid.levels = 6;
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    const auto frames = layered_frames(size, PixelFormat::kGray8, 3);
    expect_pyramid_matches(config, frames, results(config, frames), 2);
  }
}

// Fails when a full HD image is divided wrongly between workers, or when an offset overflows.
// Compares samples, with all edges among them.
TEST_P(SlowFlow, FullHdMatchesTheEquations) {
  for (const KernelForm form : kForms) {
    OpticalFlowConfig config = small_config(form, {1920, 1080});
    config.window = 9;
    config.window_sigma = 2.0f;
    if (form == KernelForm::kFull) config.kernels.nx = config.kernels.ny = 3;  // 1 GB of taps
    const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 37);
    const Results got = results(config, frames);
    const auto kernels = reference::kernels_of(config.kernels, config.size);
    const std::vector<test::PlaneD> values = test::values_of(frames);
    const int radius = config.window / 2;
    int well_determined = 0;
    for (int sample = 0; sample < 240; ++sample) {
      // The steps share no divisor with the sides. Every eighth sample lies on an edge.
      int x = sample * 389 % 1920;
      int y = sample * 211 % 1080;
      if (sample % 8 == 0) x = sample % 16 == 0 ? 0 : 1919;
      if (sample % 8 == 4) y = sample % 16 == 4 ? 0 : 1079;
      // The derivatives in the window at (x, y), with repeated edges.
      test::PlaneD derivatives[3];
      for (int c = 0; c < 3; ++c) {
        derivatives[c] = test::PlaneD(config.window, config.window);
        for (int j = 0; j < config.window; ++j) {
          for (int i = 0; i < config.window; ++i) {
            const int at_x = std::clamp(x + i - radius, 0, 1919);
            const int at_y = std::clamp(y + j - radius, 0, 1079);
            derivatives[c].at(i, j) =
                reference::convolve_at(values, kernels(at_x, at_y, c), at_x, at_y).value;
          }
        }
      }
      const auto expected =
          reference::solve_at(derivatives[0], derivatives[1], derivatives[2], config.window,
                              reference::window_sigma(config), radius, radius);
      SCOPED_TRACE(name_of(form) + " at (" + std::to_string(x) + ", " + std::to_string(y) + ")");
      ASSERT_NEAR(got.planes[5][2].at(x, y), expected.smaller,
                  test::kFloatTolerance * expected.larger);
      if (expected.smaller < 0.02 * expected.larger) continue;
      ++well_determined;
      const double scale = 1.0 + std::hypot(expected.u, expected.v);
      ASSERT_NEAR(got.planes[5][0].at(x, y), expected.u, test::kFloatTolerance * scale);
      ASSERT_NEAR(got.planes[5][1].at(x, y), expected.v, test::kFloatTolerance * scale);
    }
    EXPECT_GT(well_determined, 150) << "too few pixels were compared";
  }
}

// Fails when the flow of a moving texture in full HD is wrong anywhere.
TEST_P(SlowFlow, FullHd) {
  const ImageSize size{1920, 1080};
  const auto frames = moving_frames(size, PixelFormat::kGray8, 6);
  for (const Method method : kMethods) {
    OpticalFlowConfig config = small_config(method, size);
    config.window = 15;
    config.window_weight = WindowWeight::kGaussian;
    config.window_sigma = 4.0f;
    const Results got = results(config, frames);
    for (int y = 40; y < 1040; y += 37) {
      for (int x = 40; x < 1880; x += 41) {
        ASSERT_NEAR(got.planes[5][0].at(x, y), 0.6f, 0.05f)
            << name_of(method) << " at (" << x << ", " << y << ")";
        ASSERT_NEAR(got.planes[5][1].at(x, y), -0.4f, 0.05f) << name_of(method);
      }
    }
  }
}

}  // namespace
}  // namespace ocellus
