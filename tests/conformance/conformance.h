// Shared code of the conformance suites: the backends, and the comparison with the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "reference/convolution.h"
#include "reference/lucas_kanade.h"
#include "support/flow_files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {

/// The backends of every suite: the one that OCELLUS_TEST_BACKEND names, or all available ones.
inline std::vector<BackendChoice> conformance_backends() {
  const char* asked = std::getenv("OCELLUS_TEST_BACKEND");
  if (asked != nullptr) return {must(BackendSpec::parse(asked)).choice};
  std::vector<BackendChoice> backends = {BackendChoice::kCpu};
  if (Engine::probe(engine_config(1, BackendChoice::kCuda)))
    backends.push_back(BackendChoice::kCuda);
  return backends;
}

inline std::string backend_label(const testing::TestParamInfo<BackendChoice>& info) {
  return info.param == BackendChoice::kCuda ? "cuda" : "cpu";
}

/// For SetUp: skips a test of a backend that is not available.
inline void skip_without(BackendChoice backend) {
  if (backend == BackendChoice::kCuda) skip_without_device();
}

class OnBackend : public testing::TestWithParam<BackendChoice> {
 protected:
  void SetUp() override { skip_without(GetParam()); }

  template <typename Operator, typename Config>
  Rig<Operator> rig(const Config& config, int workers = 2) const {
    return Rig<Operator>::make(config, workers, GetParam());
  }
  template <typename Operator, typename Config>
  Results results(const Config& config, const std::vector<FrameBuffer>& frames, int workers = 2,
                  int in_flight = 1) const {
    return run<Operator>(config, frames, workers, in_flight, GetParam());
  }
};

/// The error has this status, and its text contains all words.
inline void expect_words(const Error& error, Status status, const std::vector<std::string>& words) {
  EXPECT_EQ(error.status, status) << error.text;
  for (const std::string& word : words) {
    EXPECT_NE(std::string(error.text).find(word), std::string::npos)
        << "no \"" << word << "\" in: " << error.text;
  }
}

inline constexpr double kFloatTolerance = 1e-4;
inline constexpr double kHalfTolerance = 2e-3;

/// A pseudo-random tap in [-1, 1). Equal arguments give equal taps.
inline float random_tap(int seed, int x, int y, int convolution, int term, int axis, int i) {
  std::uint32_t h = 2166136261u;
  for (const int value : {seed, x, y, convolution, term, axis, i}) {
    h = (h ^ static_cast<std::uint32_t>(value)) * 16777619u;
    h ^= h >> 15;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
  }
  return static_cast<float>(h >> 8) / 8388608.0f - 1.0f;
}

/// Random taps whose absolute sum along each axis is about 1, or that of a full kernel.
struct RandomTaps {
  int nx, ny, nt, seed;

  static void write(void* self, int x, int y, int convolution, int term, float* wx, float* wy,
                    float* wt) {
    const auto& taps = *static_cast<const RandomTaps*>(self);
    const auto fill = [&](float* out, int n, int axis) {
      for (int i = 0; i < n; ++i)
        out[i] =
            2.0f * random_tap(taps.seed, x, y, convolution, term, axis, i) / static_cast<float>(n);
    };
    if (wy == nullptr) return fill(wx, taps.nx * taps.ny * taps.nt, 3);
    fill(wx, taps.nx, 0);
    fill(wy, taps.ny, 1);
    fill(wt, taps.nt, 2);
  }
  /// This object must outlive the creation of the operator.
  void use_in(KernelConfig& kernels) {
    kernels.origin = KernelOrigin::kCallback;
    kernels.callback = &RandomTaps::write;
    kernels.user = this;
    nx = kernels.nx;
    ny = kernels.ny;
    nt = kernels.nt;
  }
};

/// A part of the first `count` frames of a filmed turntable. Empty without OCELLUS_TEST_DATA.
inline std::vector<FrameBuffer> real_frames(const Rect& part, int count) {
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    char name[64];
    std::snprintf(name, sizeof(name), "/flow/rubic/f%02d.pgm", f);
    const auto image = read_pgm(data_folder() + name);
    if (!image) return {};
    PlaneD plane(part.width, part.height);
    for (int y = 0; y < part.height; ++y) {
      for (int x = 0; x < part.width; ++x) plane.at(x, y) = image->at(part.x + x, part.y + y);
    }
    frames.emplace_back(plane.size(), PixelFormat::kGray8);
    frames.back().fill(plane);
  }
  return frames;
}

inline std::vector<PlaneD> values_of(const std::vector<FrameBuffer>& frames) {
  std::vector<PlaneD> values;
  for (const FrameBuffer& frame : frames) values.push_back(frame.values());
  return values;
}

