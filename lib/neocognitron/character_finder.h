// CharacterFinder: finds the characters in a camera frame.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/character_choice.h"
#include "neocognitron/character_lattice.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_levels.h"
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
  /// Lays out the arrays of InkComponents.
  static InkArrays layout_ink(const CharacterFinderConfig& config, LayoutBuilder& memory) noexcept;

  /// The steps of a frame, in this order. The frame must have the size of the configuration. It is
  /// not used after the last step. The halves of a step may be worked on at the same time.
  static constexpr int kHalves = 2;
  void measure(const GrayPlane& plane, int half) noexcept;
  void set_levels() noexcept;
  void extract(const GrayPlane& plane, int half) noexcept;
  void find() noexcept;

  /// In place of these steps, for a device that has written the components: `counts` and `light`
  /// are what it found (InkComponents::take, InkLevels::ink_is_light).
  void find(const InkCounts& counts, bool light) noexcept;

  /// By clusters in reading order: lines from top to bottom, clusters from left to right.
  std::span<const CharacterCandidate> candidates() const noexcept { return lattice_.candidates(); }
  /// The pixels of a candidate, by rows and from left to right. Pixels of other characters in its
  /// box are not among them.
  std::span<const InkRun> ink(int candidate) const noexcept { return lattice_.ink(candidate); }
  /// The frame has more ink or more candidates than a list can hold. Characters may be missing or
  /// incomplete.
  bool truncated() const noexcept { return truncated_; }
  /// The components of the last frame.
  const InkComponents& components() const noexcept { return components_; }
  /// The gray levels of the last frame.
  const InkLevels& levels() const noexcept { return levels_; }

 private:
  static constexpr int kMaxParts = 512;
  static constexpr int kMaxTextLines = 48;  // beside which marks are looked for

  struct Part {
    InkComponent box;
    int left;     // of the part alone, by which parts are sorted
    int line;     // a member's line is named by one of its parts
    int group;    // the part into which this one was joined, or its own index
    bool member;  // of a line: a character or several
    bool form;    // the frame of a field of a form
  };
  struct Line {
    float height;  // of a character
    float slope;
    float contrast;
    int members;
    float left;  // centers of the first and the last member
    float right;
    float x;
    float y;
  };
  /// Ink near the sides of a part: pixels above and below, rows on the left and on the right.
  struct Sides {
    int top;
    int bottom;
    int left;
    int right;
  };
  void find_in_components() noexcept;
  void collect_parts() noexcept;
  bool contains_member(int position) const noexcept;
  void drop_frames_of_forms() noexcept;
  void link_lines() noexcept;
  void sort_by_line() noexcept;
  void measure_lines() noexcept;
  void drop_faint_members() noexcept;
  void drop_marks() noexcept;
  int longest_lines(std::array<int, kMaxTextLines>& lines) const noexcept;
  bool is_mark(const InkComponent& box, float line_height) const noexcept;
  bool belong_together(const InkComponent& a, const InkComponent& b,
                       float line_height) const noexcept;
  void join_parts() noexcept;
  void gather_runs() noexcept;
  void measure_slants() noexcept;
  void order() noexcept;
  void make_candidates() noexcept;
  int line_of(int part) noexcept;
  int group_of(int part) const noexcept;

  CharacterFinderConfig config_;
  InkLevels levels_;
  InkComponents components_;
  CharacterLattice lattice_;
  Part* parts_;
  int* by_left_;         // indices of parts, sorted by their left edges
  int* groups_;          // parts that stand for a group, in reading order
  int* by_line_;         // indices of parts, sorted by their lines
  int* line_begin_;      // in by_line_, for each part
  Line* lines_;          // for each part that names a line
  StrokeSlant* slants_;  // for each line
  Sides* sides_;         // of each part
  float* heights_;       // work memory for quartiles
  float* contrasts_;
  int* run_begin_;         // of each part
  std::int16_t* part_of_;  // for each component, -1: none
  InkRun* runs_;
  int part_count_ = 0;
  int group_count_ = 0;
  bool light_ = false;
  bool truncated_ = false;
};

}  // namespace ocellus::detail
