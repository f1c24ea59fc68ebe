// Filters for tests of Restoration.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>

#include "ocellus/restoration_filter.h"

namespace ocellus::test {

/// A filter with random coefficients. The magnitudes of b sum up to `feedback`, so that it is
/// stable for less than 1. All quadrants differ.
inline RestorationFilter random_filter(int support, double feedback, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  RestorationFilter filter;
  filter.support = support;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    double sum = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(support * support); ++i) {
      filter.feedforward[q][i] = value(random) / static_cast<float>(support);
      filter.feedback[q][i] = i == 0 ? 0.0f : value(random);
      sum += std::fabs(static_cast<double>(filter.feedback[q][i]));
    }
    for (float& b : filter.feedback[q])
      if (sum > 0.0) b *= static_cast<float>(feedback / sum);
  }
  return filter;
}

/// A filter with positive feedback that sums up to `feedback`, so that its response is long for its
/// support. The magnitudes decrease by the factor `decay` from row to row and column to column.
inline RestorationFilter lasting_filter(int support, double feedback, double decay) {
  RestorationFilter filter = random_filter(support, feedback, 7);
  const auto m = static_cast<std::size_t>(support);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    double sum = 0.0;
    for (std::size_t i = 0; i < m * m; ++i) {
      const auto weight = static_cast<float>(std::pow(decay, static_cast<double>(i / m + i % m)));
      filter.feedforward[q][i] *= weight;
      filter.feedback[q][i] = std::fabs(filter.feedback[q][i]) * weight;
      sum += static_cast<double>(filter.feedback[q][i]);
    }
    for (float& b : filter.feedback[q])
      if (sum > 0.0) b *= static_cast<float>(feedback / sum);
  }
  return filter;
}

}  // namespace ocellus::test
