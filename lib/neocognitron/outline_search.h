// The printed outline of a field near the border of the field, so that its sides are not read as
// ones; for the host and for devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neocognitron/ink_run.h"
#include "neocognitron/team.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// Places along the sides of a field, and what was found there.
struct InkOutline {
  enum Side : std::uint8_t { kTop, kBottom, kLeft, kRight };
  static constexpr int kSides = 4;
  static constexpr std::int16_t kNothing = -1;
  /// The first ink from a side of the field inwards, at a place along the side.
  struct Edge {
    std::int16_t distance;   ///< from the side of the field; kNothing: no ink near it
    std::int16_t thickness;  ///< of this ink, in the same direction
  };
  /// A straight line, by its distances from a side of the field.
  struct Line {
    bool found = false;
    bool ends = false;  ///< it reaches both ends
    int distance = 0;   ///< in the middle
    int drift = 0;      ///< from one end of the side to the other one
    int thickness = 0;
    int votes = 0;    ///< places at which there is ink of the line
    int samples = 1;  ///< places at which it was looked for

    constexpr bool covers(int percent) const noexcept { return 100 * votes >= percent * samples; }
  };

  ImageSize size;
  int reach = 0;  ///< of the search, from a side of the field inwards; 0: there is no outline
  int thickest = 0;
  Edge* edges[kSides] = {};
  std::int16_t* cuts[kSides] = {};  ///< the first place inside the outline
  Line* lines = nullptr;            ///< of each side

  constexpr int length(int side) const noexcept { return side < kLeft ? size.width : size.height; }
};

inline constexpr int kMostOutlineReach = 24;
// Votes for the distances of a line, of each drift and of two sides.
inline constexpr int kOutlineDrifts = 2 * kMostOutlineReach + 1;
inline constexpr int kOutlineDistances = 3 * kMostOutlineReach;
inline constexpr int kOutlineWork = 2 * kOutlineDrifts * kOutlineDistances;

/// A side of the outline is a thin straight line along a side of the field, not far from it, and
/// nearly as long. Ink from the border of the field to the inner edge of this line is not part of
/// the text. So digits that touch the outline are separated from it, and lose what is in it.
///
/// A stroke that looks like a single side, such as a one at the border of a tight field, is kept
/// unless it is thinner than the other strokes.
///
/// The time is bounded by the number of pixels near the sides.
template <typename Team>
class OutlineSearch {
 public:
  /// `work`: kOutlineWork elements.
  OCELLUS_TEAM_FUNCTION OutlineSearch(const Team& team, const InkOutline& outline,
                                      int* work) noexcept
      : team_(team), a_(outline), work_(work) {}

  /// `runs`: by rows and from left to right; `row_begin`: the first run of each row, and the number
  /// of all runs. Returns whether a side was found.
  OCELLUS_TEAM_FUNCTION bool find(const InkRun* runs, const int* row_begin) const noexcept {
    collect(runs, row_begin);
    fit(kTop, 0, a_.size.width);
    if (team_.index() == 0)
      for (const int side : {kTop, kBottom}) {
        Line& line = a_.lines[side];
        line.found = line.found && line.covers(is_wide() ? kLeastCoverage : kUprightCoverage);
      }
    team_.barrier();
    // The other sides lie between these.
    const auto inner = [this](int side) {
      const Line& line = a_.lines[side];
      return line.found ? line.distance : 0;
    };
    fit(kLeft, std::max(inner(kTop), 0), std::min(a_.size.height - inner(kBottom), a_.size.height));
    const int stroke = stroke_width(runs, row_begin[a_.size.height]);
    if (team_.index() == 0) choose(stroke);
    team_.barrier();
    bool any = false;
    for (int side = 0; side < InkOutline::kSides; ++side) {
      const Line& line = a_.lines[side];
      any = any || line.found;
      share(team_, a_.length(side), [&](int at) { a_.cuts[side][at] = cut_of(side, line, at); });
    }
    team_.barrier();
    return any;
  }

