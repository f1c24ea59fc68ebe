// The reference of the cellular network against results computed by hand, and against theory.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "reference/cellular_network.h"
#include "support/plane.h"

namespace ocellus {
namespace {

using reference::CellLevels;
using reference::CellStageReference;
using test::PlaneD;
using test::PlaneF;

constexpr int kBits = 8;

float& weight(std::array<float, kMaxTemplateWeights>& weights, int radius, int dx, int dy) {
  return weights[static_cast<std::size_t>((dy + radius) * (2 * radius + 1) + dx + radius)];
}

CellStage stage(int radius = 1) {
  CellStage stage;
  stage.weights.radius = radius;
  return stage;
}

PlaneD row(const std::string& cells) {
  PlaneD plane(static_cast<int>(cells.size()), 1);
  for (std::size_t i = 0; i < cells.size(); ++i) plane.data[i] = cells[i] == '#' ? 1.0 : -1.0;
  return plane;
}

std::string text(const CellLevels& k) {
  std::string cells;
  for (const int level : k.data) cells += level == 1 ? '#' : '.';
  return cells;
}

PlaneD random_input(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  PlaneD u(width, height);
  for (double& value : u.data)
    value = static_cast<double>(static_cast<int>(random() % 16385) - 8192) / 8192.0;
  return u;
}

// Fails when u is not linear in gray, has a wrong sign, or is not on the grid of 2^-13.
TEST(CellReference, InputIsLinearInGray) {
  PlaneD gray(5, 1);
  gray.data = {0.0, 255.0, 127.5, 51.0, 300.0};
  const PlaneD black = reference::cell_input(gray, CellPolarity::kBlackIsOne);
  const PlaneD white = reference::cell_input(gray, CellPolarity::kWhiteIsOne);
  EXPECT_EQ(black.data[0], 1.0);
  EXPECT_EQ(black.data[1], -1.0);
  EXPECT_EQ(black.data[2], 0.0);
  EXPECT_EQ(black.data[3], 4915.0 / 8192.0);  // 0.6 is 4915.2
  EXPECT_EQ(black.data[4], -1.0);
  EXPECT_EQ(white.data[0], -1.0);
  EXPECT_EQ(white.data[3], -4915.0 / 8192.0);
  EXPECT_EQ(reference::cell_gray(1, 2, CellPolarity::kBlackIsOne), 0.0);
  EXPECT_EQ(reference::cell_gray(1, 2, CellPolarity::kWhiteIsOne), 255.0);
  EXPECT_EQ(reference::cell_gray(64, 256, CellPolarity::kWhiteIsOne), 64.0);
  // Luma of a video.
  const GrayRange limited{16.0f, 235.0f};
  gray.data = {0.0, 16.0, 125.5, 235.0, 255.0};
  const PlaneD video = reference::cell_input(gray, CellPolarity::kBlackIsOne, limited);
  EXPECT_EQ(video.data, (std::vector<double>{1.0, 1.0, 0.0, -1.0, -1.0}));
  EXPECT_EQ(reference::cell_gray(1, 2, CellPolarity::kBlackIsOne, limited), 16.0);
  EXPECT_EQ(reference::cell_gray(0, 2, CellPolarity::kBlackIsOne, limited), 235.0);
  EXPECT_EQ(reference::cell_gray(1, 3, CellPolarity::kWhiteIsOne, limited), 125.5);
  EXPECT_EQ(reference::on_grid(0.375, 2), 0.5) << "halves are rounded up";
  EXPECT_EQ(reference::on_grid(-0.375, 2), -0.25) << "halves are rounded up";
  EXPECT_EQ(reference::weight_on_grid(0.375, 2), 0.5) << "halves are rounded to even";
  EXPECT_EQ(reference::weight_on_grid(-0.375, 2), -0.5) << "halves are rounded to even";
  EXPECT_EQ(reference::weight_on_grid(0.625, 2), 0.5) << "halves are rounded to even";
}

// Fails when a state does not become the nearest of the m levels between -xi and xi. A state
// halfway must become the upper one. Two levels must be a threshold at 0.
TEST(CellReference, OutputIsTheNearestLevel) {
  for (const int levels : {3, 4, 5, 16, 255, 256}) {
    for (const double xi : {0.25, 1.0, 3.0}) {
      for (int i = -300; i <= 300; ++i) {
        const double x = i / 64.0;
        int nearest = 0;
        // The distances are multiplied by (m - 1), which makes them exact.
        const auto distance = [&](int k) {
          return std::fabs((levels - 1) * x - xi * (2 * k - (levels - 1)));
        };
        for (int k = 1; k < levels; ++k) {
          if (distance(k) <= distance(nearest)) nearest = k;
        }
        ASSERT_EQ(reference::cell_level(x, xi, levels), nearest) << x << " " << xi << " " << levels;
      }
    }
  }
  EXPECT_EQ(reference::cell_level(0.0, 5.0, 2), 1);
  EXPECT_EQ(reference::cell_level(-1.0 / 8192, 5.0, 2), 0);
}

// Fails when a weight is applied to the mirrored cell (as in a convolution), or when cells beyond
// the image do not follow the boundary. The test covers inputs and outputs at every offset of every
// radius.
TEST(CellReference, AWeightReadsTheCellAtItsOffset) {
  const int width = 7;
  const int height = 6;
  const PlaneD u = random_input(width, height, 1);
  for (int radius = 1; radius <= kMaxTemplateRadius; ++radius) {
    for (int dy = -radius; dy <= radius; ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        for (const auto boundary :
             {CellBoundary::kFixed, CellBoundary::kZeroFlux, CellBoundary::kPeriodic}) {
          CellStage s = stage(radius);
          s.boundary = boundary;
          s.boundary_value = 0.5f;
          weight(s.weights.b, radius, dx, dy) = 2.0f;
          const CellStageReference control(s, 12, u, u);
          s = stage(radius);
          s.boundary = boundary;
          s.boundary_value = 0.5f;
          weight(s.weights.a, radius, dx, dy) = 2.0f;
          const CellStageReference feedback(s, 12, u, u);
          for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
              int at_x = x + dx;
              int at_y = y + dy;
              const bool inside = at_x >= 0 && at_x < width && at_y >= 0 && at_y < height;
              if (boundary == CellBoundary::kZeroFlux) {
                at_x = std::clamp(at_x, 0, width - 1);
                at_y = std::clamp(at_y, 0, height - 1);
              } else {
                at_x = (at_x + width) % width;
                at_y = (at_y + height) % height;
              }
              const bool fixed = boundary == CellBoundary::kFixed && !inside;
              const double expected_u = fixed ? 0.5 : u.at(at_x, at_y);
              const double expected_y = fixed ? 0.5 : u.at(at_x, at_y) >= 0.0 ? 1.0 : -1.0;
              ASSERT_EQ(control.state(x, y), expected_u * 2.0 * 4096.0)
                  << radius << " " << dx << " " << dy << " at " << x << " " << y;
              ASSERT_EQ(feedback.state(x, y), expected_y * 2.0 * 4096.0)
                  << radius << " " << dx << " " << dy << " at " << x << " " << y;
            }
          }
        }
      }
    }
  }
}

