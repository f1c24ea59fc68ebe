// Interpolating vectors against the definition: the largest similarity of an input to a vector
// between two references, found by search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "neocognitron/cpu/layers.h"
#include "neocognitron/references.h"
#include "support/simd.h"

namespace ocellus::test {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector unit(Vector a) {
  const double length = std::sqrt(dot(a, a));
  for (double& value : a) value /= length;
  return a;
}

/// The references of a class in the form that the library reads.
struct Class {
  std::vector<float> products;
  std::vector<float> scales;
  std::vector<float> smallest;
  detail::ClassReferences view;

  explicit Class(const std::vector<Vector>& references) {
    const std::size_t n = references.size();
    const int stride = detail::padded_planes(static_cast<int>(n));
    products.resize(n * static_cast<std::size_t>(stride));
    scales.resize(products.size());
    smallest.assign(n, 1.0f);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        const auto product = static_cast<float>(dot(references[i], references[j]));
        products[i * static_cast<std::size_t>(stride) + j] = product;
        scales[i * static_cast<std::size_t>(stride) + j] = detail::interpolation_scale(product);
        smallest[i] = std::min(smallest[i], product);
      }
    view = {static_cast<int>(n), stride, products.data(), scales.data(), smallest.data()};
  }
};

/// The largest cosine between `input` and w i + (1 - w) j for 0 <= w <= 1, by ternary search: the
/// cosine has one maximum along the segment.
double best_between(const Vector& input, const Vector& i, const Vector& j) {
  const auto cosine = [&](double w) {
    Vector mixed(input.size());
    for (std::size_t k = 0; k < mixed.size(); ++k) mixed[k] = w * i[k] + (1.0 - w) * j[k];
    return dot(input, unit(mixed));
  };
  double low = 0.0;
  double high = 1.0;
  for (int step = 0; step < 100; ++step) {
    const double a = low + (high - low) / 3.0;
    const double b = high - (high - low) / 3.0;
    (cosine(a) < cosine(b) ? low : high) = cosine(a) < cosine(b) ? a : b;
  }
  return std::max({cosine(0.0), cosine(1.0), cosine(low)});
}

class Readout : public ::testing::TestWithParam<SimdTarget> {
 protected:
  OnlyTargets only_{GetParam().bit};
};

TEST_P(Readout, IsTheLargestSimilarityToASegment) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(0.0, 1.0);
  const auto vector = [&](std::size_t dimensions) {
    Vector out(dimensions);
    for (double& v : out) v = value(random);
    return unit(out);
  };
  int between = 0;
  for (const std::size_t dimensions : {2u, 5u, 60u}) {
    for (const std::size_t count : {1u, 2u, 3u, 16u, 17u, 40u}) {
      std::vector<Vector> references;
      for (std::size_t i = 0; i < count; ++i) references.push_back(vector(dimensions));
      const Class own(references);
      const Vector input = vector(dimensions);
      // What lies behind the references must not matter.
      std::vector<float> similarities(
          static_cast<std::size_t>(detail::padded_planes(static_cast<int>(count))), 5.0f);
      double expected = 0.0;
      double nearest = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        nearest = std::max(nearest, dot(input, references[i]));
        similarities[i] = static_cast<float>(dot(input, references[i]));
        for (std::size_t j = 0; j <= i; ++j)
          expected = std::max(expected, best_between(input, references[i], references[j]));
      }
      between += expected > nearest + 1e-4;
      EXPECT_NEAR(
          static_cast<double>(detail::class_similarity(own.view, similarities.data(), 0.0f)),
          expected, 2e-5)
          << count << " references of " << dimensions << " dimensions";
      EXPECT_EQ(detail::class_similarity(own.view, similarities.data(), 1.5f), 1.5f);
    }
  }
  EXPECT_GE(between, 5) << "interpolation was hardly needed: the test shows little";
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Readout, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param.name; });

}  // namespace
}  // namespace ocellus::test
