#include "neocognitron/character_choice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::detail {
namespace {

/// Without scores, a segment that belongs to no candidate costs more than any fit.
constexpr float kNeverDropped = 1e6f;

float value_of(const CharacterCandidate& candidate, const CandidateScore& score,
               const ChoiceWeights& weights) noexcept {
  const float odds = weights.bias + weights.similarity * score.similarity +
                     weights.margin * std::min(score.margin, weights.most_margin) +
                     weights.fit * candidate.fit -
                     weights.low * std::max(0.0f, weights.least_height - candidate.height);
  // The logarithm of 1 / (1 + exp(-odds)), without overflow.
  return std::min(odds, 0.0f) - std::log1p(std::exp(-std::abs(odds)));
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

void choose_characters(std::span<const CharacterCandidate> candidates,
                       std::span<const CandidateScore> scores, const ChoiceWeights& weights,
                       CharacterChoice& choice) noexcept {
  choice.count = 0;
  choice.more = false;
  const std::size_t count = std::min<std::size_t>(candidates.size(), kMaxCandidates);
  std::array<float, kMaxCandidates> values{};
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = scores.empty() ? candidates[i].fit : value_of(candidates[i], scores[i], weights);
  }
  const float dropped = scores.empty() ? kNeverDropped : weights.dropped;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && candidates[end].cluster == candidates[begin].cluster) ++end;
    choose_in_cluster(candidates.subspan(begin, end - begin), begin,
                      std::span<const float>(values).subspan(begin, end - begin), dropped, choice);
    begin = end;
  }
}

}  // namespace ocellus::detail
