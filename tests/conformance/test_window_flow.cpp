// WindowFlow on every backend against equation (3) in double precision, on derivatives of the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/buffer.h"
#include "ocellus/window_flow.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::must;
using test::OnBackend;
using test::PlaneD;
using test::PlaneF;
using test::Results;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Window : public OnBackend {
 protected:
  Results results(const WindowFlowConfig& config, const std::vector<FrameBuffer>& frames,
                  int workers = 2, int in_flight = 1) const {
    return OnBackend::results<WindowFlow>(config, frames, workers, in_flight);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Window, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

WindowFlowConfig config_of(ImageSize size, int window = 7) {
  WindowFlowConfig config;
  config.size = size;
  config.window = window;
  return config;
}

/// Random Ix, Iy and It below each other, as WindowFlow takes them.
FrameBuffer derivatives(ImageSize size, unsigned seed) {
  FrameBuffer frame({size.width, 3 * size.height}, PixelFormat::kFloat32,
                    WindowFlow::row_floats(size.width) - size.width, 1);
  PlaneD values = test::noise({size.width, 3 * size.height}, seed);
  for (double& value : values.data) value = (value - 127.5) / 8.0;
  return frame.fill(values);
}

struct Derivatives {
  PlaneD ix, iy, it;

  explicit Derivatives(const FrameBuffer& frame, ImageSize size)
      : ix(size.width, size.height), iy(ix), it(ix) {
    PlaneD* const planes[] = {&ix, &iy, &it};
    for (int p = 0; p < 3; ++p)
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          planes[p]->at(x, y) = frame.value(x, p * size.height + y);
  }
};

Rect whole_or(const Rect& roi, ImageSize size) {
  return roi.empty() ? Rect{0, 0, size.width, size.height} : roi;
}

/// Compares about `pixels` pixels of a result. Returns the share of those with a comparable flow.
double expect_matches(const WindowFlowConfig& config, const FrameBuffer& frame,
                      const std::vector<PlaneF>& got, std::size_t pixels = 1u << 20) {
  const Derivatives d(frame, config.size);
  const Rect roi = whole_or(config.roi, config.size);
  const double sigma = config.window_weight == WindowWeight::kBox
                           ? kInfinity
                           : static_cast<double>(config.window_sigma);
  const auto area = static_cast<std::size_t>(roi.width) * static_cast<std::size_t>(roi.height);
  std::size_t step = std::max<std::size_t>(1, area / pixels);
  if (step > 1 && step % 2 == 0) ++step;  // so that the samples cover all columns
  std::size_t compared = 0, looked_at = 0;
  for (std::size_t at = 0; at < area; at += step) {
    const int x = static_cast<int>(at % static_cast<std::size_t>(roi.width));
    const int y = static_cast<int>(at / static_cast<std::size_t>(roi.width));
    const auto expected =
        reference::solve_at(d.ix, d.iy, d.it, config.window, sigma, roi.x + x, roi.y + y);
    const auto u = static_cast<double>(got[0].at(x, y));
    const auto v = static_cast<double>(got[1].at(x, y));
    const auto where = "(" + std::to_string(x) + ", " + std::to_string(y) + ") of the region";
    EXPECT_NEAR(static_cast<double>(got[2].at(x, y)), expected.smaller,
                test::kFloatTolerance * expected.larger + 1e-9)
        << where;
    ++looked_at;
    const auto threshold = static_cast<double>(config.confidence_threshold);
    if (expected.smaller < 0.999 * threshold) {
      // It must be marked.
      if (config.invalid == InvalidFlow::kNan) {
        EXPECT_TRUE(std::isnan(u) && std::isnan(v)) << where;
      } else {
        EXPECT_TRUE(u == 0.0 && v == 0.0) << where;
      }
    } else if (expected.smaller > 1.001 * threshold && expected.smaller >= 0.02 * expected.larger &&
               expected.smaller > 1e-3) {
      ++compared;
      const double tolerance = test::kFloatTolerance * (1.0 + std::hypot(expected.u, expected.v));
      EXPECT_NEAR(u, expected.u, tolerance) << where;
      EXPECT_NEAR(v, expected.v, tolerance) << where;
    }
    if (testing::Test::HasFailure()) return 0.0;
  }
  return static_cast<double>(compared) / static_cast<double>(looked_at);
}

// Fails when the weights, the size or the borders of the window are wrong, for each size of window.
// Promises: RES-003.
TEST_P(Window, EverySizeOfWindow) {
  for (int window = 3; window <= 31; window += 2) {
    for (const WindowWeight weight : {WindowWeight::kBox, WindowWeight::kGaussian}) {
      SCOPED_TRACE("window " + std::to_string(window));
      WindowFlowConfig config = config_of({41, 33}, window);
      config.window_weight = weight;
      config.window_sigma = 0.2f * static_cast<float>(window);
      const std::vector<FrameBuffer> frames = {derivatives(config.size, 1)};
      const Results got = results(config, frames);
      EXPECT_GT(expect_matches(config, frames[0], got.planes[0]), 0.5);
      if (HasFailure()) return;
    }
  }
}

// Fails when planes that are smaller than the window or a tile, or not a multiple of it, are wrong.
TEST_P(Window, EverySizeOfPlane) {
  for (const ImageSize size :
       {ImageSize{1, 1}, {1, 9}, {9, 1}, {2, 3}, {7, 5}, {64, 16}, {65, 17}, {130, 9}, {3, 40}}) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    for (const int window : {5, 15}) {
      const WindowFlowConfig config = config_of(size, window);
      const std::vector<FrameBuffer> frames = {derivatives(size, 2)};
      expect_matches(config, frames[0], results(config, frames).planes[0]);
      if (HasFailure()) return;
    }
  }
}

// Fails when a region of interest begins at the wrong pixel, or does not see derivatives around it.
TEST_P(Window, RegionOfInterest) {
  for (const int window : {9, 15}) {
    for (const Rect& roi :
         {Rect{0, 0, 50, 40}, {7, 5, 20, 18}, {0, 0, 1, 1}, {49, 39, 1, 1}, {13, 0, 37, 8}}) {
      WindowFlowConfig config = config_of({50, 40}, window);
      config.roi = roi;
      const std::vector<FrameBuffer> frames = {derivatives(config.size, 3)};
      expect_matches(config, frames[0], results(config, frames).planes[0]);
      if (HasFailure()) return;
    }
  }
}

// Fails when planes of many pixels, which a device computes in larger tiles, are wrong.
TEST_P(Window, ManyPixels) {
  for (const int window : {7, 15}) {
    const WindowFlowConfig config = config_of({643, 401}, window);
    const std::vector<FrameBuffer> frames = {derivatives(config.size, 4)};
    const Results got = results(config, frames);
    EXPECT_GT(expect_matches(config, frames[0], got.planes[0], 3000), 0.5);
  }
}

// Fails when a pixel below the threshold has a flow, or has another mark than the configured one.
TEST_P(Window, ThresholdAndMarks) {
  for (const InvalidFlow invalid : {InvalidFlow::kNan, InvalidFlow::kZero}) {
    WindowFlowConfig config = config_of({40, 30}, 5);
    config.confidence_threshold = 60.0f;
    config.invalid = invalid;
    const std::vector<FrameBuffer> frames = {derivatives(config.size, 5)};
    const Results got = results(config, frames);
    const double share = expect_matches(config, frames[0], got.planes[0]);
    EXPECT_GT(share, 0.1);
    EXPECT_LT(share, 0.9);
  }
}

// Fails when flat derivatives, or those of one direction, have a flow.
TEST_P(Window, SingularWindows) {
  const WindowFlowConfig config = config_of({20, 12}, 5);
  FrameBuffer flat({20, 36}, PixelFormat::kFloat32, WindowFlow::row_floats(20) - 20);
  FrameBuffer stripes = flat;
  for (int y = 0; y < 36; ++y) {
    for (int x = 0; x < 20; ++x) {
      flat.set(x, y, 0.0);
      stripes.set(x, y, y < 12 ? 3.0 + x % 4 : y < 24 ? 0.0 : 1.0);
    }
  }
  const Results got = results(config, {flat, stripes});
  for (const auto& planes : got.planes) {
    for (const float u : planes[0].data) ASSERT_TRUE(std::isnan(u));
    for (const float v : planes[1].data) ASSERT_TRUE(std::isnan(v));
    for (const float confidence : planes[2].data) ASSERT_NEAR(confidence, 0.0f, 1e-3f);
  }
}

// Fails when a value that is not finite makes a window valid that sees it, or changes a window that
// does not, or when the whole frame counts as bad.
TEST_P(Window, ValuesThatAreNotFinite) {
  for (const int window : {5, 9, 15, 31}) {
    for (const InvalidFlow invalid : {InvalidFlow::kNan, InvalidFlow::kZero}) {
      WindowFlowConfig config = config_of({70, 53}, window);
      config.invalid = invalid;
      config.roi = {1, 2, 67, 50};
      const FrameBuffer clean = derivatives(config.size, 6);
      const int radius = window / 2;
      const struct {
        int plane, x, y;
        double value;
      } cases[] = {{0, 35, 25, kNan},    {1, 35, 25, kNan},      {2, 35, 25, kNan},
                   {0, 0, 0, kNan},      {2, 69, 52, kInfinity}, {1, 64, 16, -kInfinity},
                   {0, 3, 30, kInfinity}};
      std::vector<FrameBuffer> frames = {clean};
      for (const auto& one : cases) {
        frames.push_back(clean);
        frames.back().set(one.x, one.plane * config.size.height + one.y, one.value);
      }
      const Results got = results(config, frames);
      for (std::size_t f = 1; f < frames.size(); ++f) {
        const auto& one = cases[f - 1];
        SCOPED_TRACE("window " + std::to_string(window) + ", plane " + std::to_string(one.plane) +
                     " at (" + std::to_string(one.x) + ", " + std::to_string(one.y) + ")");
        EXPECT_EQ(got.infos[f].flags, 0u);
        for (int y = 0; y < config.roi.height; ++y) {
          for (int x = 0; x < config.roi.width; ++x) {
            const bool sees = std::abs(config.roi.x + x - one.x) <= radius &&
                              std::abs(config.roi.y + y - one.y) <= radius;
            for (std::size_t p = 0; p < 3; ++p) {
              const float value = got.planes[f][p].at(x, y);
              if (!sees) {
                const float before = got.planes[0][p].at(x, y);
                ASSERT_EQ(std::memcmp(&value, &before, sizeof(value)), 0)
                    << "plane " << p << " at (" << x << ", " << y << ")";
              } else if (p == 2 || invalid == InvalidFlow::kZero) {
                ASSERT_EQ(value, 0.0f) << "plane " << p << " at (" << x << ", " << y << ")";
              } else {
                ASSERT_TRUE(std::isnan(value)) << "plane " << p << " at (" << x << ", " << y << ")";
              }
            }
          }
        }
      }
    }
  }
}

// Fails when frames in flight are mixed up.
TEST_P(Window, FramesInFlight) {
  WindowFlowConfig config = config_of({45, 20}, 9);
  config.depth = 3;
  std::vector<FrameBuffer> frames;
  for (unsigned f = 0; f < 7; ++f) frames.push_back(derivatives(config.size, 10 + f));
  const Results got = results(config, frames, 2, 3);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    EXPECT_EQ(got.infos[f].described_sequence, f);
    EXPECT_EQ(got.infos[f].flags, 0u);
    expect_matches(config, frames[f], got.planes[f]);
  }
}

