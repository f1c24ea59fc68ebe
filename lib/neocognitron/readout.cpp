#include "neocognitron/readout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::detail {

float interpolation_scale(float product) noexcept {
  // Nearer vectors leave too few digits of the difference.
  constexpr float kLeast = 1e-3f;
  const float rest = 1.0f - product * product;
  return rest > kLeast ? 1.0f / std::sqrt(rest) : 0.0f;
}

float class_similarity(const ClassReferences& references, const float* similarities,
                       float best) noexcept {
  const auto n = static_cast<std::size_t>(references.count);
  for (std::size_t i = 0; i < n; ++i) best = std::max(best, similarities[i]);
  float squared = best * best;
  for (std::size_t i = 0; i < n; ++i) {
    const float si = similarities[i];
    // With si as the larger one of the two, (6) is at most si sqrt(2 / (1 + g)).
    if (2.0f * si * si <= squared * (1.0f + references.smallest[i])) continue;
    const std::size_t row = i * static_cast<std::size_t>(references.stride);
    const float* const products = references.products + row;
    const float* const scales = references.scales + row;
    float largest = 0.0f;
    for (std::size_t j = 0; j < n; ++j) {
      const float sj = similarities[j];
      const float rest = sj - si * products[j];
      // (6) as si^2 + ((sj - si g) / sqrt(1 - g^2))^2. Where it does not hold, the term is 0.
      const float term = rest > 0.0f && sj <= si ? rest * scales[j] : 0.0f;
      largest = std::max(largest, term);
    }
    squared = std::max(squared, si * si + largest * largest);
  }
  return std::max(best, std::sqrt(squared));
}

}  // namespace ocellus::detail
