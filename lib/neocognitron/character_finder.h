// CharacterFinder: finds the characters in a camera frame.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_levels.h"
#include "neocognitron/ink_splitter.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

enum class InkPolarity : std::uint8_t {
  kAuto,  ///< decided for each frame
  kDarkOnLight,
  kLightOnDark,
};

struct CharacterFinderConfig {
  ImageSize size;  ///< of the frames, at most kMaxImageSide
  InkPolarity polarity = InkPolarity::kAuto;
  /// Heights of characters in pixels. 0: the smallest is 1/48 of the shorter side of the frame, at
  /// least 8; the largest is the height of the frame.
  int min_height = 0;
  int max_height = 0;
  bool split_touching = true;
  bool group_lines = true;  ///< false: one line, ordered from left to right
};

struct FoundCharacter {
  Rect box;
  int line = 0;        ///< lines are counted from the top
  bool light = false;  ///< the character is lighter than its background
};

/// Finds up to kMaxCharacters characters. The steps: ink from a local threshold, connected
/// components, lines of text, joining of the parts of a character, splitting of touching
/// characters. Dots, dashes, ruled lines and frames of forms are left out. All characters of a
/// frame have the same polarity.
///
/// All memory is taken by the constructor. The time of `find` is bounded, because all lists have a
/// fixed capacity. The result depends on the frame alone.
class CharacterFinder {
 public:
  static constexpr int kMaxCharacters = 64;

  CharacterFinder(const CharacterFinderConfig& config, LayoutBuilder& memory) noexcept;

  /// Finds the characters of a frame, which must have the size of the configuration. The frame is
  /// not used after the call.
  void find(const GrayPlane& plane) noexcept;

  /// In reading order: lines from top to bottom, characters from left to right.
  std::span<const FoundCharacter> characters() const noexcept {
    return {found_.data(), static_cast<std::size_t>(found_count_)};
  }
  /// The pixels of a character, by rows and from left to right. Pixels of other characters in its
  /// box are not among them.
  std::span<const InkRun> ink(int character) const noexcept { return ink_[character]; }
  /// The frame has more characters than kMaxCharacters. The first ones in reading order are kept.
  bool more() const noexcept { return more_; }
  /// The frame has more ink than a list can hold. Characters may be missing or incomplete.
  bool truncated() const noexcept { return truncated_; }
  /// The gray levels of the last frame.
  const InkLevels& levels() const noexcept { return levels_; }

 private:
  static constexpr int kMaxParts = 512;
  static constexpr int kMaxPieces = 1024;

  struct Part {
    InkComponent box;
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
  struct Piece {
    InkComponent box;
    int line;
    int first;  // of its runs
    int count;
  };

  void collect_parts() noexcept;
  bool contains_member(int part) const noexcept;
  void drop_frames_of_forms() noexcept;
  void link_lines() noexcept;
  void measure_lines() noexcept;
  void drop_faint_members() noexcept;
  void drop_marks() noexcept;
  bool is_mark(const InkComponent& box, float line_height) const noexcept;
  bool belong_together(const InkComponent& a, const InkComponent& b,
                       float line_height) const noexcept;
  void join_parts() noexcept;
  void gather_runs() noexcept;
  void measure_slants() noexcept;
  void split(int part) noexcept;
  void order() noexcept;
  int line_of(int part) noexcept;
  int group_of(int part) const noexcept;

  CharacterFinderConfig config_;
  InkLevels levels_;
  InkComponents components_;
  InkSplitter splitter_;
  Part* parts_;
  int* by_left_;         // indices of parts, sorted by their left edges
  Line* lines_;          // for each part that names a line
  StrokeSlant* slants_;  // for each line
  Sides* sides_;         // of each part
  float* heights_;       // work memory for quartiles
  float* contrasts_;
  int* run_begin_;         // of each part
  std::int16_t* part_of_;  // for each component, -1: none
  InkRun* runs_;
  Piece* pieces_;
  int part_count_ = 0;
  int run_end_ = 0;
  int run_capacity_ = 0;
  int component_capacity_ = 0;
  int piece_count_ = 0;
  int found_count_ = 0;
  bool light_ = false;
  bool more_ = false;
  bool truncated_ = false;
  std::array<FoundCharacter, kMaxCharacters> found_{};
  std::array<std::span<const InkRun>, kMaxCharacters> ink_{};
};

}  // namespace ocellus::detail
