#include "neocognitron/character_choice.h"

#include <algorithm>
#include <cstddef>

namespace ocellus::detail {
namespace {

/// Without scores, a segment that belongs to no candidate costs more than any fit.
constexpr float kNeverDropped = 1e6f;

}  // namespace

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
    choose_in_cluster(candidates.data() + begin, static_cast<int>(end - begin),
                      values.data() + begin, dropped, [&](int index) {
                        choice.more =
                            choice.more || choice.count == CharacterChoice::kMaxCharacters;
                        if (choice.more) return;
                        choice.candidates[static_cast<std::size_t>(choice.count++)] =
                            static_cast<std::uint8_t>(begin + static_cast<std::size_t>(index));
                      });
    begin = end;
  }
}

}  // namespace ocellus::detail
