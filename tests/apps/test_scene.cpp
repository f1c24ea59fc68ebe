// The synthetic scene: its truth against its frames.
#include "apps/io/test_scene.h"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

constexpr const char* kScenes[] = {"test:64x48,frames=9,motion=translate,u=1.25,v=-0.5",
                                   "test:64x48,frames=9,motion=affine",
                                   "test:33x71,frames=4,motion=affine,seed=5"};

// Example failure: the truth has the sign of the texture's motion instead of the image's, or is
// that of the inverse map.
TEST(TestScene, BrightnessMovesWithTheTruth) {
  for (const char* text : kScenes) {
    const TestScene scene = TestScene::parse(text);
    for (double t = 0.0; t < 3.0; t += 1.0) {
      for (double y = 0.0; y < 48.0; y += 7.3) {
        for (double x = 0.0; x < 33.0; x += 5.1) {
          double u = 0.0;
          double v = 0.0;
          scene.motion_at(x, y, u, v);
          EXPECT_NEAR(scene.brightness(x + u, y + v, t + 1.0), scene.brightness(x, y, t), 1e-8)
              << text << " at " << x << ", " << y;
        }
      }
    }
  }
}

// Example failure: the planes of the truth are transposed, or u and v are exchanged. Central
// differences of the brightness between two frames do not depend on the formula of the motion: Ix u
// + Iy v + It = 0 up to their error, which decreases with the third derivative.
TEST(TestScene, TruthSolvesTheFiniteDifferences) {
  for (const char* text : kScenes) {
    const TestScene scene = TestScene::parse(text);
    const FlowField truth = scene.truth();
    ASSERT_EQ(truth.size, scene.size());
    constexpr double kStep = 1e-3;
    for (int y = 0; y < scene.size().height; y += 5) {
      for (int x = 0; x < scene.size().width; x += 5) {
        const std::size_t i = static_cast<std::size_t>(y * scene.size().width + x);
        // Derivatives along the path of the point, halfway to the next frame. There the velocity
        // equals the displacement, except for the curvature of the map.
        const double mx = x + 0.5 * static_cast<double>(truth.u[i]);
        const double my = y + 0.5 * static_cast<double>(truth.v[i]);
        const double ix =
            (scene.brightness(mx + kStep, my, 1.5) - scene.brightness(mx - kStep, my, 1.5)) /
            (2 * kStep);
        const double iy =
            (scene.brightness(mx, my + kStep, 1.5) - scene.brightness(mx, my - kStep, 1.5)) /
            (2 * kStep);
        const double it =
            (scene.brightness(mx, my, 1.5 + kStep) - scene.brightness(mx, my, 1.5 - kStep)) /
            (2 * kStep);
        const double residual =
            ix * static_cast<double>(truth.u[i]) + iy * static_cast<double>(truth.v[i]) + it;
        EXPECT_LT(std::fabs(residual), 2e-3 * (std::fabs(ix) + std::fabs(iy) + std::fabs(it) + 1.0))
            << text << " at " << x << ", " << y;
      }
    }
  }
}

// Example failure: the recurrence along a row deviates from the formula, or the scale of a format
// is wrong.
TEST(TestScene, FramesAreTheRoundedBrightness) {
  for (const char* bits : {"8", "16"}) {
    const TestScene scene = TestScene::parse(std::string("test:301x7,frames=3,bits=") + bits);
    const GrayImage image = scene.frame(2);
    const float rounding = bits[0] == '8' ? 0.5f : 0.5f / 257.0f;
    for (int y = 0; y < 7; ++y) {
      for (int x = 0; x < 301; ++x) {
        const auto expected =
            static_cast<float>(std::clamp(scene.brightness(x, y, 2.0), 0.0, 255.0));
        EXPECT_NEAR(image.brightness(x, y), expected, rounding + 1e-4f)
            << x << ", " << y << ", bits " << bits;
      }
    }
  }
}

// Example failure: a misspelled option is ignored, and a measurement runs on the wrong scene.
TEST(TestScene, RefusesInvalidText) {
  for (const char* text :
       {"test:0x10", "test:10", "test:axb", "test:10x10,frames=0", "test:10x10,frames=2x",
        "test:10x10,motion=spin", "test:10x10,speed=3", "test:10x10,bits=12", "test:10x10@",
        "test:10x10@-3", "test:20000x10", "test:,frames"}) {
    try {
      TestScene::parse(text);
      FAIL() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("test:"), std::string::npos) << error.what();
    }
  }
  const TestScene scene = TestScene::parse("test:");
  EXPECT_EQ(scene.size(), (ImageSize{640, 480}));
  EXPECT_EQ(TestScene::parse("test:32x16@12.5,frames=7").frames(), 7);
  EXPECT_DOUBLE_EQ(TestScene::parse("test:32x16@12.5,frames=7").fps(), 12.5);
}

}  // namespace
}  // namespace ocellus::app