// Fails when a frame or a result in pinned or device memory gives another field than one in
// ordinary memory, or when the confidence is not optional.
TEST_P(Window, EveryMemory) {
  const WindowFlowConfig config = config_of({45, 20}, 15);
  const FrameBuffer frame = derivatives(config.size, 20);
  const Results expected = results(config, {frame});
  const bool cuda = GetParam() == BackendChoice::kCuda;
  const auto row = static_cast<std::size_t>(WindowFlow::row_floats(45)) * sizeof(float);
  const std::size_t in_bytes = row * 60;
  const std::size_t out_bytes = row * 40;
  for (const MemorySpace space : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
    if (!cuda && space != MemorySpace::kHost) continue;
    EngineConfig settings = test::engine_config(1, GetParam());
    settings.memory = must(WindowFlow::footprint(must(Engine::probe(settings)), config)) +
                      Buffer::footprint(space, in_bytes) + Buffer::footprint(space, out_bytes);
    Engine engine = must(Engine::create(settings));
    Buffer in = must(Buffer::create(engine, space, in_bytes));
    Buffer out = must(Buffer::create(engine, space, out_bytes));
    Frame given = frame.frame();
    for (int y = 0; y < 60; ++y)
      must(in.write(static_cast<std::size_t>(y) * row,
                    static_cast<const char*>(given.data) + y * given.stride, 45 * sizeof(float)));
    given.data = in.data();
    given.stride = static_cast<std::ptrdiff_t>(row);
    given.space = space;
    WindowFlow op = must(WindowFlow::create(engine, config));
    FlowOutput planes = test::planes_at(out.data(), row * 20, {45, 20}, row, space);
    planes.confidence = {};
    must(op.wait(must(op.submit(given, planes)), Deadline::never()));
    std::vector<float> values(out_bytes / sizeof(float));
    must(out.read(0, values.data(), out_bytes));
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t y = 0; y < 20; ++y)
        ASSERT_EQ(
            std::memcmp(&values[(p * 20 + y) * row / sizeof(float)],
                        &expected.planes[0][p].at(0, static_cast<int>(y)), 45 * sizeof(float)),
            0)
            << "plane " << p << " row " << y;
  }
}

// Fails when the footprint is not what creation takes, or a wrong configuration is not named.
TEST_P(Window, FootprintAndErrors) {
  WindowFlowConfig config = config_of({33, 21}, 9);
  config.depth = 2;
  EngineConfig settings = test::engine_config(2, GetParam());
  settings.memory = must(WindowFlow::footprint(must(Engine::probe(settings)), config));
  Engine engine = must(Engine::create(settings));
  {
    const WindowFlow op = must(WindowFlow::create(engine, config));
    const MemoryUse use = engine.memory_use();
    EXPECT_EQ(use.used.host, settings.memory.host);
    EXPECT_EQ(use.used.pinned, settings.memory.pinned);
    EXPECT_EQ(use.used.device, settings.memory.device);
    const auto second = WindowFlow::create(engine, config);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().status, Status::kOutOfMemory);
  }
  config.window = 8;
  test::expect_words(WindowFlow::create(engine, config).error(), Status::kInvalidArgument,
                     {"window", "8"});
  config.window = 9;
  config.roi = {30, 0, 10, 10};
  test::expect_words(WindowFlow::create(engine, config).error(), Status::kInvalidArgument, {"roi"});
}

}  // namespace
}  // namespace ocellus
