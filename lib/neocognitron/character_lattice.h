// CharacterLattice: the candidates of a frame, and the pixels of each of them. InkSplitter: cuts a
// component that holds several touching characters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/character_choice.h"
#include "neocognitron/part_search.h"

namespace ocellus::detail {

// ---- cuts of ink that holds several touching characters

/// Weights of the costs of a split. A stroke that a cut crosses costs its thickness, in units of
/// the mean stroke of the component. The width of a piece is in units of the height of a character.
struct SplitWeights {
  float crossing = 1.75f;   ///< for a stroke that is crossed
  float cut = 0.17f;        ///< for each cut
  float widest = 0.82f;     ///< wider pieces cost
  float wide = 7.1f;        ///< for the square of the excess
  float narrowest = 0.33f;  ///< narrower pieces cost
  float narrow = 19.5f;     ///< for the square of what is lacking
  float lowest = 0.68f;     ///< lower pieces cost
  float low = 12.0f;        ///< for the square of what is lacking
  float shortest = 0.4f;    ///< still lower pieces are not permitted
  float sideways = 0.082f;  ///< for a step to the side, in cells
};

/// Cuts a component along paths from top to bottom that cross little ink. The component is drawn
/// into a grid of limited size, so the time is bounded. Rows are shifted by the slant of the
/// strokes, so that the widths of pieces do not depend on it.
///
/// For each cell, the cost of the cheapest path to the top and to the bottom is computed. Paths
/// through the local minima of the middle row are the candidates. The subset of candidates with the
/// least cost of crossings and of widths of pieces is chosen. It may be empty.
class InkSplitter {
 public:
  static constexpr int kRows = 64;
  static constexpr int kColumns = 512;
  static constexpr int kMaxSegments = 12;
  static constexpr SplitWeights kWeights{};

  explicit InkSplitter(LayoutBuilder& memory) noexcept;

  /// A measure of the time of `plan` and of drawing the segments.
  static int cost(std::span<const InkRun> runs, const InkComponent& box) noexcept {
    return std::min(box.width() * box.height(), kRows * kColumns) +
           kRunCost * static_cast<int>(runs.size());
  }
  /// Plans the cuts of a component with the given runs and box for characters of `height` pixels.
  /// Returns the number of segments between the cuts, at most kMaxSegments. Beside the cuts of the
  /// best split, there are others that cross little ink. It is 1 if no cut is plausible.
  int plan(std::span<const InkRun> runs, const InkComponent& box, float height,
           float slant) noexcept;
  /// The column of cut `cut` (of segments - 1) at row y of the component.
  int cut_at(int cut, int y) const noexcept {
    const std::uint16_t* path = paths_ + static_cast<std::ptrdiff_t>(cuts_[cut]) * kRows;
    return left_ + path[(y - top_) / cell_] * cell_ - shift(y);
  }
  /// Mean thickness of the strokes of the component, in pixels.
  float stroke_width() const noexcept { return stroke_ * static_cast<float>(cell_); }
  /// How well the segments `first` to `last` fit one character: 0 is best.
  float fit(int first, int last) const noexcept;
  /// The segments `first` to `last` are a piece of the best split.
  bool planned(int first, int last) const noexcept;

 private:
  static constexpr int kRunCost = 16;  // in cells
  static constexpr int kCandidates = 40;
  static constexpr int kSlantUnit = 8;  // a slant of 1 to the right is 45 degrees
  static constexpr int kMostSlant = 8;

  /// Pixels by which row y is moved to the right, so that strokes become upright.
  int shift(int y) const noexcept {
    return slant_ >= 0 ? slant_ * (y - top_) / kSlantUnit
                       : -slant_ * (bottom_ - 1 - y) / kSlantUnit;
  }
  void draw(std::span<const InkRun> runs) noexcept;
  float stroke() const noexcept;
  void sweep() noexcept;
  void find_candidates(float largest_cost, int least_distance) noexcept;
  void trace(int x, std::uint16_t* path) const noexcept;
  float piece_cost(int from, int to) const noexcept;
  float cut_cost(int candidate) const noexcept;
  void add_cuts(int least_distance) noexcept;
  int before(int segment) const noexcept { return segment == 0 ? -1 : cuts_[segment - 1]; }
  int behind(int segment) const noexcept {
    return segment + 1 == segments_ ? candidate_count_ : cuts_[segment];
  }
  int boundary(int candidate, int y) const noexcept;
  float mean_boundary(int candidate) const noexcept;