// Fails when B u + T is not rounded once, halves up, to 2^-f / (m - 1). Also fails when it lacks
// the contribution of fixed cells outside through A.
TEST(CellReference, TheBiasIsRoundedOnce) {
  PlaneD u(1, 1);
  CellStage s = stage();
  s.levels = 3;
  s.boundary = CellBoundary::kFixed;
  weight(s.weights.b, 1, 0, 0) = 0.75f;
  const auto bias = [&] { return CellStageReference(s, 2, u, u).bias(0, 0); };
  u.data[0] = 0.25;
  EXPECT_EQ(bias(), 2.0) << "0.1875 is 1.5 eighths";
  u.data[0] = -0.25;
  EXPECT_EQ(bias(), -1.0) << "-0.1875 is -1.5 eighths";
  s.weights.threshold = 0.25f;
  EXPECT_EQ(bias(), 1.0) << "0.0625 is 0.5 eighths";
  const PlaneF plane(1, 1, 0.5f);
  s.threshold_plane = plane.data.data();
  s.threshold_stride = sizeof(float);
  EXPECT_EQ(bias(), 5.0) << "0.5625 is 4.5 eighths";
  s.boundary_value = 0.5f;
  weight(s.weights.a, 1, -1, 0) = 0.25f;
  EXPECT_EQ(bias(), 6.0) << "0.6875 is 5.5 eighths";
  weight(s.weights.a, 1, 0, 0) = 0.3f;  // 0.25 on the grid
  EXPECT_EQ(CellStageReference(s, 2, u, u).state(0, 0), 6.0)
      << "u = -0.25 starts at level 1 of 3, y = 0";
  u.data[0] = -1.0;  // bias -0.75 + 0.75 + 0.125 = 0.125, one eighth; feedback -0.25, -2 eighths
  EXPECT_EQ(CellStageReference(s, 2, u, u).state(0, 0), -1.0);
}