  /// Calls keep(run) for each part of a run that is not in the outline, from left to right.
  template <typename Keep>
  OCELLUS_TEAM_FUNCTION void cut(InkRun run, const Keep& keep) const noexcept {
    const int first = std::max<int>(run.first, a_.cuts[kLeft][run.y]);
    const int end = std::min<int>(run.end, a_.size.width - a_.cuts[kRight][run.y]);
    const int below = a_.size.height - 1 - run.y;
    const auto in_outline = [&](int x) {
      return run.y < a_.cuts[kTop][x] || below < a_.cuts[kBottom][x];
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
  using Line = InkOutline::Line;
  using Edge = InkOutline::Edge;
  static constexpr int kTop = InkOutline::kTop;
  static constexpr int kBottom = InkOutline::kBottom;
  static constexpr int kLeft = InkOutline::kLeft;
  static constexpr int kRight = InkOutline::kRight;
  // Distances of a line are in 1/65536 of a pixel.
  static constexpr int kUnitBits = 16;
  static constexpr int kHalf = 1 << (kUnitBits - 1);
  static constexpr int kLineTolerance = 104858;   // between a line and its edge
  static constexpr int kJitter = 2 << kUnitBits;  // beyond the line, belongs to it
  static constexpr int kDriftShare = 25;          // the length of the side, in largest drifts
  static constexpr int kSamples = 256;            // places along a side
  // Of a line, in percent of the side.
  static constexpr int kLeastCoverage = 60;    // along which digits may stand
  static constexpr int kUprightCoverage = 80;  // whose direction strokes may have
  static constexpr int kUnbroken = 93;         // longer than any stroke
  static constexpr int kPieceCoverage = 25;    // beside others
  static constexpr int kContact = 1;           // pixels between a line and the border of the field
  static constexpr int kThinner = 60;          // percent of other strokes
  static constexpr int kLongestStroke = 63;    // pixels
  static constexpr int kThicknesses = kLongestStroke + 1;

  OCELLUS_TEAM_FUNCTION bool is_wide() const noexcept {
    return 2 * a_.size.width >= 3 * a_.size.height;
  }
  /// The place `at` along a side, from -1/2 to 1/2.
  OCELLUS_TEAM_FUNCTION int from_middle(int side, int at) const noexcept {
    return (2 * at - a_.length(side)) * kHalf / a_.length(side);
  }
  OCELLUS_TEAM_FUNCTION int line_at(int side, const Line& line, int at) const noexcept {
    return (line.distance << kUnitBits) + line.drift * from_middle(side, at);
  }
  OCELLUS_TEAM_FUNCTION bool is_on(int side, const Line& line, int at) const noexcept {
    const int distance = a_.edges[side][at].distance;
    const int from_line = (distance << kUnitBits) - line_at(side, line, at);
    return distance != InkOutline::kNothing && std::max(from_line, -from_line) <= kLineTolerance;
  }

  OCELLUS_TEAM_FUNCTION void collect(const InkRun* runs, const int* row_begin) const noexcept {
    for (const int side : {kTop, kBottom})
      share(team_, a_.size.width, [&](int x) { a_.edges[side][x] = {InkOutline::kNothing, 0}; });
    const auto edge_of = [this](const InkRun& run, int distance) -> Edge {
      if (distance >= a_.reach) return {InkOutline::kNothing, 0};
      return {static_cast<std::int16_t>(distance), static_cast<std::int16_t>(run.end - run.first)};
    };
    share(team_, a_.size.height, [&](int y) {
      const int begin = row_begin[y];
      const int end = row_begin[y + 1];
      Edge left{InkOutline::kNothing, 0};
      Edge right = left;
      if (begin < end) {
        left = edge_of(runs[begin], runs[begin].first);
        right = edge_of(runs[end - 1], a_.size.width - runs[end - 1].end);
      }
      a_.edges[kLeft][y] = left;
      a_.edges[kRight][y] = right;
    });
    // From the border inwards, until the ink that began near it cannot be a line.
    const int rows = std::min(a_.size.height, a_.reach + a_.thickest + 1);
    for (int distance = 0; distance < rows; ++distance) {
      team_.barrier();
      const auto add = [&](Edge* edges, int begin, int i) {
        const InkRun& run = runs[begin + i];
        for (int x = run.first; x < run.end; ++x) {
          Edge& edge = edges[x];
          if (edge.distance == InkOutline::kNothing) {
            if (distance < a_.reach) edge = {static_cast<std::int16_t>(distance), 1};
          } else if (edge.distance + edge.thickness == distance) {
            ++edge.thickness;
          }
        }
      };
      for (const int side : {kTop, kBottom}) {
        const int y = side == kTop ? distance : a_.size.height - 1 - distance;
        share(team_, row_begin[y + 1] - row_begin[y],
              [&](int i) { add(a_.edges[side], row_begin[y], i); });
      }
    }
    team_.barrier();
  }

  /// The lines along two sides that face each other, between the places `first` and `end`.
  OCELLUS_TEAM_FUNCTION void fit(int first_side, int first, int end) const noexcept {
    const int length = a_.length(first_side);
    const int step = std::max(1, (end - first) / kSamples);
    const int samples = (end - first + step - 1) / step;
    const int most = std::min(a_.reach, (length + kDriftShare - 1) / kDriftShare);
    const int drifts = 2 * most + 1;
    // Small drifts first, so that of equal lines the straightest one is taken.
    const auto drift_of = [](int n) { return n % 2 == 0 ? -n / 2 : (n + 1) / 2; };
    const auto votes_of = [this](int side, int n) {
      return work_ + (side % 2 * kOutlineDrifts + n) * kOutlineDistances;
    };
    share(team_, kOutlineWork, [&](int i) { work_[i] = 0; });
    team_.barrier();
    share(team_, 2 * samples, [&](int i) {
      const int side = first_side + i % 2;
      const int at = first + i / 2 * step;
      const int distance = a_.edges[side][at].distance;
      if (distance == InkOutline::kNothing) return;
      const int place = from_middle(side, at);
      for (int n = 0; n < drifts; ++n) {
        const int moved = (drift_of(n) * place + kHalf) >> kUnitBits;
        team_.add(votes_of(side, n)[distance - moved + kMostOutlineReach], 1);
      }
    });
    team_.barrier();
    share(team_, 2 * drifts, [&](int i) {
      int* const votes = votes_of(i % 2, i / 2);
      int best = 0;
      int best_votes = 0;
      for (int d = 1; d + 1 < kOutlineDistances; ++d) {
        const int sum = votes[d - 1] + votes[d] + votes[d + 1];
        if (sum > best_votes) {
          best_votes = sum;
          best = d;
        }
      }
      votes[0] = best_votes;
      votes[1] = best;
    });
    team_.barrier();
    if (team_.index() == 0)
      for (int side = first_side; side < first_side + 2; ++side) {
        Line& line = a_.lines[side];
        line = {};
        line.samples = std::max(samples, 1);
        for (int n = 0; n < drifts; ++n) {
          const int* const votes = votes_of(side, n);
          if (votes[0] <= line.votes) continue;
          line.votes = votes[0];
          line.distance = votes[1] - kMostOutlineReach;
          line.drift = drift_of(n);
        }
      }
    team_.barrier();
    measure(first_side, first, end);
  }

  /// Thickness and ends of the lines of two sides.
  OCELLUS_TEAM_FUNCTION void measure(int first_side, int first, int end) const noexcept {
    enum : int { kTotal = kThicknesses, kNearest, kFarthest, kCounts };
    share(team_, 2 * kCounts, [&](int i) {
      work_[i] = i % kCounts == kNearest ? end : i % kCounts == kFarthest ? first : 0;
    });
    team_.barrier();
    share(team_, 2 * (end - first), [&](int i) {
      const int side = first_side + i % 2;
      const int at = first + i / 2;
      if (!is_on(side, a_.lines[side], at)) return;
      int* const counts = work_ + i % 2 * kCounts;
      team_.add(counts[std::min<int>(a_.edges[side][at].thickness, kThicknesses - 1)], 1);
      team_.add(counts[kTotal], 1);
      team_.lower(counts[kNearest], at);
      team_.raise(counts[kFarthest], at);
    });
    team_.barrier();
    if (team_.index() == 0)
      for (int i = 0; i < 2; ++i) {
        const int* const counts = work_ + i * kCounts;
        Line& line = a_.lines[first_side + i];
        if (line.votes == 0) continue;
        // The median thickness: where a digit touches the line, it is larger.
        int sum = 0;
        while (line.thickness < kLongestStroke && 2 * sum < counts[kTotal])
          sum += counts[++line.thickness];
        constexpr int kLeastEnd = 2;
        constexpr int kEnds = 10;  // in the length
        const int close = std::max(kLeastEnd, (end - first) / kEnds);
        line.ends = counts[kNearest] - first <= close && end - 1 - counts[kFarthest] <= close;
        line.found = line.thickness <= a_.thickest;
      }
    team_.barrier();
  }

  /// Of the horizontal runs that are not near the border, the length that two thirds exceed:
  /// strokes that lie have longer ones.
  OCELLUS_TEAM_FUNCTION int stroke_width(const InkRun* runs, int count) const noexcept {
    share(team_, kThicknesses + 1, [&](int i) { work_[i] = 0; });
    team_.barrier();
    share(team_, count, [&](int i) {
      const InkRun& run = runs[i];
      const int length = run.end - run.first;
      if (length > kLongestStroke || run.first < a_.reach || run.end > a_.size.width - a_.reach ||
          run.y < a_.reach || run.y >= a_.size.height - a_.reach) {
        return;
      }
      team_.add(work_[length], 1);
      team_.add(work_[kThicknesses], 1);
    });
    team_.barrier();
    int sum = 0;
    int width = 0;
    while (width < kLongestStroke && 3 * sum < work_[kThicknesses]) sum += work_[++width];
    return width;
  }

  // What one thread decides.

  OCELLUS_TEAM_FUNCTION int found_sides() const noexcept {
    int count = 0;
    for (int side = 0; side < InkOutline::kSides; ++side) count += a_.lines[side].found ? 1 : 0;
    return count;
  }

  OCELLUS_TEAM_FUNCTION void choose(int stroke) const noexcept {
    for (const int side : {kLeft, kRight}) {
      Line& line = a_.lines[side];
      line.found = line.found && line.covers(kUprightCoverage) && line.ends;
    }
    const auto is_thin = [stroke](const Line& line) {
      return 100 * line.thickness <= kThinner * stroke;
    };
    if (found_sides() < 3) drop_strokes(is_thin);
    if (found_sides() == 0) return;
    // Pieces of the other sides, which lie partly outside of the field.
    for (int side = 0; side < InkOutline::kSides; ++side) {
      Line& line = a_.lines[side];
      line.found =
          line.found || (line.covers(kPieceCoverage) && line.distance <= kContact && is_thin(line));
    }
  }

  /// Of one or two lines, those that may be strokes of digits count as none.
  template <typename IsThin>
  OCELLUS_TEAM_FUNCTION void drop_strokes(const IsThin& is_thin) const noexcept {
    Line* const lines = a_.lines;
    const bool both = lines[kLeft].found && lines[kRight].found;
    const bool corner =
        (lines[kTop].found || lines[kBottom].found) && (lines[kLeft].found || lines[kRight].found);
    for (int side = 0; side < InkOutline::kSides; ++side) {
      Line& line = lines[side];
      if (!line.found) continue;
      const bool upright = side >= kLeft;
      const bool contact = line.distance <= kContact;
      // What no strokes of digits have: lengths of several digits, or two sides of a corner.
      const bool longer = !upright && is_wide() && line.ends && line.covers(kUnbroken);
      line.found =
          corner || longer || (contact && line.ends && ((upright && both) || is_thin(line)));
    }
  }

  OCELLUS_TEAM_FUNCTION std::int16_t cut_of(int side, const Line& line, int at) const noexcept {
    if (!line.found) return 0;
    int inner = line_at(side, line, at) + (line.thickness << kUnitBits);
    const Edge& edge = a_.edges[side][at];
    // The rough edge of the line is part of it.
    const int own = (edge.distance + edge.thickness) << kUnitBits;
    if (is_on(side, line, at) && std::max(own - inner, inner - own) <= kJitter) inner = own;
    return static_cast<std::int16_t>(std::max(0, (inner + kHalf) >> kUnitBits));
  }

  Team team_;
  InkOutline a_;
  int* work_;
};

}  // namespace ocellus::detail