/// Compares a filter's results with the direct 3-D sum, at about `pixels` pixels of each frame.
/// `which` holds the frame numbers; empty means all frames.
inline void expect_filter_matches(const SpatioTemporalFilterConfig& config,
                                  const std::vector<FrameBuffer>& frames, const Results& got,
                                  std::vector<std::size_t> which = {}, std::size_t pixels = 400,
                                  double tolerance = kFloatTolerance) {
  const auto kernels = reference::kernels_of(config.kernels, config.size);
  const std::vector<PlaneD> values = values_of(frames);
  const Rect roi =
      config.roi.empty() ? Rect{0, 0, config.size.width, config.size.height} : config.roi;
  const auto area = static_cast<std::size_t>(roi.width) * static_cast<std::size_t>(roi.height);
  if (which.empty()) {
    for (std::size_t f = 0; f < frames.size(); ++f) which.push_back(f);
  }
  ASSERT_EQ(got.planes.size(), frames.size());
  double worst = 0.0;
  for (const std::size_t f : which) {
    // The frames up to this one, so that the reference repeats the true first frame.
    const std::vector<PlaneD> past(values.begin(),
                                   values.begin() + static_cast<std::ptrdiff_t>(f) + 1);
    // An odd step, so that the samples cover all columns.
    std::size_t step = std::max<std::size_t>(1, area / pixels);
    if (step > 1 && step % 2 == 0) ++step;
    for (std::size_t at = step == 1 ? 0 : f % step; at < area; at += step) {
      const int x = static_cast<int>(at % static_cast<std::size_t>(roi.width));
      const int y = static_cast<int>(at / static_cast<std::size_t>(roi.width));
      for (int c = 0; c < config.kernels.convolutions; ++c) {
        const auto expected =
            reference::convolve_at(past, kernels(roi.x + x, roi.y + y, c), roi.x + x, roi.y + y);
        const double value =
            static_cast<double>(got.planes[f][static_cast<std::size_t>(c)].at(x, y));
        const double error = std::abs(value - expected.value) / std::max(expected.absolute, 1e-6);
        worst = std::max(worst, std::isnan(error) ? 1e30 : error);
        ASSERT_LE(error, tolerance)
            << "frame " << f << " convolution " << c << " at (" << x << ", " << y << "): " << value
            << " instead of " << expected.value << ", absolute terms " << expected.absolute;
      }
    }
  }
  testing::Test::RecordProperty("worst_error", std::to_string(worst));
}

/// Compares the confidence with equation (3) on the reference's derivatives, and u and v where the
/// solution is well determined. Returns the share of those pixels.
inline double expect_flow_matches(const OpticalFlowConfig& config,
                                  const std::vector<FrameBuffer>& frames, const Results& got,
                                  const std::vector<std::size_t>& which,
                                  double tolerance = kFloatTolerance) {
  const auto kernels = reference::kernels_of(config.kernels, config.size);
  const std::vector<PlaneD> values = values_of(frames);
  const Rect roi =
      config.roi.empty() ? Rect{0, 0, config.size.width, config.size.height} : config.roi;
  std::size_t looked_at = 0;
  std::size_t confident = 0;
  for (const std::size_t f : which) {
    const std::vector<PlaneD> past(values.begin(),
                                   values.begin() + static_cast<std::ptrdiff_t>(f) + 1);
    const PlaneD ix = reference::convolve(past, kernels, 0);
    const PlaneD iy = reference::convolve(past, kernels, 1);
    const PlaneD it = reference::convolve(past, kernels, 2);
    for (int y = 0; y < roi.height; ++y) {
      for (int x = 0; x < roi.width; ++x) {
        const auto expected = reference::solve_at(
            ix, iy, it, config.window, reference::window_sigma(config), roi.x + x, roi.y + y);
        const double u = static_cast<double>(got.planes[f][0].at(x, y));
        const double v = static_cast<double>(got.planes[f][1].at(x, y));
        const double confidence = static_cast<double>(got.planes[f][2].at(x, y));
        ++looked_at;
        const auto where = [&] {
          return "frame " + std::to_string(f) + " at (" + std::to_string(x) + ", " +
                 std::to_string(y) + ") eigenvalues " + std::to_string(expected.smaller) + " " +
                 std::to_string(expected.larger);
        };
        // The smaller eigenvalue is a difference, so its tolerance depends on the larger one.
        EXPECT_NEAR(confidence, expected.smaller, tolerance * expected.larger + 1e-9) << where();
        if (testing::Test::HasFailure()) return 0.0;
        const bool well_determined =
            expected.smaller >= 0.02 * expected.larger && expected.smaller > 1e-3;
        if (!well_determined ||
            expected.smaller <= static_cast<double>(config.confidence_threshold) * 1.001)
          continue;
        ++confident;
        const double scale = 1.0 + std::hypot(expected.u, expected.v);
        EXPECT_NEAR(u, expected.u, tolerance * scale) << where();
        EXPECT_NEAR(v, expected.v, tolerance * scale) << where();
        if (testing::Test::HasFailure()) return 0.0;
      }
    }
  }
  return static_cast<double>(confident) / static_cast<double>(std::max<std::size_t>(1, looked_at));
}

}  // namespace ocellus::test
