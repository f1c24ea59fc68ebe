// The characters or pieces of characters in the components of a field, and the lines of text that
// they form, for the host and for devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/layout_builder.h"
#include "neocognitron/ink_search.h"
#include "neocognitron/team.h"

namespace ocellus::detail {

inline constexpr int kPartBits = 9;
inline constexpr int kMaxParts = 1 << kPartBits;

// Units: centers are in halves of a pixel, points of lines in 1/16 of a pixel, slopes in
// 1 / (1 << kSlopeBits).
inline constexpr int kPointsPerHalf = 8;
inline constexpr int kSlopeBits = 14;

/// The middle of a line through (x, y) at a column.
constexpr int line_level(int slope, int x, int y, int column) noexcept {
  return y + static_cast<int>((std::int64_t{slope} * (column - x)) >> kSlopeBits);
}

/// The lean of strokes: steps to the right from a row to the row above it, in halves of a pixel.
struct StrokeSlant {
  int steps = 0;
  int rows = 0;
};

/// Ink that holds a character or several.
struct FoundGroup {
  InkComponent box;
  int first_run;  ///< of PartArrays::runs
  int run_count;
  int line;         ///< lines are counted from the top
  int line_height;  ///< of the characters of its line
  int line_x;       ///< a point of the middle of its line
  int line_y;
  int line_slope;
  StrokeSlant slant;  ///< of the strokes of its line
};

/// The arrays of a search for parts, in host memory or on a device.
struct PartArrays {
  struct Part {
    InkComponent box;
    int left;      ///< of the part alone, by which parts are sorted
    int line;      ///< a line is named by its first part
    int group;     ///< the part into which this one was joined, or its own index
    int contrast;  ///< mean_contrast of `box`
    bool member;   ///< of a line: a character or several
    bool form;     ///< the frame of a field of a form
    bool linked;   ///< it was a member when lines were formed
  };
  struct Line {
    int height;  ///< of a character
    int slope;
    int contrast;
    int members;
    int left;  ///< centers of the first and the last member
    int right;
    int x;  ///< a point of its middle
    int y;
  };
  /// Ink near the sides of a part: pixels above and below, rows on the left and on the right.
  struct Sides {
    int top;
    int bottom;
    int left;
    int right;
  };

  ImageSize size;
  int min_height;  ///< of characters
  int max_height;
  bool group_lines;  ///< false: one line, ordered from left to right
  // Of each part, also where lines are named by parts.
  Part* parts;
  int* by_left;         ///< indices of parts, sorted by their left edges
  std::uint64_t* keys;  ///< by which parts are sorted
  int* parents;         ///< of lines, as sets of parts
  int* best;            ///< the part into which a part is joined. Then of lines and groups
  int* places;          ///< in the order of the result
  Line* lines;
  Sides* sides;
  StrokeSlant* slants;  ///< of lines
  int* run_begin;
  int* scalars;
  std::int16_t* part_of;  ///< of each component, -1: none
  // Not placed by `layout`: for fewer than `near_components` components, in the memory of a block.
  int near_components = 0;
  std::int16_t* near_part_of = nullptr;
  // The result.
  InkRun* runs;  ///< of each group, by rows and from left to right
  FoundGroup* groups;

  void layout(const InkArrays& ink, LayoutBuilder& memory) noexcept;
  /// Places the arrays that only the search uses.
  constexpr void layout_parts(LayoutBuilder& memory) noexcept {
    parts = memory.take<Part>(kMaxParts);
    by_left = memory.take<int>(kMaxParts);
    keys = memory.take<std::uint64_t>(kMaxParts);
    parents = memory.take<int>(kMaxParts);
    best = memory.take<int>(kMaxParts);
    places = memory.take<int>(kMaxParts);
    lines = memory.take<Line>(kMaxParts);
    slants = memory.take<StrokeSlant>(kMaxParts);
    run_begin = memory.take<int>(kMaxParts);
    scalars = memory.take<int>(2);
  }
};

struct PartCounts {
  int groups = 0;  ///< in reading order: lines from top to bottom, groups from left to right
  int runs = 0;    ///< of all groups
  bool truncated = false;
};

/// Finds lines of text, joins the parts of characters, and leaves out dots, dashes, ruled lines and
/// frames of forms.
template <typename Team>
class PartSearch {
 public:
  /// `runs` and `counts`: what InkSearch has found in `ink`. `ink.work`: see Team::distribute.
  OCELLUS_TEAM_FUNCTION PartSearch(const Team& team, const PartArrays& arrays, const InkArrays& ink,
                                   const InkRun* runs, const InkCounts& counts) noexcept
      : team_(team), a_(arrays), ink_(ink), runs_(runs), found_(counts) {
    if (found_.components < a_.near_components) a_.part_of = a_.near_part_of;
  }