  int left_ = 0;
  int top_ = 0;
  int bottom_ = 0;
  int slant_ = 0;
  int cell_ = 1;  // side of a cell in pixels
  int columns_ = 0;
  int rows_ = 0;
  int candidate_count_ = 0;
  int segments_ = 1;
  float height_ = 1.0f;  // of a character, in cells
  float stroke_ = 1.0f;  // thickness, in cells
  float unit_ = 1.0f;    // cost of a stroke
  std::array<int, kMaxSegments> cuts_{};
  std::array<bool, kMaxSegments> planned_{};
  std::array<float, kCandidates> candidate_costs_{};
  std::uint8_t* ink_;        // share of ink of a cell, 0 to kFull
  std::uint16_t* sums_;      // of the ink to the left of a cell, in its row
  std::uint16_t* from_top_;  // cost of the cheapest path, the cell included
  std::uint16_t* to_bottom_;
  std::uint16_t* paths_;  // column of each row, for each candidate
};

// ---- candidates

/// A group with the ink of its pixels.
struct InkGroup {
  std::span<const InkRun> ink;  ///< by rows and from left to right; it must outlive the candidates
  InkComponent box;
  int line = 0;
  float line_height = 0.0f;  ///< of the characters of its line
  float line_x = 0.0f;       ///< a point of the middle of its line
  float line_y = 0.0f;
  float line_slope = 0.0f;
  float slant = 0.0f;  ///< of the strokes of its line
};

/// Makes candidates of groups. A wide group is cut into segments. Neighboring groups that are near
/// each other and together not wider than a character are segments of one cluster, because a
/// character may be broken. Any other group is a cluster of its own with one candidate.
///
/// All memory is taken by the constructor. What does not fit is left out, and `truncated` says so.
class CharacterLattice {
 public:
  /// `run_capacity` is the largest number of runs of all groups.
  CharacterLattice(int run_capacity, LayoutBuilder& memory) noexcept;

  /// Begins a frame.
  void clear(bool light) noexcept;
  /// Adds the groups of a frame in reading order. With `split`, wide groups are cut.
  void add(const InkGroup& group, bool split) noexcept;

  std::span<const CharacterCandidate> candidates() const noexcept {
    return {candidates_.data(), static_cast<std::size_t>(count_)};
  }
  std::span<const InkRun> ink(int candidate) const noexcept {
    return ink_[static_cast<std::size_t>(candidate)];
  }
  bool truncated() const noexcept { return truncated_; }

 private:
  static constexpr int kMostJoined = 3;  // groups of a candidate

  bool joins(const InkGroup& group) const noexcept;
  void add_cut(const InkGroup& group, int segments) noexcept;
  void add_whole(const InkGroup& group) noexcept;
  void add_candidate(const InkGroup& group, int first, int last, float fit,
                     std::span<const InkRun> ink) noexcept;

  InkSplitter splitter_;
  InkRun* runs_;  // of candidates that are not a group
  int run_capacity_;
  int run_end_ = 0;
  int cost_ = 0;  // of the cuts so far
  int count_ = 0;
  int cluster_ = -1;
  int segment_ = 0;  // of the last group in its cluster
  bool light_ = false;
  bool open_ = false;  // the next group may belong to the last cluster
  bool truncated_ = false;
  std::array<InkGroup, kMostJoined> last_{};  // groups of the last cluster, the newest one first
  std::array<CharacterCandidate, kMaxCandidates> candidates_{};
  std::array<std::span<const InkRun>, kMaxCandidates> ink_{};
};

}  // namespace ocellus::detail
