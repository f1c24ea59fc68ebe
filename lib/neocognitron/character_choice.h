// Which candidates of a frame are its characters.
#pragma once

#include <array>
#include <cstdint>
#include <span>

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

/// What speaks for a candidate. `sizes`: of each class; empty: unknown.
std::array<float, kOddsInputs> odds_inputs(const CharacterCandidate& candidate,
                                           const CandidateScore& score,
                                           std::span<const CharacterSize> sizes) noexcept;

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

inline constexpr int kMaxCandidates = 128;
inline constexpr int kMaxClusterSegments = 12;

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