  OCELLUS_TEAM_FUNCTION PartCounts find() noexcept {
    counts_.truncated = found_.truncated;
    collect_parts();
    drop_frames_of_forms();
    link_lines();
    OCELLUS_TEAM_LOOP
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1) drop_faint_members();
      if (pass == 2) join_parts();
      measure_lines();
    }
    drop_marks();
    gather_runs();
    measure_slants();
    order();
    return counts_;
  }

 private:
  using Part = PartArrays::Part;
  using Line = PartArrays::Line;
  using Sides = PartArrays::Sides;

  // In percent, of the height of a character unless stated otherwise.
  static constexpr int kSmallestPart = 30;  // of the smallest height
  static constexpr int kLargestGap = 160;   // between characters of a line
  static constexpr int kLeastHeightRatio = 22;
  static constexpr int kRise = 30;          // vertical distance of neighbors, beside the slope
  static constexpr int kLargestSlope = 36;  // tan 20 degrees
  static constexpr int kLeastMember = 43;   // lower members of a line are dots and dashes
  static constexpr int kHighestDot = 48;
  static constexpr int kWidestDot = 36;
  static constexpr int kReach = 120;          // of a line beyond its ends
  static constexpr int kMarkLevel = 90;       // of a mark from the middle of the line
  static constexpr int kLeastJoined = 39;     // height of the taller part
  static constexpr int kLeastContrast = 44;   // of the contrast of the line
  static constexpr int kSmallestJoined = 27;  // smaller parts are specks
  static constexpr int kLeastOverlap = 39;    // of the width of a part that is joined
  static constexpr int kJoinGap = 20;         // between parts one above the other
  static constexpr int kTallestJoin = 130;
  static constexpr int kWidestJoin = 150;
  static constexpr int kHighestJoined = 70;
  static constexpr int kBarLength = 140;  // of a bar, in its own heights
  static constexpr int kHighestBar = 45;
  static constexpr int kBarLevel = 15;     // the middle of a bar, from the top of its character
  static constexpr int kSideGap = 13;      // between parts side by side
  static constexpr int kSideOverlap = 41;  // of the lower part
  static constexpr int kHighestSide = 52;
  static constexpr int kWidestSide = 81;
  static constexpr int kUprightRun = 170;  // in mean runs of the component
  static constexpr int kFormHeights = 4;   // height of a form in heights of what is inside
  static constexpr int kFormMargin = 12;   // of the sides of a form, in its width and height
  static constexpr int kFormSide = 60;     // the least share of a side that is ink
  static constexpr int kAreaRun = 50;      // mean horizontal run of an area, in its heights
  static constexpr int kRule = 12;         // width of a rule in its own heights
  static constexpr int kDash = 180;        // width of a dash in its own heights
  static constexpr int kDashRun = 29;      // mean horizontal run of a dash
  static constexpr int kHighestDash = 50;
  static constexpr int kWeakLine = 39;  // of the contrast of the strongest line

  static constexpr int kMaxTextLines = 48;  // beside which marks are looked for
  static constexpr int kLongLine = 3;       // members, for the slope of all lines
  static constexpr int kMostStep = 1;       // halves; larger steps belong to horizontal strokes

  /// Whether `value` is more than `percent` of `of`.
  OCELLUS_TEAM_FUNCTION static bool above(std::int64_t value, int percent,
                                          std::int64_t of) noexcept {
    return 100 * value > percent * of;
  }
  OCELLUS_TEAM_FUNCTION static bool below(std::int64_t value, int percent,
                                          std::int64_t of) noexcept {
    return 100 * value < percent * of;
  }
  OCELLUS_TEAM_FUNCTION static int distance(int a, int b) noexcept { return a < b ? b - a : a - b; }
  OCELLUS_TEAM_FUNCTION static int center_x(const InkComponent& box) noexcept {
    return box.left + box.right;
  }
  OCELLUS_TEAM_FUNCTION static int center_y(const InkComponent& box) noexcept {
    return box.top + box.bottom;
  }
  OCELLUS_TEAM_FUNCTION static int index_in(std::uint64_t key) noexcept {
    return static_cast<int>(key & (kMaxParts - 1));
  }
  OCELLUS_TEAM_FUNCTION bool is_line(int part) const noexcept {
    return a_.parts[part].line == part;
  }
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void for_each_part(const Use& use) const noexcept {
    share(team_, part_count_, use);
    team_.barrier();
  }
  /// Squads take the parts, so that their lanes compare a part with all others at once.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void for_each_part_by_squads(const Use& use) const noexcept {
    share_among_squads(team_, part_count_, use);
    team_.barrier();
  }
  /// Calls use(i) for all i of [first, part_count_); each lane of a squad for some of them. It
  /// returns false if the lane need not go on.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void share_among_lanes(int first, const Use& use) const noexcept {
    OCELLUS_TEAM_LOOP
    for (int i = first + team_.lane(); i < part_count_; i += team_.lanes())
      if (!use(i)) return;
  }

  OCELLUS_TEAM_FUNCTION bool may_be_part(const InkComponent& box) const noexcept {
    const int width = box.width();
    const int height = box.height();
    if (below(std::max(width, height), kSmallestPart, a_.min_height)) return false;
    const bool at_border =
        box.left == 0 || box.top == 0 || box.right == a_.size.width || box.bottom == a_.size.height;
    // A dark area at the border has long runs. Characters that touch it have not.
    const bool area = at_border && above(box.area, kAreaRun, std::int64_t{height} * box.runs);
    return height <= a_.max_height && !area && width <= kRule * height;
  }

  OCELLUS_TEAM_FUNCTION void collect_parts() noexcept {
    const auto has = [this](int c) { return may_be_part(ink_.components[c]); };
    const int found = team_.select(found_.components, has, [&](int c, int part) {
      const bool kept = part >= 0 && part < kMaxParts;
      a_.part_of[c] = static_cast<std::int16_t>(kept ? part : -1);
      if (!kept) return;
      const InkComponent& box = ink_.components[c];
      a_.parts[part] = {.box = box,
                        .left = box.left,
                        .line = part,
                        .group = part,
                        .contrast = box.mean_contrast(),
                        .member = box.height() >= a_.min_height,
                        .form = false,
                        .linked = false};
      a_.parents[part] = part;
      a_.keys[part] = static_cast<std::uint64_t>(box.left) << kPartBits | part;
    });
    part_count_ = std::min(found, +kMaxParts);
    counts_.truncated = counts_.truncated || found > kMaxParts;
    team_.sort(a_.keys, part_count_,
               [&](int place, std::uint64_t key) { a_.by_left[place] = index_in(key); });
  }

  /// Whether a part has a member inside. A squad calls it, as the functions below that compare a
  /// part with all others.
  OCELLUS_TEAM_FUNCTION bool contains_member(int position) const noexcept {
    const InkComponent& box = a_.parts[a_.by_left[position]].box;
    bool found = false;
    // What is inside begins further to the right.
    share_among_lanes(position + 1, [&](int j) {
      const Part& part = a_.parts[a_.by_left[j]];
      const InkComponent& inner = part.box;
      if (inner.left >= box.right) return false;
      found = part.member && kFormHeights * inner.height() >= box.height() &&
              inner.left > box.left && inner.right < box.right && inner.top > box.top &&
              inner.bottom < box.bottom;
      return !found;
    });
    return team_.combine_lanes(found ? 1 : 0, [](int a, int b) { return a | b; }) != 0;
  }

  OCELLUS_TEAM_FUNCTION void drop_frames_of_forms() const noexcept {
    // A frame has a character inside, and ink along its four sides.
    bool any = false;
    share_among_squads(team_, part_count_, [&](int i) {
      Part& part = a_.parts[a_.by_left[i]];
      const bool form = part.member && contains_member(i);
      any = any || form;
      if (team_.lane() != 0) return;
      part.form = form;
      a_.sides[a_.by_left[i]] = {};
    });
    if (!team_.any(any)) return;
    share(team_, found_.runs, [&](int i) {
      const InkRun& run = runs_[i];
      if (run.label == kNoComponent || a_.part_of[run.label] < 0) return;
      const int part = a_.part_of[run.label];
      if (!a_.parts[part].form) return;
      const InkComponent& box = a_.parts[part].box;
      const int margin_x = kFormMargin * box.width() / 100;
      const int margin_y = kFormMargin * box.height() / 100;
      const int length = run.end - run.first;
      Sides& sides = a_.sides[part];
      if (run.y <= box.top + margin_y) team_.add(sides.top, length);
      if (run.y >= box.bottom - 1 - margin_y) team_.add(sides.bottom, length);
      if (run.first <= box.left + margin_x) team_.add(sides.left, 1);
      if (run.end >= box.right - margin_x) team_.add(sides.right, 1);
    });
    team_.barrier();
    for_each_part([&](int i) {
      Part& part = a_.parts[i];
      if (!part.form) return;
      const Sides& sides = a_.sides[i];
      part.form = !below(std::min(sides.top, sides.bottom), kFormSide, part.box.width()) &&
                  !below(std::min(sides.left, sides.right), kFormSide, part.box.height());
      part.member = !part.form;
    });
  }

  /// The part of by_left with the least order that a lane has added. Of parts with the same order,
  /// the first one.
  struct Nearest {
    static constexpr std::int64_t kNone = std::int64_t{1} << 62;
    std::int64_t key = kNone;

    OCELLUS_TEAM_FUNCTION void add(int order, int position) noexcept {
      key = std::min(key, std::int64_t{order} << kPartBits | position);
    }
  };
  OCELLUS_TEAM_FUNCTION int part_of(const Nearest& nearest) const noexcept {
    const std::int64_t key = team_.combine_lanes(
        nearest.key, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
    return key == Nearest::kNone ? -1 : a_.by_left[key & (kMaxParts - 1)];
  }

  /// The right neighbor of a part in its line, -1: none.
  OCELLUS_TEAM_FUNCTION int neighbor(int position) const noexcept {
    const Part& part = a_.parts[a_.by_left[position]];
    if (!part.member) return -1;
    const int height = part.box.height();
    Nearest nearest;
    share_among_lanes(position + 1, [&](int j) {
      const Part& other = a_.parts[a_.by_left[j]];
      if (!other.member) return true;
      const int other_height = other.box.height();
      const int taller = std::max(height, other_height);
      const int gap = other.box.left - part.box.right;
      // Later parts are further to the right; `max_height` bounds how tall one may be.
      if (gap >= nearest.key >> kPartBits ||
          above(gap, kLargestGap, std::max(a_.max_height, height))) {
        return false;
      }
      if (above(gap, kLargestGap, taller)) return true;
      if (below(std::min(height, other_height), kLeastHeightRatio, taller)) return true;
      const int across = center_x(other.box) - center_x(part.box);
      const int rise = distance(center_y(other.box), center_y(part.box));
      if (across <= 0 || 100 * rise > 2 * kRise * taller + kLargestSlope * across) return true;
      nearest.add(std::max(gap, 0) + rise, j);
      return true;
    });
    return part_of(nearest);
  }

  OCELLUS_TEAM_FUNCTION void link_lines() const noexcept {
    const RunSets<Team> lines{team_, a_.parents};
    for_each_part_by_squads([&](int i) {
      const int best = neighbor(i);
      if (best >= 0 && team_.lane() == 0) lines.unite(a_.by_left[i], best);
    });
    for_each_part([&](int i) {
      a_.parts[i].line = lines.root(i);
      a_.parts[i].linked = a_.parts[i].member;
      a_.lines[i] = {};
    });
  }

  /// Sums over the members of a line. Centers are relative to its first part.
  struct LineSums {
    int members = 0;
    int left = 4 * kMaxImageSide;
    int right = 0;
    int x = 0;
    int y = 0;
    int lower = 0;    ///< members that are lower than a part
    int fainter = 0;  ///< members that have less contrast than a part
    std::int64_t xx = 0;
    std::int64_t xy = 0;

    OCELLUS_TEAM_FUNCTION friend LineSums operator+(const LineSums& a, const LineSums& b) noexcept {
      return {a.members + b.members,
              std::min(a.left, b.left),
              std::max(a.right, b.right),
              a.x + b.x,
              a.y + b.y,
              a.lower + b.lower,
              a.fainter + b.fainter,
              a.xx + b.xx,
              a.xy + b.xy};
    }
  };

  OCELLUS_TEAM_FUNCTION void measure_lines() const noexcept {
    for_each_part_by_squads([&](int i) {
      const Part& own = a_.parts[i];
      if (!own.linked || (!own.member && !is_line(i))) return;
      const InkComponent& first = a_.parts[own.line].box;
      const bool names_line = is_line(i);
      LineSums sums;
      share_among_lanes(0, [&](int j) {
        const Part& part = a_.parts[j];
        if (!part.member || part.line != own.line) return true;
        const auto precedes = [&](int value, int own_value) {
          return value < own_value || (value == own_value && j < i) ? 1 : 0;
        };
        ++sums.members;
        sums.lower += precedes(part.box.height(), own.box.height());
        sums.fainter += precedes(part.contrast, own.contrast);
        if (!names_line) return true;
        sums.left = std::min(sums.left, center_x(part.box));
        sums.right = std::max(sums.right, center_x(part.box));
        const int x = center_x(part.box) - center_x(first);
        const int y = center_y(part.box) - center_y(first);
        sums.x += x;
        sums.y += y;
        sums.xx += std::int64_t{x} * x;
        sums.xy += std::int64_t{x} * y;
        return true;
      });
      sums = team_.combine_lanes(sums, Plus());
      if (team_.lane() != 0) return;
      Line& line = a_.lines[own.line];
      // The upper quartile: parts of broken characters make it better than the median.
      const int quartile = 3 * sums.members / 4;
      if (own.member && sums.lower == quartile) line.height = own.box.height();
      if (own.member && sums.fainter == quartile) line.contrast = own.contrast;
      if (names_line) set_line(sums, first, line);
    });
  }

  /// Sets all but height and contrast, which a line without members has not.
  OCELLUS_TEAM_FUNCTION static void set_line(const LineSums& sums, const InkComponent& first,
                                             Line& line) noexcept {
    line.members = sums.members;
    line.left = sums.left;
    line.right = sums.right;
    line.slope = 0;
    if (sums.members == 0) {
      line.height = line.contrast = line.x = line.y = 0;
      return;
    }
    const std::int64_t n = sums.members;
    const std::int64_t spread = n * sums.xx - std::int64_t{sums.x} * sums.x;
    const std::int64_t rise = n * sums.xy - std::int64_t{sums.x} * sums.y;
    constexpr int kMost = (kLargestSlope << kSlopeBits) / 100;
    if (spread > 4 * n)
      line.slope = static_cast<int>(std::min<std::int64_t>(
          std::max<std::int64_t>(rise * (1 << kSlopeBits) / spread, -kMost), +kMost));
    line.x = kPointsPerHalf * center_x(first) + kPointsPerHalf * sums.x / sums.members;
    line.y = kPointsPerHalf * center_y(first) + kPointsPerHalf * sums.y / sums.members;
  }

  /// The largest value(line) of all lines.
  template <typename Value>
  OCELLUS_TEAM_FUNCTION int largest_of_lines(const Value& value) const noexcept {
    int largest = 0;
    share_among_lanes(0, [&](int i) {
      if (is_line(i)) largest = std::max(largest, value(a_.lines[i]));
      return true;
    });
    return team_.combine_lanes(largest, Larger());
  }

  OCELLUS_TEAM_FUNCTION void drop_faint_members() const noexcept {
    // Compared with the strongest line, so that the pattern of the background is dropped.
    const int strongest = largest_of_lines([](const Line& line) { return line.contrast; });
    for_each_part([&](int i) {
      Part& part = a_.parts[i];
      if (below(part.contrast, kLeastContrast, a_.lines[part.line].contrast) ||
          below(part.contrast, kWeakLine, strongest)) {
        part.member = false;
      }
    });
  }

  /// Whether a part is joined to a member `b` of a line.
  OCELLUS_TEAM_FUNCTION static bool belong_together(const InkComponent& a, const InkComponent& b,
                                                    int line_height) noexcept {
    const int across = std::min(a.right, b.right) - std::max(a.left, b.left);
    const int along = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    const int width = std::max(a.right, b.right) - std::min(a.left, b.left);
    const int height = std::max(a.bottom, b.bottom) - std::min(a.top, b.top);
    const int lower = std::min(a.height(), b.height());
    const int taller = std::max(a.height(), b.height());
    const int wider = std::max(a.width(), b.width());
    if (below(taller, kLeastJoined, line_height)) return false;
    // One above the other.
    if (!below(across, kLeastOverlap, std::min(a.width(), b.width())) &&
        !above(-along, kJoinGap, line_height) &&
        !above(height, kTallestJoin, std::max(line_height, taller)) &&
        !above(width, kWidestJoin, std::max(line_height, wider))) {
      // A high character and another high one are two.
      return below(lower, kHighestJoined, line_height);
    }
    if (above(-across, kSideGap, line_height) || above(height, kTallestJoin, line_height))
      return false;
    // A bar beside the top of a five.
    if (above(a.width(), kBarLength, a.height()) && center_x(a) > center_x(b) &&
        !above(width, kWidestJoin, line_height) && below(a.height(), kHighestBar, line_height) &&
        !above(center_y(a) - 2 * b.top, 2 * kBarLevel, b.height())) {
      return true;
    }
    // One beside the other: a part of a character that is broken.
    return !below(along, kSideOverlap, lower) && below(lower, kHighestSide, line_height) &&
           !above(width, kWidestSide, line_height);
  }

  /// The member to which a part is joined, -1: none. `farthest`: the largest gap in pixels.
  OCELLUS_TEAM_FUNCTION int whole_of(int i, int farthest) const noexcept {
    const Part& part = a_.parts[i];
    if (part.form) return -1;
    Nearest nearest;
    share_among_lanes(0, [&](int k) {
      const int j = a_.by_left[k];
      const Part& other = a_.parts[j];
      const InkComponent& box = other.box;
      // Parts are sorted by the edges that they had before they were joined.
      if (other.left > part.box.right + farthest) return false;
      if (j == i || !other.member || box.right + farthest < part.box.left) return true;
      const Line& line = a_.lines[other.line];
      // A character is joined to a larger one only, or to one of a longer line.
      const bool stray = a_.lines[part.line].members < line.members;
      if (part.member && !stray && (part.line != other.line || box.height() < part.box.height()))
        return true;
      if (below(std::max(part.box.width(), part.box.height()), kSmallestJoined, line.height))
        return true;
      if (below(part.contrast, kLeastContrast, other.contrast)) return true;
      if (belong_together(part.box, box, line.height))
        nearest.add(distance(center_x(part.box), center_x(box)), k);
      return true;
    });
    return part_of(nearest);
  }

  OCELLUS_TEAM_FUNCTION void join_parts() const noexcept {
    const int tallest = largest_of_lines([](const Line& line) { return line.height; });
    const int farthest = kSideGap * tallest / 100 + 1;
    // The next part that is joined, in turn.
    int* const next = a_.scalars;
    if (team_.index() == 0) next[0] = part_count_;
    team_.barrier();
    // One after the other, because a part grows by those that are joined to it. The squads look for
    // the next one that is joined.
    for (int first = 0, turn = 0;; turn ^= 1) {
      for (int i = first + team_.squad(); i < part_count_; i += team_.squads()) {
        const int best = whole_of(i, farthest);
        if (best < 0) continue;
        if (team_.lane() == 0) {
          a_.best[i] = best;
          team_.lower(next[turn], i);
        }
        break;
      }
      team_.barrier();
      const int joined = next[turn];
      if (joined == part_count_) return;
      if (team_.index() == 0) {
        Part& part = a_.parts[joined];
        part.group = a_.best[joined];
        part.member = false;
        Part& whole = a_.parts[part.group];
        whole.box.extend(part.box);
        whole.contrast = whole.box.mean_contrast();
        next[turn ^ 1] = part_count_;
      }
      first = joined + 1;
      team_.barrier();
    }
  }

  OCELLUS_TEAM_FUNCTION static bool is_mark(const InkComponent& box, int line_height) noexcept {
    const int width = box.width();
    const int height = box.height();
    // A chain of low touching characters is not a dash: its runs are short.
    const bool dash = above(width, kDash, height) && below(height, kHighestDash, line_height) &&
                      above(box.area, kDashRun, std::int64_t{line_height} * box.runs);
    const bool dot =
        below(height, kHighestDot, line_height) && below(width, kWidestDot, line_height);
    return dash || dot || below(height, kLeastMember, line_height);
  }

  OCELLUS_TEAM_FUNCTION void drop_marks() const noexcept {
    // The longest lines. Of those with the same number of members, the first ones.
    const bool all = part_count_ <= kMaxTextLines;
    const auto is_longer = [&](int l, int i) {
      const int members = a_.lines[l].members;
      return members > a_.lines[i].members || (members == a_.lines[i].members && l < i);
    };
    if (!all)
      for_each_part_by_squads([&](int i) {
        int longer = 0;
        share_among_lanes(0, [&](int l) {
          longer += is_line(i) && is_line(l) && is_longer(l, i) ? 1 : 0;
          return true;
        });
        longer = team_.combine_lanes(longer, Plus());
        if (team_.lane() == 0) a_.best[i] = longer;
      });
    for_each_part_by_squads([&](int i) {
      const Part& part = a_.parts[i];
      if (!part.member || part.group != i) return;
      const Line& own = a_.lines[part.line];
      int height = own.height;
      // A mark that is too low for a line is a line of its own beside or in a line of characters.
      share_among_lanes(0, [&](int l) {
        const Line& line = a_.lines[l];
        if (!is_line(l) || l == part.line || line.height <= height ||
            (!all && a_.best[l] >= kMaxTextLines)) {
          return true;
        }
        const int x = center_x(part.box);
        const int level = line_level(line.slope, line.x, line.y, kPointsPerHalf * x);
        if (below(std::max(line.left - x, x - line.right), 2 * kReach, line.height) &&
            below(distance(kPointsPerHalf * center_y(part.box), level),
                  2 * kPointsPerHalf * kMarkLevel, line.height) &&
            own.members < line.members + 1) {
          height = line.height;
        }
        return true;
      });
      height = team_.combine_lanes(height, Larger());
      if (team_.lane() == 0 && is_mark(part.box, height)) a_.parts[i].member = false;
    });
  }

  /// The part to whose group a part belongs, -1: none.
  OCELLUS_TEAM_FUNCTION int group_of(int part) const noexcept {
    while (a_.parts[part].group != part) part = a_.parts[part].group;
    return a_.parts[part].member ? part : -1;
  }
  /// The part to whose group a run belongs, -1: none. `gather_runs` sets `best` to those of parts.
  OCELLUS_TEAM_FUNCTION int owner(const InkRun& run) const noexcept {
    const int part = run.label == kNoComponent ? -1 : a_.part_of[run.label];
    return part < 0 ? -1 : a_.best[part];
  }

  OCELLUS_TEAM_FUNCTION bool is_group(int part) const noexcept {
    return a_.parts[part].member && a_.parts[part].group == part;
  }

  OCELLUS_TEAM_FUNCTION void gather_runs() noexcept {
    share(team_, part_count_, [&](int i) {
      a_.run_begin[i] = is_group(i) ? a_.parts[i].box.runs : 0;
      a_.best[i] = group_of(i);
      a_.slants[i] = {};
    });
    counts_.runs = team_.scan(a_.run_begin, part_count_);
    // Each begin moves to the end of its part.
    team_.distribute(
        found_.runs, a_.run_begin, ink_.work, [&](int i) { return owner(runs_[i]); },
        [&](int i, int place) { a_.runs[place] = runs_[i]; });
  }

  OCELLUS_TEAM_FUNCTION void measure_slants() const noexcept {
    // A thread adds what it finds in the same line one after the other at once.
    StrokeSlant found;
    int line = -1;
    const auto add_found = [&] {
      if (found.rows == 0) return;
      team_.add(a_.slants[line].steps, found.steps);
      team_.add(a_.slants[line].rows, found.rows);
      found = {};
    };
    const auto has = [this](int i) { return owner(runs_[i]) >= 0; };
    share_touching(team_, runs_, ink_.row_begin, a_.size.height, has, [&](int i, int j) {
      const InkRun& run = runs_[i];
      const InkRun& over = runs_[j];
      const int part = owner(run);
      const InkComponent& box = a_.parts[part].box;
      const int longest = std::max(run.end - run.first, over.end - over.first);
      if (above(std::int64_t{longest} * box.runs, kUprightRun, box.area)) return;
      const int step = over.first + over.end - run.first - run.end;
      if (distance(step, 0) > kMostStep) return;
      if (a_.parts[part].line != line) add_found();
      line = a_.parts[part].line;
      found.steps += step;
      ++found.rows;
    });
    // Most lanes of a squad end in the same line.
    const int common = team_.combine_lanes(line, Larger());
    if (line != common) add_found();
    found.steps = team_.combine_lanes(found.steps, Plus());
    found.rows = team_.combine_lanes(found.rows, Plus());
    line = common;
    if (team_.lane() == 0) add_found();
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void order() noexcept {
    // Lines are compared by their heights at the same column, along the common slope.
    struct Sums {
      std::int64_t slopes = 0;
      int members = 0;
      int groups = 0;
    } sums;
    share_among_lanes(0, [&](int i) {
      sums.groups += is_group(i) ? 1 : 0;
      const Line& line = a_.lines[i];
      if (!is_line(i) || line.members < kLongLine) return true;
      sums.slopes += std::int64_t{line.slope} * line.members;
      sums.members += line.members;
      return true;
    });
    sums = team_.combine_lanes(sums, [](const Sums& a, const Sums& b) -> Sums {
      return {a.slopes + b.slopes, a.members + b.members, a.groups + b.groups};
    });
    counts_.groups = sums.groups;
    const int slope = sums.members > 0 ? static_cast<int>(sums.slopes / sums.members) : 0;
    constexpr std::uint64_t kNoGroup = ~std::uint64_t{0};
    for_each_part([&](int i) {
      const Part& part = a_.parts[i];
      constexpr int kXBits = 16;
      constexpr int kOffset = 32 * kMaxImageSide;
      std::uint64_t key = 0;
      if (a_.group_lines) {
        const Line& line = a_.lines[part.line];
        const int level = line_level(slope, line.x, line.y, 0) + kOffset;
        key = static_cast<std::uint64_t>(level) << kPartBits | part.line;
      }
      a_.keys[i] = is_group(i) ? (key << kXBits | center_x(part.box)) << kPartBits | i : kNoGroup;
    });
    // The place of each group, and whether it begins a line.
    for_each_part_by_squads([&](int i) {
      const std::uint64_t key = a_.keys[i];
      if (key == kNoGroup) return;
      int before = 0;
      int in_line = 0;
      share_among_lanes(0, [&](int j) {
        if (a_.keys[j] >= key) return true;
        ++before;
        in_line += a_.parts[j].line == a_.parts[i].line ? 1 : 0;
        return true;
      });
      before = team_.combine_lanes(before, Plus());
      in_line = team_.combine_lanes(in_line, Plus());
      if (team_.lane() != 0) return;
      a_.places[i] = before;
      a_.best[i] = in_line == 0 ? 1 : 0;
    });
    for_each_part_by_squads([&](int i) {
      const std::uint64_t key = a_.keys[i];
      if (key == kNoGroup) return;
      int lines = 0;  // that begin up to the group
      share_among_lanes(0, [&](int j) {
        lines += a_.keys[j] <= key && a_.best[j] != 0 ? 1 : 0;
        return true;
      });
      lines = team_.combine_lanes(lines, Plus());
      if (team_.lane() != 0) return;
      const int own = a_.parts[i].line;
      const Line& line = a_.lines[own];
      const int first_run = i > 0 ? a_.run_begin[i - 1] : 0;
      a_.groups[a_.places[i]] = {a_.parts[i].box,
                                 first_run,
                                 a_.run_begin[i] - first_run,
                                 a_.group_lines ? lines - 1 : 0,
                                 line.height,
                                 line.x,
                                 line.y,
                                 line.slope,
                                 a_.slants[own]};
    });
  }

  Team team_;
  PartArrays a_;
  InkArrays ink_;
  const InkRun* runs_;
  InkCounts found_;
  PartCounts counts_;
  int part_count_ = 0;
};

}  // namespace ocellus::detail
