// The layers on the CPU against the equations in double precision.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "layers_reference.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/half.h"
#include "support/simd.h"

namespace ocellus::test {
namespace {

using detail::ActiveCells;
using detail::CellWindow;
using detail::SimpleLayer;

/// The cosine of an angle is known to some 1e-6; (2) enlarges this by up to 1 / (1 - theta).
constexpr double kTolerance = 2e-5;

/// Memory of an ActiveCells.
struct OwnedCells {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint16_t> key;
  std::vector<float> value;
  std::vector<float> energy;
  ActiveCells cells;

  OwnedCells(int side, int planes) {
    const auto positions = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    begin.resize(positions + 1);
    key.resize(positions * static_cast<std::size_t>(planes));
    value.resize(key.size());
    energy.resize(positions);
    cells = {side,
             planes,
             begin.data(),
             key.data(),
             value.data(),
             energy.data(),
             static_cast<std::uint32_t>(value.size())};
  }
};

CellsD dense(const ActiveCells& cells) {
  CellsD out(cells.side, cells.planes);
  for (int p = 0; p < cells.side * cells.side; ++p)
    for (std::uint32_t i = cells.begin[p]; i < cells.begin[p + 1]; ++i)
      out.at(p % cells.side, p / cells.side, cells.key[i] - p % cells.side * cells.planes) =
          static_cast<double>(cells.value[i]);
  return out;
}

/// Random cells, a share of which is not 0; the first rows are empty.
OwnedCells random_cells(int side, int planes, double share, std::mt19937& random) {
  OwnedCells out(side, planes);
  std::uniform_real_distribution<float> value(0.01f, 0.9f);
  std::bernoulli_distribution active(share);
  std::uint32_t n = 0;
  for (int p = 0; p < side * side; ++p) {
    out.begin[static_cast<std::size_t>(p)] = n;
    for (int k = 0; k < planes && p >= 3 * side; ++k) {
      if (!active(random)) continue;
      out.key[n] = static_cast<std::uint16_t>(p % side * planes + k);
      out.value[n] = value(random);
      out.energy[static_cast<std::size_t>(p)] += out.value[n] * out.value[n];
      ++n;
    }
  }
  out.begin[static_cast<std::size_t>(side * side)] = n;
  return out;
}

/// Random weights with b(k) = 1, aligned as SimpleLayer needs them and in double precision.
struct RandomWeights {
  WeightsD exact;
  std::vector<std::uint16_t> memory;
  SimpleLayer layer;

