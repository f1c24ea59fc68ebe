// The programs of bench/papers/core/paper_examples.h in double precision.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace ocellus::test {

inline std::vector<float> random_values(std::size_t count, float most, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-most, most);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

/// Sum, and sum of the absolute values.
struct ReferenceSum {
  double sum = 0.0;
  double absolute = 0.0;
};
inline ReferenceSum reference_sum(std::span<const float> values) {
  ReferenceSum result;
  for (const float value : values) {
    result.sum += static_cast<double>(value);
    result.absolute += std::abs(static_cast<double>(value));
  }
  return result;
}

/// `sizes`: inputs, then neurons of each layer. `weights`: of each layer, [neuron][input].
inline std::vector<double> reference_net(std::span<const int> sizes,
                                         const std::vector<std::vector<float>>& weights,
                                         const std::vector<std::vector<float>>& bias,
                                         std::span<const float> input) {
  std::vector<double> values(input.begin(), input.end());
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    std::vector<double> next;
    for (std::size_t j = 0; j < static_cast<std::size_t>(sizes[l + 1]); ++j) {
      double sum = static_cast<double>(bias[l][j]);
      for (std::size_t i = 0; i < values.size(); ++i)
        sum += static_cast<double>(weights[l][j * values.size() + i]) * values[i];
      next.push_back(std::tanh(sum));
    }
    values = next;
  }
  return values;
}

}  // namespace ocellus::test
