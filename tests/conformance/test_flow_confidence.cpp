// Where the deviation of the flow must be large: where the frames do not tell the motion. These
// tests judge pictures that have flat or saturated parts, and no equation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "support/flow_view.h"
#include "support/object_search.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::OnBackend;
using test::PlaneD;
using test::PlaneF;
using test::Results;

class FlowConfidence : public OnBackend {
 protected:
  std::vector<PlaneF> last_planes(const OpticalFlowConfig& config,
                                  const std::vector<FrameBuffer>& frames) const {
    return results<OpticalFlow>(config, frames).planes.back();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, FlowConfidence, testing::ValuesIn(test::conformance_backends()),
                         test::backend_label);

struct Method {
  const char* name;
  OpticalFlowConfig config;
  int reach;  ///< pixels from which a filter of the method brings texture
  bool variational = false;
};

std::vector<Method> methods(ImageSize size, PixelFormat format, bool with_kernels) {
  std::vector<Method> all = {{"fast", OpticalFlowConfig::fast(size), 0},
                             {"quality", OpticalFlowConfig::quality(size), 0, true},
                             {"best", OpticalFlowConfig::best(size), 0, true}};
  if (with_kernels) {
    all.push_back({"kernels", OpticalFlowConfig::with_kernels(size), 7});
    all.back().config.kernels.nt = 9;
  }
  for (Method& method : all) {
    method.config.format = format;
    method.config.deviation = true;
  }
  return all;
}

constexpr PixelFormat kFormats[] = {PixelFormat::kGray8, PixelFormat::kGray16,
                                    PixelFormat::kFloat32};
constexpr int kFrames = 9;

/// The number of the frame that the last flow describes.
double described(const OpticalFlowConfig& config) {
  return kFrames - 1 - static_cast<double>((*OpticalFlow::info_for(config)).delay_frames);
}

/// Whether the vector of a pixel is a motion of a pixel a frame or more that stands out.
bool is_motion(const std::vector<PlaneF>& planes, int x, int y) {
  const float length = std::hypot(planes[0].at(x, y), planes[1].at(x, y));
  return length >= 1.0f && length >= 2.0f * planes[3].at(x, y);
}

struct Ball {
  double x, y;  ///< center in the frame described
  double u, v;
  double radius = 20.0;

  /// Distance of a pixel from the edge, above 0 outside.
  double outside(int at_x, int at_y, double frames = 0.0) const {
    return std::hypot(at_x - x - u * frames, at_y - y - v * frames) - radius;
  }
};

/// A bright ball on dark ground; its edge is one pixel wide.
std::vector<FrameBuffer> ball_frames(const Ball& ball, ImageSize size, PixelFormat format,
                                     double moment) {
  constexpr double kGround = 16.0;
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < kFrames; ++f) {
    PlaneD plane(size.width, size.height);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const double share = std::clamp(0.5 - ball.outside(x, y, f - moment), 0.0, 1.0);
        plane.at(x, y) = kGround + share * (235.0 - kGround);
      }
    }
    frames.emplace_back(size, format);
    frames.back().fill(plane);
  }
  return frames;
}

/// The distance between the sides of the two boxes that are farthest apart.
double apart(const Rect& box, const Ball& ball) {
  return std::max({std::abs(box.x - (ball.x - ball.radius)),
                   std::abs(box.y - (ball.y - ball.radius)),
                   std::abs(box.x + box.width - 1 - (ball.x + ball.radius)),
                   std::abs(box.y + box.height - 1 - (ball.y + ball.radius))});
}

// Fails when flat ground around a moving body moves with it, when the edge of the body does not, or
// when the box of the body is not that of the body.
TEST_P(FlowConfidence, OnlyTheBodyMoves) {
  struct Case {
    ImageSize size;
    Ball ball;
  };
  const Case cases[] = {{{200, 150}, {90.3, 80.6, 1.3, -0.9}},
                        {{320, 240}, {158.0, 118.0, 4.4, 3.1}},
                        {{320, 240}, {60.5, 170.2, -2.0, 7.5}},
                        {{400, 300}, {150.4, 139.7, 13.5, -6.0}},
                        {{512, 720}, {240.7, 300.2, 9.0, 11.0}}};
  for (const Case& one : cases) {
    for (const PixelFormat format : kFormats) {
      for (const Method& method : methods(one.size, format, false)) {
        SCOPED_TRACE(std::string(method.name) + ", " + std::to_string(one.size.width) + "x" +
                     std::to_string(one.size.height) + ", format " +
                     std::to_string(static_cast<int>(format)));
        std::vector<PlaneF> planes = last_planes(
            method.config, ball_frames(one.ball, one.size, format, described(method.config)));
        int ground = 0;
        int edge = 0;
        int edge_moves = 0;
        for (int y = 0; y < one.size.height; ++y) {
          for (int x = 0; x < one.size.width; ++x) {
            const bool moves = is_motion(planes, x, y);
            const double outside = one.ball.outside(x, y);
            if (outside > 2.5) ground += moves ? 1 : 0;
            // Lucas-Kanade moves both sides of the edge, the variational solver the body alone.
            if (outside > (method.variational ? 0.0 : 1.0)) continue;
            if (outside < (method.variational ? -2.0 : -1.0)) continue;
            ++edge;
            edge_moves += moves ? 1 : 0;
          }
        }
        EXPECT_EQ(ground, 0) << "pixels of the ground move";
        EXPECT_GE(edge_moves, method.variational ? edge / 2 : edge * 3 / 4)
            << "of the pixels at the edge move";
        // The edge alone has texture. One side of it has too few cells for an object.
        if (method.variational) continue;
        OpticalFlowConfig config;
        config.size = one.size;
        config.objects = kMaxMovingObjects;
        const MovingObjectsRecord objects = test::ObjectSearch(config).find(
            test::flow_view(one.size, planes[0].data, planes[1].data, planes[3].data));
        ASSERT_EQ(objects.found, 1);
        const Rect box{objects.x[0], objects.y[0], objects.width[0], objects.height[0]};
        EXPECT_LE(apart(box, one.ball), 4.0)
            << box.x << "," << box.y << " " << box.width << "x" << box.height;
      }
    }
  }
}