// Fails when the cells do not read each other's new outputs in the order of the update rule. Here
// every cell takes the output of its left neighbor.
TEST(CellReference, ASweepFollowsTheUpdateRule) {
  CellStage s = stage();
  weight(s.weights.a, 1, -1, 0) = 1.0f;
  const PlaneD u = row("#.....");
  const auto sweeps = [&](CellUpdate update, int spacing, int count) {
    s.update = update;
    s.color_spacing = spacing;
    CellStageReference reference(s, kBits, u, u);
    for (int i = 0; i < count; ++i) reference.sweep();
    return text(reference.outputs());
  };
  EXPECT_EQ(sweeps(CellUpdate::kSynchronous, 0, 1), "##....");
  EXPECT_EQ(sweeps(CellUpdate::kSynchronous, 0, 3), "####..");
  EXPECT_EQ(sweeps(CellUpdate::kRaster, 0, 1), "######");
  EXPECT_EQ(sweeps(CellUpdate::kColors, 0, 1), "##....");  // 0 2 4, then 1 3 5
  EXPECT_EQ(sweeps(CellUpdate::kColors, 2, 2), "####..");
  EXPECT_EQ(sweeps(CellUpdate::kColors, 3, 1), "###...");  // 0 3, then 1 4, then 2 5
  EXPECT_EQ(sweeps(CellUpdate::kColors, 3, 2), "######");
}

// Fails when a color visits columns before rows.
TEST(CellReference, ColorsAreUpdatedRowByRow) {
  CellStage s = stage();
  s.start = CellStart::kConstant;
  s.start_value = -1.0f;
  weight(s.weights.a, 1, 1, -1) = 1.0f;
  // The cell at the top right becomes black whatever the others are. Cell (0, 1) reads it.
  const PlaneF plane = [] {
    PlaneF p(2, 2, 0.0f);
    p.at(1, 0) = 3.0f;
    return p;
  }();
  s.threshold_plane = plane.data.data();
  s.threshold_stride = 2 * sizeof(float);
  s.boundary = CellBoundary::kFixed;
  s.boundary_value = -1.0f;
  const PlaneD u(2, 2);
  CellStageReference reference(s, kBits, u, u);
  reference.sweep();
  EXPECT_EQ(text(reference.outputs()), ".##.");
}

// The length of the ring is not a multiple of the spacing. Fails when the last columns have the
// same color as the first ones, which they read.
TEST(CellReference, TheLastColumnsOfARingHaveSeparateColors) {
  CellStage s = stage();
  s.boundary = CellBoundary::kPeriodic;
  s.color_spacing = 3;
  weight(s.weights.a, 1, -1, 0) = 1.0f;
  const PlaneD u = row("....#");
  // Columns 0, 1, 2, 3 and 4 in turn.
  CellStageReference reference(s, kBits, u, u);
  reference.sweep();
  EXPECT_EQ(text(reference.outputs()), "#####");
  // 0 3 6, then 1 4 7, then 2 5 8, then 9, then 10.
  const PlaneD longer = row("..........#");
  CellStageReference other(s, kBits, longer, longer);
  other.sweep();
  EXPECT_EQ(text(other.outputs()), "###........");
}

