#include "neocognitron/character_choice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace ocellus::detail {
namespace {

/// Without scores, a segment that belongs to no candidate costs more than any fit.
constexpr float kNeverDropped = 1e6f;

/// The logarithm of the density of a normal distribution in two dimensions, not below -20: ink of
/// any size has some likelihood.
float log_likelihood(const CharacterSize& of, float width, float height) noexcept {
  const float x = (width - of.width) / of.width_deviation;
  const float y = (height - of.height) / of.height_deviation;
  const float rest = 1.0f - of.correlation * of.correlation;
  const float squared = (x * x - 2.0f * of.correlation * x * y + y * y) / rest;
  const float scale =
      2.0f * std::numbers::pi_v<float> * of.width_deviation * of.height_deviation * std::sqrt(rest);
  return std::max(-0.5f * squared - std::log(scale), -20.0f);
}

float value_of(const CharacterCandidate& candidate, const CandidateScore& score,
               const CharacterOdds& odds, std::span<const CharacterSize> sizes) noexcept {
  const auto inputs = odds_inputs(candidate, score, sizes);
  float sum = 0.0f;
  for (std::size_t i = 0; i < inputs.size(); ++i) sum += odds.weights[i] * inputs[i];
  // The logarithm of 1 / (1 + exp(-sum)), without overflow.
  return std::min(sum, 0.0f) - std::log1p(std::exp(-std::abs(sum)));
}

/// Chooses in one cluster and appends the result. `candidates` begins with candidate `first` of the
/// frame.
void choose_in_cluster(std::span<const CharacterCandidate> candidates, std::size_t first,
                       std::span<const float> values, float dropped,
                       CharacterChoice& choice) noexcept {
  constexpr int kNone = -1;
  int segments = 0;
  for (const CharacterCandidate& candidate : candidates)
    segments = std::max(segments, candidate.last_segment + 1);
  segments = std::min(segments, kMaxClusterSegments);
  // best[s]: the largest value of the first s segments; by[s]: the candidate that ends there.
  std::array<float, kMaxClusterSegments + 1> best{};
  std::array<int, kMaxClusterSegments + 1> by{};
  for (std::size_t end = 1; end <= static_cast<std::size_t>(segments); ++end) {
    best[end] = best[end - 1] - dropped;
    by[end] = kNone;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (candidates[c].last_segment + 1 != static_cast<int>(end)) continue;
      const float value = best[static_cast<std::size_t>(candidates[c].first_segment)] + values[c];
      if (!(value > best[end])) continue;  // not a number: no character
      best[end] = value;
      by[end] = static_cast<int>(c);
    }
  }
  std::array<std::uint8_t, kMaxClusterSegments> backwards{};
  std::size_t count = 0;
  for (int end = segments; end > 0;) {
    const int c = by[static_cast<std::size_t>(end)];
    if (c == kNone) {
      --end;
      continue;
    }
    backwards[count++] = static_cast<std::uint8_t>(first + static_cast<std::size_t>(c));
    end = candidates[static_cast<std::size_t>(c)].first_segment;
  }
  while (count > 0) {
    if (choice.count == CharacterChoice::kMaxCharacters) {
      choice.more = true;
      return;
    }
    choice.candidates[static_cast<std::size_t>(choice.count++)] = backwards[--count];
  }
}

}  // namespace

std::array<float, kOddsInputs> odds_inputs(const CharacterCandidate& candidate,
                                           const CandidateScore& score,
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

void choose_characters(std::span<const CharacterCandidate> candidates,
                       std::span<const CandidateScore> scores, const CharacterOdds& odds,
                       std::span<const CharacterSize> sizes, CharacterChoice& choice) noexcept {
  choice.count = 0;
  choice.more = false;
  const std::size_t count = std::min<std::size_t>(candidates.size(), kMaxCandidates);
  std::array<float, kMaxCandidates> values{};
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        scores.empty() ? candidates[i].fit : value_of(candidates[i], scores[i], odds, sizes);
  const float dropped = scores.empty() ? kNeverDropped : odds.dropped;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && candidates[end].cluster == candidates[begin].cluster) ++end;
    choose_in_cluster(candidates.subspan(begin, end - begin), begin,
                      std::span<const float>(values).subspan(begin, end - begin), dropped, choice);
    begin = end;
  }
}

}  // namespace ocellus::detail