  RandomWeights(const CellWindow& window, int in_planes, int planes,
                const NeocognitronParameters& parameters, int stage, std::mt19937& random) {
    const auto taps = static_cast<std::size_t>(window.taps);
    exact = {in_planes, planes, {}};
    exact.values.resize(taps * static_cast<std::size_t>(in_planes) *
                        static_cast<std::size_t>(planes));
    std::vector<std::uint16_t> halves(exact.values.size());
    std::uniform_real_distribution<double> value(0.0, 1.0);
    for (int k = 0; k < planes; ++k) {
      double squares = 0.0;
      for (std::size_t v = 0; v < taps; ++v)
        for (int kappa = 0; kappa < in_planes; ++kappa) {
          const auto c = static_cast<double>(window.tap[v].weight);
          const double a = c * value(random);
          squares += a * a / c;
          exact.values[(v * static_cast<std::size_t>(in_planes) + static_cast<std::size_t>(kappa)) *
                           static_cast<std::size_t>(planes) +
                       static_cast<std::size_t>(k)] = a;
        }
      for (std::size_t row = 0; row < taps * static_cast<std::size_t>(in_planes); ++row) {
        const std::size_t i = row * static_cast<std::size_t>(planes) + static_cast<std::size_t>(k);
        halves[i] =
            detail::half_from_float(static_cast<float>(exact.values[i] / std::sqrt(squares)));
        exact.values[i] = static_cast<double>(detail::float_from_half(halves[i]));
      }
    }
    layer = {&window,         in_planes,
             planes,          parameters.stages[static_cast<std::size_t>(stage)].threshold,
             parameters.gain, nullptr};
    memory.resize(layer.weight_count() + 32);
    auto* const aligned = reinterpret_cast<std::uint16_t*>(
        (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    detail::place_weights(layer, halves.data(), aligned);
    layer.weights = aligned;
  }
};

void expect_near(const CellsD& expected, const CellsD& actual) {
  ASSERT_EQ(expected.values.size(), actual.values.size());
  double largest = 0.0;
  std::size_t positive = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    largest = std::max(largest, std::abs(expected.values[i] - actual.values[i]));
    positive += expected.values[i] > 0.0;
  }
  EXPECT_LT(largest, kTolerance);
  EXPECT_GT(positive, expected.values.size() / 100) << "almost all cells are 0: nothing is shown";
}

CellsD dense(const std::vector<float>& values, int side, int planes) {
  CellsD out(side, planes);
  const int stride = detail::padded_planes(planes);
  for (int p = 0; p < side * side; ++p)
    for (int k = 0; k < stride; ++k) {
      const float value = values[static_cast<std::size_t>(p * stride + k)];
      if (k < planes)
        out.at(p % side, p / side, k) = static_cast<double>(value);
      else
        EXPECT_EQ(value, 0.0f) << "padding of position " << p;
    }
  return out;
}

class Layers : public ::testing::TestWithParam<SimdTarget> {
 protected:
  OnlyTargets only_{GetParam().bit};
  std::mt19937 random_{7};
  NeocognitronParameters parameters_;
};

TEST_P(Layers, Contrast) {
  const CellWindow window = detail::contrast_window(parameters_);
  std::vector<float> u0(65 * 65);
  std::uniform_real_distribution<float> value(0.0f, 1.0f);
  for (float& pixel : u0) pixel = value(random_);
  CellsD input(65, 1);
  for (std::size_t i = 0; i < u0.size(); ++i) input.values[i] = static_cast<double>(u0[i]);
  const OwnedCells out(71, kContrastPlanes);
  detail::contrast_cells(window, parameters_.contrast_threshold, u0.data(), out.cells);
  expect_near(contrast_reference(input, parameters_), dense(out.cells));
}

TEST_P(Layers, AUniformImageHasNoContrastInside) {
  const CellWindow window = detail::contrast_window(parameters_);
  const std::vector<float> u0(65 * 65, 1.0f);
  const OwnedCells out(71, kContrastPlanes);
  detail::contrast_cells(window, parameters_.contrast_threshold, u0.data(), out.cells);
  const CellsD cells = dense(out.cells);
  for (int y = 6; y < 65; ++y)
    for (int x = 6; x < 65; ++x)
      EXPECT_EQ(cells.at(x, y, 0) + cells.at(x, y, 1), 0.0) << x << "," << y;
}

TEST_P(Layers, Simple) {
  // Random inputs are less similar to random weights than those that a network has learned.
  for (NeocognitronStage& stage : parameters_.stages) stage.threshold = 0.2f;
  struct Case {
    int stage;
    int in_planes;
    int planes;
    double share;
  };
  for (const Case& c : {Case{0, 2, 16, 0.5}, Case{1, 16, 1, 0.3}, Case{1, 16, 26, 0.1},
                        Case{2, 26, 139, 0.1}, Case{2, 3, 257, 0.3}}) {
    SCOPED_TRACE("stage " + std::to_string(c.stage + 1) + ", planes " + std::to_string(c.planes));
    const CellWindow window = detail::simple_window(parameters_, c.stage);
    const OwnedCells in = random_cells(window.sides.in, c.in_planes, c.share, random_);
    const RandomWeights weights(window, c.in_planes, c.planes, parameters_, c.stage, random_);
    const auto positions =
        static_cast<std::size_t>(window.sides.out) * static_cast<std::size_t>(window.sides.out);
    const auto stride = static_cast<std::size_t>(weights.layer.stride());
    // Storing vectors needs the alignment of the library's arrays.
    const std::unique_ptr<float, void (*)(void*)> out(
        static_cast<float*>(std::aligned_alloc(64, positions * stride * sizeof(float))), std::free);
    std::fill_n(out.get(), positions * stride, 0.0f);
    std::vector<std::uint8_t> any(positions);
    std::vector<float> v(positions);
    detail::simple_cells(weights.layer, in.cells, v.data(), out.get(), any.data());
    const std::vector<float> values(out.get(), out.get() + positions * stride);
    const CellsD actual = dense(values, window.sides.out, c.planes);
    expect_near(
        simple_reference(dense(in.cells), window.sides.out, parameters_, c.stage, weights.exact),
        actual);
    for (std::size_t p = 0; p < positions; ++p) {
      bool positive = false;
      for (std::size_t k = 0; k < stride; ++k) positive = positive || values[p * stride + k] > 0.0f;
      EXPECT_EQ(any[p] != 0, positive) << "position " << p;
    }
  }
}

TEST_P(Layers, Complex) {
  for (const int stage : {0, 1, 2}) {
    for (const int planes : {1, 16, 39}) {
      SCOPED_TRACE("stage " + std::to_string(stage + 1) + ", planes " + std::to_string(planes));
      const CellWindow window = detail::complex_window(parameters_, stage);
      const OwnedCells in = random_cells(window.sides.in, planes, 0.1, random_);
      const CellsD exact = dense(in.cells);
      const int stride = detail::padded_planes(planes);
      const auto positions =
          static_cast<std::size_t>(window.sides.in) * static_cast<std::size_t>(window.sides.in);
      const std::size_t floats = positions * static_cast<std::size_t>(stride);
      const std::unique_ptr<float, void (*)(void*)> cells(
          static_cast<float*>(std::aligned_alloc(
              64, (floats + detail::complex_row_sums(window, planes)) * sizeof(float))),
          std::free);
      std::fill(cells.get(), cells.get() + floats, 0.0f);
      float* const sums = cells.get() + floats;
      std::vector<std::uint8_t> active(positions + static_cast<std::size_t>(window.sides.in));
      std::vector<std::uint8_t> any(positions);
      for (std::size_t p = 0; p < positions; ++p)
        for (std::uint32_t i = in.begin[p]; i < in.begin[p + 1]; ++i) {
          const auto k =
              static_cast<std::size_t>(in.key[i]) -
              p % static_cast<std::size_t>(window.sides.in) * static_cast<std::size_t>(planes);
          cells.get()[p * static_cast<std::size_t>(stride) + k] = in.value[i];
          any[p] = 1;
        }
      const OwnedCells out(window.sides.out, planes);
      detail::complex_cells(window, cells.get(), any.data(), {sums, active.data()}, out.cells);
      expect_near(complex_reference(exact, window.sides.out, parameters_, stage), dense(out.cells));
    }
  }
}

TEST_P(Layers, Similarities) {
  for (const int side : {1, 5}) {
    parameters_.reference_side = side;
    const CellWindow window = detail::simple_window(parameters_, 3);
    const auto positions = static_cast<std::size_t>(side * side);
    for (const int planes : {1, 10, 150}) {
      const OwnedCells in = random_cells(13, 21, 0.2, random_);
      const RandomWeights weights(window, 21, planes, parameters_, 3, random_);
      const auto stride = static_cast<std::size_t>(weights.layer.stride());
      const std::unique_ptr<float, void (*)(void*)> out(
          static_cast<float*>(std::aligned_alloc(64, positions * stride * sizeof(float))),
          std::free);
      std::vector<float> v(positions);
      detail::reference_similarities(weights.layer, in.cells, v.data(), out.get());
      expect_near(similarity_reference(dense(in.cells), parameters_, weights.exact),
                  dense({out.get(), out.get() + positions * stride}, side, planes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Layers, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param.name; });

// ---- geometry

// The sides of table 2: the outermost cells read at least one input, and a layer with two more
// cells along an axis would not.
TEST(Geometry, WindowsReachTheOutermostCells) {
  NeocognitronParameters parameters;
  parameters.reference_side = 5;
  const auto reads = [](const CellWindow& window, int x) {
    for (const detail::WindowTap& tap : window.all()) {
      const int column = window.first + window.sides.pitch * x + tap.dx;
      if (tap.weight > 0.0f && column >= 0 && column < window.sides.in) return true;
    }
    return false;
  };
  for (int stage = 0; stage < 4; ++stage) {
    const CellWindow window = detail::simple_window(parameters, stage);
    EXPECT_TRUE(reads(window, 0)) << "US" << stage + 1;
    EXPECT_TRUE(reads(window, window.sides.out - 1)) << "US" << stage + 1;
  }
  for (int stage = 0; stage < 3; ++stage) {
    const CellWindow window = detail::complex_window(parameters, stage);
    EXPECT_TRUE(reads(window, 0)) << "UC" << stage + 1;
    EXPECT_FALSE(reads(window, -1)) << "UC" << stage + 1;
    EXPECT_TRUE(reads(window, window.sides.out - 1)) << "UC" << stage + 1;
    EXPECT_FALSE(reads(window, window.sides.out)) << "UC" << stage + 1;
  }
}

TEST(Geometry, NumbersOfInputs) {
  const NeocognitronParameters parameters;
  EXPECT_EQ(detail::contrast_window(parameters).taps, 45);
  EXPECT_EQ(detail::simple_window(parameters, 0).taps, 12);
  EXPECT_EQ(detail::simple_window(parameters, 1).taps, 32);
  EXPECT_EQ(detail::simple_window(parameters, 2).taps, 32);
  EXPECT_EQ(detail::simple_window(parameters, 3).taps, 69);
}

// One cell of US4 is the one at the center of 5x5 and reads the same inputs.
TEST(Geometry, OneCellOfUS4IsTheOneAtTheCenter) {
  NeocognitronParameters parameters;
  parameters.reference_side = 5;
  const CellWindow all = detail::simple_window(parameters, 3);
  parameters.reference_side = 1;
  const CellWindow one = detail::simple_window(parameters, 3);
  EXPECT_EQ(one.sides.out, 1);
  EXPECT_EQ(one.first, all.first + 2);
  ASSERT_EQ(one.taps, all.taps);
  for (std::size_t i = 0; i < static_cast<std::size_t>(one.taps); ++i) {
    EXPECT_EQ(one.tap[i].dx, all.tap[i].dx);
    EXPECT_EQ(one.tap[i].dy, all.tap[i].dy);
    EXPECT_EQ(one.tap[i].weight, all.tap[i].weight);
  }
}

// The largest windows that the parameters allow are complete.
TEST(Geometry, WindowsHaveRoomForTheLargestRadius) {
  NeocognitronParameters parameters;
  parameters.stages[0].s_radius = 6.0f;
  parameters.stages[0].surround = 1.0f;
  parameters.stages[0].surround_radius = 10.0f;
  ASSERT_TRUE(check_parameters(parameters));
  EXPECT_EQ(detail::simple_window(parameters, 0).taps, 112);
  const CellWindow window = detail::complex_window(parameters, 0);
  EXPECT_LT(window.taps, detail::kMaxWindowTaps);
  EXPECT_EQ(static_cast<std::size_t>(window.taps), inputs_near(68, 37, 2, 18, 18, 10.0).size());
}

TEST(Parameters, AreCheckedWithNameValueAndRange) {
  NeocognitronParameters parameters;
  EXPECT_TRUE(check_parameters(parameters));
  parameters.stages[2].threshold = 1.0f;
  const Expected<void> result = check_parameters(parameters);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, Status::kInvalidArgument);
  EXPECT_STREQ(result.error().text,
               "neocognitron: threshold of stage 3 is 1; it must be 0.01 to 0.99");
  parameters = {};
  parameters.gain = std::nanf("");
  EXPECT_FALSE(check_parameters(parameters));
  for (const int side : {0, 2, 3, 6, -5}) {
    parameters = {};
    parameters.reference_side = side;
    const Expected<void> refused = check_parameters(parameters);
    ASSERT_FALSE(refused) << side;
    EXPECT_EQ(refused.error().text,
              "neocognitron: reference_side is " + std::to_string(side) + "; it must be 1 or 5");
  }
}

}  // namespace
}  // namespace ocellus::test