// Fails when an error is passed to a wrong cell or in wrong parts, is not rounded to the grid, or
// crosses the border of a tile.
TEST(CellReference, ErrorDiffusionEqualsHandComputation) {
  const double step = 1.0 / 8192;
  PlaneD u(3, 2);
  u.data = {0.0, -0.25, -0.5, 0.0, 0.0, 0.0};
  // Row 0: 0 is black, error -1; -0.25 - 7/16 white, error 0.3125; -0.5 + 7/16 0.3125 = -0.36328125
  // white, error 0.63671875. Row 1: 0 - 5/16 + 3/16 0.3125 = -0.25390625 white, error 0.74609375;
  // the next one gets 7/16 of that, -1/16, 5/16 0.3125 and 3/16 0.63671875: black; the last one
  // 7/16 of -0.5190.., 1/16 0.3125 and 5/16 0.63671875: -0.0086.., white.
  EXPECT_EQ(text(reference::error_diffusion(u)), "#...#.");
  // The state of the right cell is 7/16 of the error. Half a step is rounded up.
  u = PlaneD(2, 1);
  for (const int steps : {8, -8, 24}) {  // 7/16: 3.5, -3.5, 10.5 steps
    u.data[0] = 1.0 + steps * step;
    const int passed = steps == 8 ? 4 : steps == -8 ? -3 : 11;
    u.data[1] = -passed * step;
    EXPECT_EQ(text(reference::error_diffusion(u)), "##") << steps;
    u.data[1] -= step;
    EXPECT_EQ(text(reference::error_diffusion(u)), "#.") << steps;
  }
  const PlaneD gray = random_input(129, 33, 5);
  const CellLevels whole = reference::error_diffusion(gray);
  PlaneD corner(1, 1);
  corner.data[0] = gray.at(128, 32);
  EXPECT_EQ(whole.at(128, 32), reference::error_diffusion(corner).at(0, 0));
  PlaneD tile(128, 32);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 128; ++x) tile.at(x, y) = gray.at(x, y);
  }
  const CellLevels alone = reference::error_diffusion(tile);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 128; ++x) ASSERT_EQ(whole.at(x, y), alone.at(x, y));
  }
}

// Fails when a cell does not take the nearest level, or passes on another error than the
// difference.
TEST(CellReference, ErrorDiffusionToLevelsEqualsHandComputation) {
  // Levels -1, -1/3, 1/3 and 1. 0 is between two levels and takes the higher one, 1/3; its error is
  // -1/3. -0.6 - 7/16 / 3 = -0.7458.. is nearest to -1, error 0.2541..; 0.9 + 7/16 0.2541.. is
  // above all levels.
  PlaneD u(3, 1);
  u.data = {0.0, -0.6, 0.9};
  const CellLevels k = reference::error_diffusion(u, 4);
  EXPECT_EQ(k.data, (std::vector<int>{2, 0, 3}));
  // Without rounding, a flat area has its own gray in the mean.
  PlaneD flat(128, 32);
  std::fill(flat.data.begin(), flat.data.end(), 0.23);
  for (const int levels : {2, 3, 4, 16, 256}) {
    double sum = 0.0;
    for (const int level : reference::error_diffusion(flat, levels).data)
      sum += (2.0 * level - (levels - 1)) / (levels - 1);
    EXPECT_NEAR(sum / (128 * 32), 0.23, 0.03) << levels;
  }
}

// Fails when an initial state is not the output function of its source.
TEST(CellReference, StartsFollowTheConfiguration) {
  const PlaneD u = row("#.#.");
  const PlaneD previous = row("##..");
  const std::vector<float> plane = {-0.25f, 0.25f, 0.0f, -0.0001f};
  reference::CellStarts starts;
  starts.noise = [](int x, int, std::uint32_t seed) {
    return x == static_cast<int>(seed) ? 0.5 : -0.5;
  };
  starts.blue_noise = [](int x, int) { return x == 1 ? 1.0 : -1.0; };
  CellStage s = stage();
  const auto start = [&](CellStart from) {
    s.start = from;
    return text(CellStageReference(s, kBits, u, previous, starts).outputs());
  };
  EXPECT_EQ(start(CellStart::kInput), "#.#.");
  EXPECT_EQ(start(CellStart::kPrevious), "##..");
  s.start_plane = plane.data();
  EXPECT_EQ(start(CellStart::kPlane), ".##.");
  s.seed = 3;
  EXPECT_EQ(start(CellStart::kNoise), "...#");
  EXPECT_EQ(start(CellStart::kBlueNoise), "###.") << "a sum of 0 is black";
  EXPECT_EQ(start(CellStart::kConstant), "####");
  s.start_value = -0.5f;
  EXPECT_EQ(start(CellStart::kConstant), "....");
  s.levels = 5;
  s.xi = 0.5f;
  s.start_value = 0.25f;
  EXPECT_EQ(CellStageReference(s, kBits, u, u).outputs().data[0], 3);
}

