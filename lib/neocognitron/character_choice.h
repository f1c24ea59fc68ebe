// Which candidates of a frame are its characters.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ocellus/frame.h"

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
  float fit = 0.0f;     ///< of the shape: 0 is best, cuts through ink and odd widths are below
  float height = 1.0f;  ///< in units of the height of the line's characters
};

/// What a recognizer says of a candidate.
struct CandidateScore {
  float similarity = 0.0f;  ///< of the best class, 0 to 1
  float margin = 0.0f;      ///< over the second best class
};

/// The value of a candidate is the logarithm of the probability that it is a character, a logistic
/// function of a weighted sum.
struct ChoiceWeights {
  float bias = -2.4f;
  float similarity = 5.5f;
  float margin = 8.3f;  ///< for the margin, at most `most_margin`
  float most_margin = 0.2f;
  float fit = 1.1f;
  float low = 8.1f;  ///< for what is lacking of `least_height`
  float least_height = 0.58f;
  /// What a segment costs that belongs to no chosen candidate.
  float dropped = 3.6f;
};

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

/// Chooses among at most kMaxCandidates candidates, which are ordered by cluster. No segment
/// belongs to two chosen candidates. Of all such choices in a cluster, the one with the largest sum
/// of values is taken.
///
/// With scores, one for each candidate, segments may be left out. Without scores, `scores` is
/// empty, the value is the fit alone, and every segment belongs to a chosen candidate where the
/// candidates permit it.
void choose_characters(std::span<const CharacterCandidate> candidates,
                       std::span<const CandidateScore> scores, const ChoiceWeights& weights,
                       CharacterChoice& choice) noexcept;

}  // namespace ocellus::detail
