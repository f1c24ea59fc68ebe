// CharacterFinder: finds the characters in a camera frame.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/candidate_search.h"
#include "neocognitron/character_choice.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_levels.h"
#include "neocognitron/part_search.h"
#include "ocellus/neocognitron.h"

namespace ocellus::detail {

struct CharacterFinderConfig {
  ImageSize size;  ///< of the frames, at most kMaxImageSide
  CharacterInk ink = CharacterInk::kAuto;
  /// Heights of characters in pixels. 0: the smallest is 1/48 of the shorter side of the frame, at
  /// least 8; the largest is the height of the frame.
  int min_height = 0;
  int max_height = 0;
  bool split_touching = true;
  bool group_lines = true;    ///< false: one line, ordered from left to right
  bool drop_outline = false;  ///< the frame is a field, which may have a printed outline
};

/// Finds the characters of a frame, as at most kMaxCandidates candidates among which
/// `choose_characters` chooses. The steps: ink from a local threshold, connected components, lines
/// of text, joining of the parts of a character, candidates. Dots, dashes, ruled lines and frames
/// of forms are left out. All characters of a frame have the same polarity.
///
/// All memory is taken by the constructor. The time of `find` is bounded, because all lists have a
/// fixed capacity. The result depends on the frame alone.
class CharacterFinder {
 public:
  CharacterFinder(const CharacterFinderConfig& config, LayoutBuilder& memory) noexcept;

  /// The blocks of InkLevels.
  static InkGrid grid_of(const CharacterFinderConfig& config) noexcept;
  /// Lays out the arrays of InkSearch and of PartSearch.
  static InkArrays layout_ink(const CharacterFinderConfig& config, LayoutBuilder& memory) noexcept;
  static PartArrays layout_parts(const CharacterFinderConfig& config, const InkArrays& ink,
                                 LayoutBuilder& memory) noexcept;

  /// The steps of a frame, in this order. The frame must have the size of the configuration. It is
  /// not used after the last step. The halves of a step may be worked on at the same time.
  static constexpr int kHalves = 2;
  void measure(const GrayPlane& plane, int half) noexcept;
  void set_levels() noexcept;
  void extract(const GrayPlane& plane, int half) noexcept;
  void find() noexcept;

  /// By clusters in reading order: lines from top to bottom, clusters from left to right.
  std::span<const CharacterCandidate> candidates() const noexcept {
    return {lattice_.candidates, static_cast<std::size_t>(counts_.candidates)};
  }
  /// The pixels of a candidate, by rows and from left to right. Pixels of other characters in its
  /// box are not among them.
  std::span<const InkRun> ink(int candidate) const noexcept {
    return {lattice_.inks[candidate].runs,
            static_cast<std::size_t>(lattice_.inks[candidate].count)};
  }
  /// The frame has more ink or more candidates than a list can hold. Characters may be missing or
  /// incomplete.
  bool truncated() const noexcept { return counts_.truncated; }
  /// The groups of the last frame.
  const PartArrays& parts() const noexcept { return parts_; }
  const PartCounts& part_counts() const noexcept { return part_counts_; }
  /// The components of the last frame.
  const InkComponents& components() const noexcept { return components_; }
  /// The gray levels of the last frame.
  const InkLevels& levels() const noexcept { return levels_; }

 private:
  CharacterFinderConfig config_;
  InkLevels levels_;
  InkComponents components_;
  PartArrays parts_;
  PartCounts part_counts_;
  LatticeArrays lattice_;
  SplitArrays split_;
  CandidateCounts counts_;
  bool light_ = false;
};

}  // namespace ocellus::detail
