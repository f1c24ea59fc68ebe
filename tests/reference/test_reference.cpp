// The references against results known by hand, because a wrong reference would accept a wrong
// library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/convolution.h"
#include "reference/image.h"
#include "reference/lucas_kanade.h"
#include "reference/pyramid.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using reference::Kernel;
using reference::Term;
using test::PlaneD;

Kernel impulse(int nx, int ny, int nt, int i, int j, int k) {
  Term term{std::vector<double>(static_cast<std::size_t>(nx)),
            std::vector<double>(static_cast<std::size_t>(ny)),
            std::vector<double>(static_cast<std::size_t>(nt))};
  term.wx[static_cast<std::size_t>(i)] = 1.0;
  term.wy[static_cast<std::size_t>(j)] = 1.0;
  term.wt[static_cast<std::size_t>(k)] = 1.0;
  return {term};
}

// Fails when the sum is a correlation, the center is not floor(n/2), tau = 0 is not the newest
// frame, or borders are not repeated. A kernel with a single 1 must select exactly one pixel of one
// frame.
TEST(Reference, AnImpulseSelectsThePixelOfTheEquation) {
  const ImageSize size{6, 5};
  std::vector<PlaneD> frames;
  for (unsigned f = 0; f < 3; ++f) frames.push_back(test::noise(size, f));
  for (const int nx : {1, 2, 3, 4}) {
    for (const int ny : {1, 2, 5}) {
      const int nt = 5;  // two frames before the first
      for (int i = 0; i < nx; ++i) {
        for (int j = 0; j < ny; ++j) {
          for (int k = 0; k < nt; ++k) {
            const int x = 1;
            const int y = 4;
            const int from_x = std::clamp(x - (i - nx / 2), 0, size.width - 1);
            const int from_y = std::clamp(y - (j - ny / 2), 0, size.height - 1);
            const auto from_frame = static_cast<std::size_t>(std::max(0, 2 - k));
            EXPECT_EQ(reference::convolve_at(frames, impulse(nx, ny, nt, i, j, k), x, y).value,
                      frames[from_frame].at(from_x, from_y));
          }
        }
      }
    }
  }
}

// Fails when several terms are not added, or cancel each other in the absolute sum.
TEST(Reference, TermsAddUp) {
  const std::vector<PlaneD> frames = {test::noise({4, 4}, 1)};
  Kernel kernel = impulse(3, 3, 1, 1, 1, 0);
  kernel.push_back(kernel.front());
  kernel.back().wt[0] = -1.0;
  const reference::Response response = reference::convolve_at(frames, kernel, 2, 2);
  EXPECT_EQ(response.value, 0.0);
  EXPECT_DOUBLE_EQ(response.absolute, 2.0 * frames[0].at(2, 2));
}

// Fails when smoothing taps do not sum to 1, or derivative taps respond to a constant or give a
// wrong slope for a ramp.
TEST(Reference, GaussianTapsHaveTheRightMoments) {
  for (const int n : {2, 3, 4, 15, 20, 25}) {
    for (const double center : {static_cast<double>(n / 2), (n - 1) / 2.0}) {
      for (const double sigma : {0.7, 1.5, 6.0}) {
        const auto g = reference::gaussian(n, center, sigma);
        const auto d = reference::gaussian_derivative(n, center, sigma);
        EXPECT_NEAR(std::accumulate(g.begin(), g.end(), 0.0), 1.0, 1e-14);
        EXPECT_NEAR(std::accumulate(d.begin(), d.end(), 0.0), 0.0, 1e-13);
        double ramp = 0.0;
        for (int i = 0; i < n; ++i) ramp += d[static_cast<std::size_t>(i)] * -i;
        EXPECT_NEAR(ramp, 1.0, 1e-12);
        EXPECT_GE(d.front(), 0.0) << "the tap of the sample on the right must be positive";
      }
    }
  }
  const auto g = reference::gaussian(5, 2.0, 1.0);
  EXPECT_NEAR(g[3] / g[2], std::exp(-0.5), 1e-15);
}