// Fails when a stage does not read its configured input or start, or when sweeps, changes and
// convergence are counted wrongly.
TEST(CellReference, ChainsFollowTheConfiguration) {
  CellularNetworkConfig config;
  config.size = {4, 1};
  config.stage_count = 2;
  // The first stage inverts. The second uses the outputs so far, or the frame where they are white.
  weight(config.stages[0].weights.b, 1, 0, 0) = -1.0f;
  config.stages[1].input = CellInput::kFrame;
  config.stages[1].start = CellStart::kPrevious;
  weight(config.stages[1].weights.a, 1, 0, 0) = 1.0f;
  weight(config.stages[1].weights.b, 1, 0, 0) = 1.0f;
  config.stages[1].weights.threshold = 1.0f;
  PlaneD gray(4, 1);
  gray.data = {0, 255, 0, 255};
  reference::CellRun run = reference::run_cells(config, {kBits, kBits}, gray);
  EXPECT_EQ(text(run.first), ".#.#");
  EXPECT_EQ(text(run.k), "####");
  EXPECT_EQ(run.gray.data, std::vector<double>(4, 0.0));
  EXPECT_EQ(run.info.sweeps, 4) << "each stage needs one sweep with changes and one without";
  EXPECT_EQ(run.info.changed, 0u);
  EXPECT_TRUE(run.info.converged);
  config.stages[1].max_sweeps = 1;
  run = reference::run_cells(config, {kBits, kBits}, gray);
  EXPECT_EQ(run.info.sweeps, 3);
  EXPECT_EQ(run.info.changed, 2u);
  EXPECT_FALSE(run.info.converged);
  // A warm start is the output of the first stage, so that nothing changes there.
  config.warm_start = true;
  run = reference::run_cells(config, {kBits, kBits}, gray, {}, run.first);
  EXPECT_EQ(run.info.sweeps, 2);
}

/// Fills in the weights from `next`, with a point-symmetric A.
template <typename Next>
void fill_symmetric(CellStage& s, Next&& next) {
  const int radius = s.weights.radius;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const float value = next();
      weight(s.weights.a, radius, dx, dy) = value;
      weight(s.weights.a, radius, -dx, -dy) = value;
      weight(s.weights.b, radius, dx, dy) = next();
    }
  }
}

// Fails when an asynchronous sweep raises the energy of a network with symmetric weights and a self
// weight of at least 0, for any number of levels. Then sweeps would be no descent and need not end.
TEST(CellReference, AsynchronousSweepsNeverRaiseTheEnergy) {
  std::mt19937 random(7);
  const auto small = [&random] { return static_cast<float>(random() % 513) / 256.0f - 1.0f; };
  int settled = 0;
  const int networks = 60;
  for (int n = 0; n < networks; ++n) {
    const int radius = 1 + n % kMaxTemplateRadius;
    CellStage s = stage(radius);
    fill_symmetric(s, small);
    weight(s.weights.a, radius, 0, 0) = std::fabs(small());
    s.weights.threshold = small();
    s.levels = n % 3 == 0 ? 2 : n % 3 == 1 ? 5 : 256;
    s.xi = 0.5f + std::fabs(small()) * 8.0f;
    s.boundary = n % 2 == 0 ? CellBoundary::kFixed : CellBoundary::kPeriodic;
    s.boundary_value = small();
    s.update = n % 5 == 0 ? CellUpdate::kRaster : CellUpdate::kColors;
    s.color_spacing = n % 5 == 1 ? 9 : 0;
    const PlaneD u = random_input(23, 19, static_cast<unsigned>(n));
    CellStageReference reference(s, kBits, u, u);
    double energy = reference.energy();
    for (int sweep = 0; sweep < 2000; ++sweep) {
      const std::uint32_t changed = reference.sweep();
      const double now = reference.energy();
      ASSERT_LE(now, energy) << "network " << n << ", sweep " << sweep;
      energy = now;
      if (changed == 0) {
        ++settled;
        break;
      }
    }
  }
  EXPECT_EQ(settled, networks);
}