// Fails when a frame without any texture has a vector that is certain.
TEST_P(FlowConfidence, FlatFramesHaveNone) {
  const ImageSize size{96, 70};
  for (const double gray : {0.0, 16.0, 127.3, 255.0}) {
    for (const PixelFormat format : kFormats) {
      for (const Method& method : methods(size, format, true)) {
        SCOPED_TRACE(std::string(method.name) + ", gray " + std::to_string(gray));
        std::vector<FrameBuffer> frames;
        PlaneD plane(size.width, size.height);
        std::fill(plane.data.begin(), plane.data.end(), gray);
        for (int f = 0; f < kFrames; ++f) {
          frames.emplace_back(size, format);
          frames.back().fill(plane);
        }
        const std::vector<PlaneF> got = last_planes(method.config, frames);
        for (const float deviation : got[3].data) ASSERT_GT(deviation, 20.0f);
      }
    }
  }
}

/// Whether all pixels around this one have the gray level.
bool flat_around(const PlaneD& plane, int x, int y, int radius, double level) {
  for (int j = -radius; j <= radius; ++j)
    for (int i = -radius; i <= radius; ++i)
      if (plane.clamped(x + i, y + j) != level) return false;
  return true;
}

// Fails when the part of a moving texture that is clipped to white or black has certain vectors, or
// the part that is not has none.
TEST_P(FlowConfidence, SaturatedPartsHaveNone) {
  const ImageSize size{160, 120};
  const test::Texture texture(11, 24.0, 140.0);
  for (const bool white : {true, false}) {
    const double level = white ? 255.0 : 0.0;
    for (const Method& method : methods(size, PixelFormat::kGray8, true)) {
      const double moment = described(method.config);
      std::vector<PlaneD> planes;
      for (int f = 0; f < kFrames; ++f) {
        planes.emplace_back(size.width, size.height);
        const double traveled = f - moment;
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const double value = texture(x - 1.4 * traveled, y + 0.7 * traveled) - 127.5;
            planes.back().at(x, y) = std::clamp(4.0 * value + (white ? 255.0 : 0.0), 0.0, 255.0);
          }
        }
      }
      for (const PixelFormat format : kFormats) {
        SCOPED_TRACE(std::string(method.name) + (white ? ", white" : ", black"));
        OpticalFlowConfig config = method.config;
        config.format = format;
        std::vector<FrameBuffer> frames;
        for (const PlaneD& plane : planes) {
          frames.emplace_back(size, format);
          frames.back().fill(plane);
        }
        const std::vector<PlaneF> got = last_planes(config, frames);
        // Kernels see all frames.
        const auto first = static_cast<std::size_t>(method.reach > 0 ? 0.0 : moment);
        const auto last = method.reach > 0 ? planes.size() - 1 : first;
        int inside = 0;
        int textured = 0;
        int certain = 0;
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const float deviation = got[3].at(x, y);
            bool flat = true;
            for (std::size_t f = first; flat && f <= last; ++f)
              flat = flat_around(planes[f], x, y, method.reach + 1, level);
            if (flat) {
              ++inside;
              ASSERT_GT(deviation, 5.0f) << "at " << x << ", " << y;
            }
            const double here = planes[static_cast<std::size_t>(moment)].at(x, y);
            if (here < 10.0 || here > 245.0 || x < 10 || y < 10 || x >= size.width - 10 ||
                y >= size.height - 10)
              continue;
            ++textured;
            certain += deviation < 0.5f ? 1 : 0;
          }
        }
        EXPECT_GT(inside, 500);
        EXPECT_GE(certain, textured * 3 / 4) << "of " << textured;
      }
    }
  }
}

// Fails when the motion along a straight edge, which no frame shows, is certain.
TEST_P(FlowConfidence, AlongAnEdgeThereIsNone) {
  const ImageSize size{120, 90};
  for (const PixelFormat format : kFormats) {
    for (const Method& method : methods(size, format, true)) {
      SCOPED_TRACE(method.name);
      std::vector<FrameBuffer> frames;
      for (int f = 0; f < kFrames; ++f) {
        PlaneD plane(size.width, size.height);
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x)
            plane.at(x, y) = 120.0 + 80.0 * std::tanh((x - 50.0 - 1.3 * f) / 3.0);
        frames.emplace_back(size, format);
        frames.back().fill(plane);
      }
      const std::vector<PlaneF> got = last_planes(method.config, frames);
      for (const float deviation : got[3].data) ASSERT_GT(deviation, 2.0f);
    }
  }
}

}  // namespace
}  // namespace ocellus
