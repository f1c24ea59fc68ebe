// The answer of the network, for the host and for devices.
#pragma once

#include <algorithm>

namespace ocellus::detail {

struct BestClass {
  int label = -1;  ///< -1: all similarities are 0
  float similarity = 0.0f;
  float margin = 0.0f;  ///< over the second class
  float other = 0.0f;   ///< similarity to what is no character

  /// Over everything else: below 0 if the image is no character.
  constexpr float lead() const noexcept { return std::min(margin, similarity - other); }
};

/// `scores`: the similarity to each class of characters, and with `has_other` the one to what is no
/// character behind them. Among equals, the first one is the best.
constexpr BestClass best_class(const float* scores, int classes, bool has_other) noexcept {
  BestClass best;
  float second = 0.0f;
  for (int c = 0; c < classes; ++c) {
    if (scores[c] > best.similarity) {
      second = best.similarity;
      best.similarity = scores[c];
      best.label = c;
    } else {
      second = std::max(second, scores[c]);
    }
  }
  best.margin = best.similarity - second;
  if (has_other) best.other = scores[classes];
  return best;
}

}  // namespace ocellus::detail
