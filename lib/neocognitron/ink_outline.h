// InkOutline: finds the printed outline of a field near the border of the field, so that its sides
// are not read as ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_components.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// A side of the outline is a thin straight line along a side of the field, not far from it, and
/// nearly as long. Ink from the border of the field to the inner edge of this line is not part of
/// the text. So digits that touch the outline are separated from it, and lose what is in it.
///
/// A stroke that looks like a single side, such as a one at the border of a tight field, is kept
/// unless it is thinner than the other strokes.
///
/// All memory is taken by the constructor. The time is bounded by the number of pixels near the
/// sides.
class InkOutline {
 public:
  InkOutline(ImageSize size, LayoutBuilder& memory) noexcept;

  /// `runs`: by rows and from left to right; `row_begin`: the first run of each row, and the number
  /// of all runs. Returns whether a side was found.
  bool find(std::span<const InkRun> runs, const int* row_begin) noexcept;

  /// Calls keep(run) for each part of a run that is not in the outline, from left to right.
  template <typename Keep>
  void cut(InkRun run, const Keep& keep) const noexcept {
    const int first = std::max<int>(run.first, cuts_[kLeft][run.y]);
    const int end = std::min<int>(run.end, size_.width - cuts_[kRight][run.y]);
    const int below = size_.height - 1 - run.y;
    const auto in_outline = [&](int x) {
      return run.y < cuts_[kTop][x] || below < cuts_[kBottom][x];
    };
    for (int x = first; x < end;) {
      while (x < end && in_outline(x)) ++x;
      if (x >= end) break;
      run.first = static_cast<std::uint16_t>(x);
      while (x < end && !in_outline(x)) ++x;
      run.end = static_cast<std::uint16_t>(x);
      keep(run);
    }
  }

 private:
  enum Side : std::uint8_t { kTop, kBottom, kLeft, kRight };
  static constexpr std::size_t kSides = 4;
  /// The first ink from a side of the field inwards, at a place along the side.
  struct Edge {
    std::int16_t distance;   // from the side of the field; kNothing: no ink near it
    std::int16_t thickness;  // of this ink, in the same direction
  };
  /// A straight line, by its distances from a side of the field.
  struct Line {
    bool found = false;
    float distance = 0.0f;  // in the middle
    float drift = 0.0f;     // from one end of the side to the other one
    int thickness = 0;
    float coverage = 0.0f;  // share of the places at which there is ink of the line
    bool ends = false;      // it reaches both ends
  };

  int length(int side) const noexcept { return side < kLeft ? size_.width : size_.height; }
  float line_at(int side, const Line& line, int at) const noexcept {
    return line.distance +
           line.drift * (static_cast<float>(at) / static_cast<float>(length(side)) - 0.5f);
  }
  void collect(std::span<const InkRun> runs, const int* row_begin) noexcept;
  /// The line along a side between the places `first` and `end`.
  Line fit(int side, int first, int end) noexcept;
  bool is_on(int side, const Line& line, int at) const noexcept;
  float stroke(std::span<const InkRun> runs) const noexcept;
  void choose(std::span<const InkRun> runs) noexcept;
  /// Of one or two lines, those that may be strokes of digits count as none. `limit`: the largest
  /// thickness of a line that is no stroke.
  void drop_strokes(bool wide, float limit) noexcept;

  ImageSize size_;
  int reach_;  // of the search, from a side of the field inwards
  int thickest_;
  std::array<Edge*, kSides> edges_{};
  std::array<std::int16_t*, kSides> cuts_{};  // the first place inside the outline
  std::array<Line, kSides> lines_{};
  int* votes_;
};

}  // namespace ocellus::detail
