// Which candidates of a frame are its characters.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "neocognitron/team.h"
#include "ocellus/frame.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

/// Ink that may be a character. Where a group of ink may be one character or several, the group is
/// a cluster of segments from left to right, and each run of neighboring segments that has a
/// plausible size is a candidate. A cluster of one segment has one candidate.
struct CharacterCandidate {
  Rect box;
  int line = 0;           ///< lines are counted from the top
  bool light = false;     ///< the ink is lighter than its background
  int cluster = 0;        ///< clusters are counted from 0, in reading order
  int first_segment = 0;  ///< of the cluster
  int last_segment = 0;
  float fit = 0.0f;  ///< of the shape: 0 is best, cuts through ink and odd widths are below
  // In units of the height of the line's characters.
  float width = 0.6f;
  float height = 1.0f;
  float level = 0.0f;  ///< distance of the middle of the box from the middle of the line
};

/// What a recognizer says of a candidate.
struct CandidateScore {
  int label = -1;           ///< the best class of characters
  float similarity = 0.0f;  ///< to it, 0 to 1
  float margin = 0.0f;      ///< over the second one
  float other = 0.0f;       ///< similarity to what is no character
};

/// The logarithm of the density of a normal distribution in two dimensions, not below -20: ink of
/// any size has some likelihood.
OCELLUS_TEAM_FUNCTION inline float log_likelihood(const CharacterSize& of, float width,
                                                  float height) noexcept {
  const float x = (width - of.width) / of.width_deviation;
  const float y = (height - of.height) / of.height_deviation;
  const float rest = 1.0f - of.correlation * of.correlation;
  const float squared = (x * x - 2.0f * of.correlation * x * y + y * y) / rest;
  const float scale =
      2.0f * std::numbers::pi_v<float> * of.width_deviation * of.height_deviation * std::sqrt(rest);
  const float likelihood = -0.5f * squared - std::log(scale);
  return likelihood < -20.0f ? -20.0f : likelihood;
}

/// What speaks for a candidate. `sizes`: of each class; empty: unknown.
OCELLUS_TEAM_FUNCTION inline std::array<float, kOddsInputs> odds_inputs(
    const CharacterCandidate& candidate, const CandidateScore& score,
    std::span<const CharacterSize> sizes) noexcept {
  constexpr float kMostMargin = 0.2f;
  constexpr float kLow = 0.58f;
  constexpr float kHigh = 1.15f;
  constexpr float kWide = 0.9f;
  constexpr float kMostOther = 0.15f;
  const float other = score.other - score.similarity;
  std::array<float, kOddsInputs> inputs{};
  inputs[kOddsBias] = 1.0f;
  inputs[kOddsSimilarity] = score.similarity;
  inputs[kOddsMargin] = std::min(score.margin, kMostMargin);
  inputs[kOddsFit] = candidate.fit;
  inputs[kOddsLow] = std::max(0.0f, kLow - candidate.height);
  inputs[kOddsHigh] = std::max(0.0f, candidate.height - kHigh);
  inputs[kOddsWide] = std::max(0.0f, candidate.width - kWide);
  inputs[kOddsLevel] = candidate.level;
  if (score.label >= 0 && static_cast<std::size_t>(score.label) < sizes.size()) {
    inputs[kOddsSize] = log_likelihood(sizes[static_cast<std::size_t>(score.label)],
                                       candidate.width, candidate.height);
  }
  inputs[kOddsOther] = std::clamp(other, -kMostOther, kMostOther);
  inputs[kOddsAboveOther] = std::max(0.0f, -other);
  return inputs;
}

/// The logarithm of the probability that a candidate is a character.
OCELLUS_TEAM_FUNCTION inline float value_of(const CharacterCandidate& candidate,
                                            const CandidateScore& score, const CharacterOdds& odds,
                                            std::span<const CharacterSize> sizes) noexcept {
  const auto inputs = odds_inputs(candidate, score, sizes);
  float sum = 0.0f;
  for (std::size_t i = 0; i < inputs.size(); ++i) sum += odds.weights[i] * inputs[i];
  // The logarithm of 1 / (1 + exp(-sum)), without overflow.
  return std::min(sum, 0.0f) - std::log1p(std::exp(-std::abs(sum)));
}

inline constexpr int kMaxCandidates = 128;
inline constexpr int kMaxClusterSegments = 12;

/// Chooses among the candidates of a cluster. Calls use(index) for the chosen ones, from left to
/// right. `dropped`: what a segment costs that belongs to no candidate.
template <typename Use>
OCELLUS_TEAM_FUNCTION void choose_in_cluster(const CharacterCandidate* candidates, int count,
                                             const float* values, float dropped,
                                             const Use& use) noexcept {
  constexpr int kNone = -1;
  int segments = 0;
  for (int c = 0; c < count; ++c) segments = std::max(segments, candidates[c].last_segment + 1);
  segments = std::min(segments, +kMaxClusterSegments);
  // best[s]: the largest value of the first s segments; by[s]: the candidate that ends there.
  float best[kMaxClusterSegments + 1] = {};
  int by[kMaxClusterSegments + 1] = {};
  for (int end = 1; end <= segments; ++end) {
    best[end] = best[end - 1] - dropped;
    by[end] = kNone;
    for (int c = 0; c < count; ++c) {
      if (candidates[c].last_segment + 1 != end) continue;
      const float value = best[candidates[c].first_segment] + values[c];
      if (!(value > best[end])) continue;  // not a number: no character
      best[end] = value;
      by[end] = c;
    }
  }
  int backwards[kMaxClusterSegments];
  int chosen = 0;
  for (int end = segments; end > 0;) {
    const int c = by[end];
    end = c == kNone ? end - 1 : candidates[c].first_segment;
    if (c != kNone) backwards[chosen++] = c;
  }
  while (chosen > 0) use(backwards[--chosen]);
}

struct CharacterChoice {
  static constexpr int kMaxCharacters = 64;

  std::array<std::uint8_t, kMaxCharacters> candidates{};  ///< their indices, in reading order
  int count = 0;
  bool more = false;  ///< there were more than kMaxCharacters; the first ones are kept

  std::span<const std::uint8_t> chosen() const& noexcept {
    return {candidates.data(), static_cast<std::size_t>(count)};
  }
  std::span<const std::uint8_t> chosen() const&& = delete;  ///< it would outlive its object
};

/// Chooses among at most kMaxCandidates candidates, which are ordered by cluster. The value of a
/// candidate is the logarithm of the probability that it is a character. No segment belongs to two
/// chosen candidates. Of all such choices in a cluster, the one with the largest sum of values is
/// taken.
///
/// With scores, one for each candidate, segments may be left out. Without scores, `scores` is
/// empty, the value is the fit alone, and every segment belongs to a chosen candidate where the
/// candidates permit it.
void choose_characters(std::span<const CharacterCandidate> candidates,
                       std::span<const CandidateScore> scores, const CharacterOdds& odds,
                       std::span<const CharacterSize> sizes, CharacterChoice& choice) noexcept;

}  // namespace ocellus::detail