// Fails when the derivatives of a linear plane are not its slopes in gray levels per pixel and per
// frame.
TEST(Reference, DerivativesOfALinearPlaneAreItsSlopes) {
  const ImageSize size{31, 33};
  std::vector<PlaneD> frames;
  for (int t = 0; t < 20; ++t) {
    PlaneD plane(size.width, size.height);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) plane.at(x, y) = 3.0 * x - 2.0 * y + 0.5 * t + 10.0;
    }
    frames.push_back(plane);
  }
  KernelConfig config;
  const auto kernels = reference::library_kernels(config, size);
  EXPECT_NEAR(reference::convolve_at(frames, kernels(15, 16, 0), 15, 16).value, 3.0, 1e-10);
  EXPECT_NEAR(reference::convolve_at(frames, kernels(15, 16, 1), 15, 16).value, -2.0, 1e-10);
  EXPECT_NEAR(reference::convolve_at(frames, kernels(15, 16, 2), 15, 16).value, 0.5, 1e-10);
}

// Fails when sigma does not grow with the distance from the fovea.
TEST(Reference, FoveatedSigmaGrowsWithDistance) {
  KernelConfig config;
  config.origin = KernelOrigin::kFoveated;
  config.form = KernelForm::kPerPixel;
  config.fovea_x = 10.0f;
  config.fovea_y = 20.0f;
  config.fovea_radius = 5.0f;
  const auto kernels = reference::library_kernels(config, {64, 64});
  EXPECT_EQ(kernels(10, 20, 1).front().wx, reference::gaussian(15, 7, 1.5));
  const auto expected = reference::gaussian(15, 7, 3.0);  // 3-4-5: at a distance of one radius
  const auto taps = kernels(13, 24, 1).front().wx;
  for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_NEAR(taps[i], expected[i], 1e-15);
}

// Fails when the weights are not those of the window, or an infinite sigma does not give a box.
TEST(Reference, WindowWeightsAreGaussianOrABox) {
  const auto box = reference::window_weights(5, std::numeric_limits<double>::infinity());
  for (const double weight : box) EXPECT_DOUBLE_EQ(weight, 0.2);
  const auto weights = reference::window_weights(7, 2.0);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-15);
  EXPECT_NEAR(weights[3 + 2] / weights[3], std::exp(-0.5), 1e-15);
  EXPECT_EQ(weights[0], weights[6]);
}

// Fails when the 2x2 system is solved wrongly. Derivatives that satisfy Ix u + Iy v + It = 0
// exactly must give u and v, and the eigenvalues must be those of the tensor.
TEST(Reference, SolvesExactDerivatives) {
  const PlaneD ix = test::noise({9, 8}, 1);
  const PlaneD iy = test::noise({9, 8}, 2);
  PlaneD it(9, 8);
  for (std::size_t i = 0; i < it.data.size(); ++i)
    it.data[i] = -(0.7 * ix.data[i] - 1.3 * iy.data[i]);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 9; ++x) {
      const reference::Flow flow = reference::solve_at(ix, iy, it, 5, 1.5, x, y);
      EXPECT_NEAR(flow.u, 0.7, 1e-10);
      EXPECT_NEAR(flow.v, -1.3, 1e-10);
      EXPECT_LE(flow.smaller, flow.larger);
    }
  }
  const reference::Flow flat =
      reference::solve_at(PlaneD(3, 3, 2.0), PlaneD(3, 3, 0.0), PlaneD(3, 3, 1.0), 3, 1.0, 1, 1);
  EXPECT_NEAR(flat.larger, 4.0, 1e-12);
  EXPECT_NEAR(flat.smaller, 0.0, 1e-12);
}

// Fails when the interpolation does not reproduce a linear plane (the cubic one also a parabola) or
// the value of a pixel exactly.
TEST(Reference, InterpolationReproducesPolynomials) {
  PlaneD plane(12, 10);
  PlaneD parabola(12, 10);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 12; ++x) {
      plane.at(x, y) = 2.0 * x - 3.0 * y + 1.0;
      parabola.at(x, y) = 0.5 * x * x - x * y + 0.25 * y * y;
    }
  }
  const double x = 4.3;
  const double y = 5.8;
  EXPECT_NEAR(reference::bilinear(plane, x, y), 2.0 * x - 3.0 * y + 1.0, 1e-12);
  EXPECT_NEAR(reference::bicubic(plane, x, y), 2.0 * x - 3.0 * y + 1.0, 1e-12);
  EXPECT_NEAR(reference::bicubic(parabola, x, y), 0.5 * x * x - x * y + 0.25 * y * y, 1e-12);
  const PlaneD random = test::noise({7, 6}, 1);
  EXPECT_DOUBLE_EQ(reference::bilinear(random, 3.0, 2.0), random.at(3, 2));
  EXPECT_DOUBLE_EQ(reference::bicubic(random, 6.0, 5.0), random.at(6, 5));
  EXPECT_DOUBLE_EQ(reference::bicubic(random, 99.0, -5.0), random.at(6, 0))
      << "a position outside is moved inside";
}