// Fails when swaps raise the energy, change cells without lowering it, or change the number of
// black cells. Swaps must also end.
TEST(CellReference, SwapsLowerTheEnergyAndKeepTheMean) {
  std::mt19937 random(11);
  const auto small = [&random] { return static_cast<float>(random() % 513) / 256.0f - 1.0f; };
  for (int n = 0; n < 24; ++n) {
    const int radius = 1 + n % kMaxTemplateRadius;
    CellStage s = stage(radius);
    fill_symmetric(s, small);
    s.move = CellMove::kSwap;
    s.boundary = n % 2 == 0 ? CellBoundary::kFixed : CellBoundary::kPeriodic;
    s.boundary_value = small();
    const PlaneD u = random_input(25, 19, static_cast<unsigned>(n));
    CellStageReference reference(s, kBits, u, u);
    const auto black = [&] {
      int count = 0;
      for (const int k : reference.outputs().data) count += k;
      return count;
    };
    const int before = black();
    double energy = reference.energy();
    std::uint32_t changed = 1;
    for (int sweep = 0; sweep < 1000 && changed > 0; ++sweep) {
      changed = reference.sweep();
      const double now = reference.energy();
      ASSERT_TRUE(changed > 0 ? now < energy : now == energy)
          << "network " << n << ", sweep " << sweep;
      energy = now;
    }
    EXPECT_EQ(changed, 0u);
    EXPECT_EQ(black(), before);
  }
}

// Fails when the swap that lowers the energy less is made.
TEST(CellReference, TheBetterOfTwoSwapsIsMade) {
  CellStage s = stage();
  s.move = CellMove::kSwap;
  s.boundary = CellBoundary::kFixed;
  // The first cell is black and should become white. The threshold plane sets how strongly the
  // others tend to black.
  const auto after = [&](float right, float below) {
    PlaneF plane(2, 2);
    plane.data = {0.0f, right, below, -3.0f};
    s.threshold_plane = plane.data.data();
    s.threshold_stride = 2 * sizeof(float);
    PlaneD u(2, 2);
    u.data = {1.0, -1.0, -1.0, -1.0};
    CellStageReference reference(s, kBits, u, u);
    reference.sweep();
    return text(reference.outputs());
  };
  EXPECT_EQ(after(1.0f, 2.0f), "..#.");
  EXPECT_EQ(after(2.0f, 1.0f), ".#..");
  EXPECT_EQ(after(2.0f, 2.0f), ".#..");
  EXPECT_EQ(after(-1.0f, -2.0f), "#...");
  EXPECT_EQ(after(0.0f, 0.0f), "#...") << "no swap lowers the energy";
}

// The published 5x5 halftone template with 1 subtracted from its self weight.
CellStage halftone() {
  const float outer[3][3] = {
      {0.05f, 0.46f, 0.099f}, {0.46f, 0.324f, 0.07f}, {0.099f, 0.07f, 0.0245f}};
  CellStage s = stage(2);
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const float value = outer[std::abs(dy)][std::abs(dx)];
      weight(s.weights.a, 2, dx, dy) = dx == 0 && dy == 0 ? value : -value;
      weight(s.weights.b, 2, dx, dy) = dx == 0 && dy == 0 ? 0.81f : value;
    }
  }
  return s;
}

// Fails when synchronous updates of a halftone converge, which they must not, or when asynchronous
// updates do not converge. This is the paper's figure 1.
TEST(CellReference, SynchronousHalftonesDoNotConverge) {
  PlaneD u(96, 80);
  for (int y = 0; y < u.height; ++y) {
    for (int x = 0; x < u.width; ++x)
      u.at(x, y) =
          reference::on_grid(std::sin(0.06 * x) * std::cos(0.05 * y), reference::kInputBits);
  }
  CellStage s = halftone();
  // The boundary is not zero-flux: with it, the feedback between two cells near the border is not
  // symmetric, and some of them may oscillate forever.
  s.boundary = CellBoundary::kFixed;
  for (const auto update : {CellUpdate::kColors, CellUpdate::kRaster}) {
    s.update = update;
    const auto run = CellStageReference(s, kBits, u, u).run();
    EXPECT_TRUE(run.converged) << run.changed << " cells still change";
    double tone = 0.0;
    for (std::size_t i = 0; i < u.data.size(); ++i) tone += 2 * run.k.data[i] - 1 - u.data[i];
    EXPECT_LT(std::fabs(tone) / static_cast<double>(u.data.size()), 0.03);
  }
  s.update = CellUpdate::kSynchronous;
  const auto run = CellStageReference(s, kBits, u, u).run();
  EXPECT_FALSE(run.converged);
  EXPECT_EQ(run.sweeps, 100);
  EXPECT_GT(run.changed, u.data.size() / 4);
}

}  // namespace
}  // namespace ocellus