// Fails when a level is not a smoothed sample, flow is not doubled, or a median is not the middle
// value.
TEST(Reference, PyramidAndMedianEqualHandComputation) {
  const PlaneD half = reference::reduce(PlaneD(9, 6, 5.0));
  EXPECT_EQ(half.width, 5);
  EXPECT_EQ(half.height, 3);
  for (const double value : half.data) EXPECT_DOUBLE_EQ(value, 5.0);
  PlaneD impulse(9, 9);
  impulse.at(4, 4) = 256.0;
  EXPECT_DOUBLE_EQ(reference::reduce(impulse).at(2, 2), 36.0);
  EXPECT_DOUBLE_EQ(reference::reduce(impulse).at(1, 2), 6.0);
  PlaneD ramp(4, 3);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) ramp.at(x, y) = 10.0 * x + y;
  }
  const PlaneD twice = reference::expand_flow(ramp, 7, 5);
  EXPECT_DOUBLE_EQ(twice.at(4, 2), 2.0 * ramp.at(2, 1));
  EXPECT_DOUBLE_EQ(twice.at(3, 2), ramp.at(1, 1) + ramp.at(2, 1));
  EXPECT_DOUBLE_EQ(reference::median(ramp, 3, 1, 1), 11.0);
  EXPECT_DOUBLE_EQ(reference::median(ramp, 3, 0, 0), 1.0)
      << "edges repeated: 0 0 10, 0 0 10, 1 1 11";
}

// Fails when the simple pyramid, the reference of the library's pyramid, does not find a known
// motion.
TEST(Reference, ThePyramidFindsAKnownMotion) {
  const ImageSize size{80, 72};
  const test::Texture texture(9, 8.0, 16.0);
  const auto motion = test::AffineMotion::about(40, 36, 2.3, -1.1, 0.004, 0.0, 0.0, 0.0);
  std::vector<PlaneD> frames;
  for (int f = 0; f < 2; ++f) frames.push_back(test::render(texture, motion, size, f));
  OpticalFlowConfig config = OpticalFlowConfig::fast(size);
  config.pyramid.warps = config.pyramid.coarse_warps = 4;
  const auto flow = reference::pyramid_flow(frames, config);
  for (int y = 20; y < size.height - 20; ++y) {
    for (int x = 20; x < size.width - 20; ++x) {
      const auto expected = motion.displacement(x, y);
      ASSERT_NEAR(flow.u.at(x, y), expected[0], 0.02) << x << ", " << y;
      ASSERT_NEAR(flow.v.at(x, y), expected[1], 0.02) << x << ", " << y;
    }
  }
}

// Fails when the texture does not follow the motion. A moving point must keep its gray level.
TEST(Scene, TheTextureFollowsAnAffineMotion) {
  const test::Texture texture(3);
  const auto motion = test::AffineMotion::about(20, 16, 1.2, -0.8, 0.01, -0.02, 0.015, -0.005);
  const PlaneD now = test::render(texture, motion, {40, 32}, 4.0);
  for (const auto& [x, y] : {std::pair{5, 6}, {30, 20}, {12, 25}}) {
    const auto later = motion.moved(x, y, 2.5);
    const auto origin = motion.moved(later[0], later[1], -6.5);
    EXPECT_NEAR(now.at(x, y), texture(origin[0], origin[1]), 1e-9);
    const auto back = motion.moved(later[0], later[1], -2.5);
    EXPECT_NEAR(back[0], x, 1e-10);
    EXPECT_NEAR(back[1], y, 1e-10);
    const auto close = motion.moved(x, y, 1e-6);
    EXPECT_NEAR((close[0] - x) / 1e-6, motion.velocity(x, y)[0], 1e-5);
    EXPECT_NEAR((close[1] - y) / 1e-6, motion.velocity(x, y)[1], 1e-5);
  }
  EXPECT_NEAR(motion.velocity(20, 16)[0], 1.2, 1e-12);
  EXPECT_NEAR(motion.velocity(20, 16)[1], -0.8, 1e-12);
}

}  // namespace
}  // namespace ocellus
