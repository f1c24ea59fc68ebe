// Cuts ink that holds several touching characters, for the host and for devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "neocognitron/character_choice.h"
#include "neocognitron/part_search.h"
#include "neocognitron/team.h"

namespace ocellus::detail {

/// The grid of cells into which a group is drawn.
inline constexpr int kSplitRows = 64;
inline constexpr int kSplitColumns = 512;

/// Where the grid of a group lies.
struct SplitGrid {
  int left = 0;
  int top = 0;
  int bottom = 0;
  int slant = 0;
  int cell = 1;  ///< side of a cell in pixels

  static constexpr int kSlantUnit = 8;  ///< a slant of 1 to the right is 45 degrees
  static constexpr int kMostSlant = 8;

  /// Pixels by which row y is moved to the right, so that strokes become upright.
  constexpr int shift(int y) const noexcept {
    return slant >= 0 ? slant * (y - top) / kSlantUnit : -slant * (bottom - 1 - y) / kSlantUnit;
  }
};

/// The cuts of a group, from left to right.
struct GroupCuts {
  /// Costs and fits are in 1/kUnit.
  static constexpr int kUnit = 1024;
  /// What is no candidate has this fit.
  static constexpr int kNoFit = -(1 << 30);

  SplitGrid grid;
  int segments;  ///< between the cuts, at most kMaxClusterSegments; 1: no cut is plausible
  int stroke;    ///< mean thickness of the strokes, in pixels
  std::uint16_t paths[kMaxClusterSegments - 1][kSplitRows];
  /// How well the segments from the first to the last index fit one character: 0 is best.
  int fits[kMaxClusterSegments][kMaxClusterSegments];

  /// The column of cut `cut` (of segments - 1) at row y.
  constexpr int cut_at(int cut, int y) const noexcept {
    return grid.left + paths[cut][(y - grid.top) / grid.cell] * grid.cell - grid.shift(y);
  }
};

/// The work memory of a splitter.
struct SplitArrays {
  static constexpr int kCandidates = 40;
  static constexpr int kBoundaries = kCandidates + 1;
  static constexpr int kWords = kSplitColumns / 32;

  std::uint8_t* ink;  ///< share of ink of a cell, 0 to InkSplitter::kFull
  int* bits;          ///< cells with ink, kWords for each row
  int* counts;        ///< pixels of ink of a cell
  // Costs of the cheapest path, the cell included, in the memory of `counts`.
  std::uint16_t* from_top;
  std::uint16_t* to_bottom;
  std::uint16_t* paths;  ///< column of each row, for each candidate
  int* middle;           ///< cost of the path through each cell of the middle row
  int* pieces;           ///< costs between two boundaries
  /// Small arrays of candidates.
  struct Lists {
    int centers[kCandidates];
    int costs[kCandidates];
    int best[kBoundaries];  ///< least cost of the pieces to the left. The last entry is the end
    int before[kBoundaries];
    int counts[kBoundaries];        ///< pieces
    int states[kCandidates];        ///< InkSplitter::State
    int next[kMaxClusterSegments];  ///< the cheapest cut that can be added, and its cost
    int cuts[kMaxClusterSegments];
    bool planned[kMaxClusterSegments];
    int candidates;
    int segments;  ///< of the best split
    int first;     ///< column of pixels
    int last;
    int ink;
    int horizontal;
    int vertical;
  };
  Lists* lists;

  /// `Memory` is LayoutBuilder. A template may be constexpr, so that devices can call it.
  template <typename Memory>
  constexpr void layout(Memory& memory) noexcept {
    constexpr auto kCells = static_cast<std::size_t>(kSplitRows * kSplitColumns);
    ink = memory.template take<std::uint8_t>(kCells);
    bits = memory.template take<int>(kSplitRows * kWords);
    counts = memory.template take<int>(kCells);
    from_top = reinterpret_cast<std::uint16_t*>(counts);
    to_bottom = from_top == nullptr ? nullptr : from_top + kCells;
    paths = memory.template take<std::uint16_t>(kSplitRows * kCandidates);
    middle = memory.template take<int>(kSplitColumns);
    pieces = memory.template take<int>(kBoundaries * kBoundaries);
    lists = memory.template take<Lists>(1);
  }
};

/// Cuts a group along paths from top to bottom that cross little ink. The group is drawn into a
/// grid of limited size, so the time is bounded. Rows are shifted by the slant of the strokes, so
/// that the widths of pieces do not depend on it.
///
/// For each cell, the cost of the cheapest path to the top and to the bottom is computed. Paths
/// through the local minima of the middle row are the candidates. The subset of candidates with the
/// least cost of crossings and of widths of pieces is chosen. It may be empty. Beside the cuts of
/// the best split, there are others that cross little ink.
///
/// A stroke that a cut crosses costs its thickness, in units of the mean stroke of the group. The
/// width of a piece is in units of the height of a character.
template <typename Team>
class InkSplitter {
 public:
  static constexpr int kFull = 64;  ///< a cell full of ink

  /// `runs`: of the group. `out`: the result.
  OCELLUS_TEAM_FUNCTION InkSplitter(const Team& team, const SplitArrays& arrays, const InkRun* runs,
                                    const FoundGroup& group, GroupCuts& out) noexcept
      : team_(team), a_(arrays), l_(*arrays.lists), runs_(runs), group_(group), out_(out) {}

  /// A measure of the time of `plan` and of drawing the segments.
  OCELLUS_TEAM_FUNCTION static int cost(const FoundGroup& group) noexcept {
    constexpr int kRunCost = 16;  // in cells
    return std::min(group.box.width() * group.box.height(), kSplitRows * kSplitColumns) +
           kRunCost * group.run_count;
  }

  /// `height`: of characters, in 1/4 of a pixel.
  OCELLUS_TEAM_FUNCTION void plan(int height) noexcept {
    place();
    height_ = std::max(height, 4 * cell_);
    segments_ = 1;
    // The counts of pixels of a cell must fit 16 bits.
    if (columns_ >= 4 && rows_ >= 4 && cell_ <= 255) {
      draw();
      sweep();
      measure_stroke();
      find_candidates(std::max(2, height_ / (10 * 4 * cell_)));
      measure_pieces();
      choose_cuts();
      add_cuts(std::max(2, height_ / (5 * 4 * cell_)));
    }
    write();
  }

 private:
  // Weights in 1/GroupCuts::kUnit.
  static constexpr int kCrossing = 1792;  // for a stroke that is crossed
  static constexpr int kCut = 174;        // for each cut
  static constexpr int kWidest = 840;     // wider pieces cost
  static constexpr int kWide = 7270;      // for the square of the excess
  static constexpr int kNarrowest = 338;  // narrower pieces cost
  static constexpr int kNarrow = 19968;   // for the square of what is lacking
  static constexpr int kLowest = 696;     // lower pieces cost
  static constexpr int kLow = 12288;      // for the square of what is lacking
  static constexpr int kShortest = 410;   // still lower pieces are not permitted
  static constexpr int kForbidden = 1 << 28;
  static constexpr int kWorstFit = -4096;  // of a candidate that is no piece of the best split
  static constexpr int kSideways = 5;      // for a step to the side, in 1/kFull of a cell
  static constexpr int kMostCost = 3;      // strokes that a path of a candidate may cross
  static constexpr int kMostCrossed = 2;   // strokes that a cut beside the best split may cross
  static constexpr int kColumns = kSplitColumns;

  enum State : int { kOpen, kClosed, kAdded, kPlanned };

  /// Sets the grid.
  OCELLUS_TEAM_FUNCTION void place() noexcept {
    constexpr int kMostSlant = SplitGrid::kMostSlant;
    constexpr int kSlantUnit = SplitGrid::kSlantUnit;
    const InkComponent& box = group_.box;
    const int widest = box.width() + kMostSlant * box.height() / kSlantUnit + 1;
    cell_ = std::max(std::max(1, (box.height() + kSplitRows - 1) / kSplitRows),
                     (widest + kColumns - 1) / kColumns);
    rows_ = (box.height() + cell_ - 1) / cell_;
    // 6/5 of the slant is made upright.
    const StrokeSlant& slant = group_.slant;
    const int steps = 6 * kSlantUnit * std::max(slant.steps, -slant.steps);
    const int rounded = slant.rows > 0 ? (steps + 5 * slant.rows) / (10 * slant.rows) : 0;
    const int limited = std::min(rounded, +kMostSlant);
    grid_ = {0, box.top, box.bottom, slant.steps < 0 ? -limited : limited, cell_};
    int first = box.left + widest;
    int last = box.left;
    if (team_.index() == 0) {
      l_.first = first;
      l_.last = last;
      l_.ink = l_.horizontal = l_.vertical = 0;
    }
    team_.barrier();
    share(team_, group_.run_count, [&](int i) {
      const int shift = grid_.shift(runs_[i].y);
      first = std::min(first, runs_[i].first + shift);
      last = std::max(last, runs_[i].end + shift);
    });
    first = -team_.combine_lanes(-first, Larger());
    last = team_.combine_lanes(last, Larger());
    if (team_.lane() == 0) {
      team_.lower(l_.first, first);
      team_.raise(l_.last, last);
    }
    team_.barrier();
    grid_.left = l_.first;
    columns_ = (l_.last - l_.first + cell_ - 1) / cell_;
  }

  /// Calls use(row, x) for all cells. Squads take rows.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void for_each_cell(const Use& use) const noexcept {
    share_among_squads(team_, rows_, [&](int row) {
      OCELLUS_TEAM_LOOP
      for (int x = team_.lane(); x < columns_; x += team_.lanes()) use(row, x);
    });
  }

  OCELLUS_TEAM_FUNCTION void draw() const noexcept {
    share(team_, rows_ * columns_, [&](int i) { a_.counts[i] = 0; });
    share(team_, rows_ * SplitArrays::kWords, [&](int i) { a_.bits[i] = 0; });
    team_.barrier();
    share(team_, group_.run_count, [&](int i) {
      const InkRun run = runs_[i];
      const int shift = grid_.shift(run.y) - grid_.left;
      int* const cells = a_.counts + (run.y - grid_.top) / cell_ * columns_;
      int x = run.first + shift;
      int column = x / cell_;
      for (int next = (column + 1) * cell_; x < run.end + shift; next += cell_, ++column) {
        const int end = std::min(next, run.end + shift);
        team_.add(cells[column], end - x);
        x = end;
      }
    });
    team_.barrier();
    for_each_cell([&](int row, int x) {
      const int at = row * columns_ + x;
      const int ink = a_.counts[at] * kFull / (cell_ * cell_);
      a_.ink[at] = static_cast<std::uint8_t>(ink);
      if (ink != 0)
        team_.add(a_.bits[row * SplitArrays::kWords + x / 32], static_cast<int>(1u << x % 32));
    });
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void sweep() const noexcept {
    const int last = rows_ - 1;
    share_pairs(team_, columns_, [&](int side, int x) {
      if (side == 0)
        a_.from_top[x] = a_.ink[x];
      else
        a_.to_bottom[last * columns_ + x] = a_.ink[last * columns_ + x];
    });
    OCELLUS_TEAM_LOOP
    for (int step = 1; step < rows_; ++step) {
      team_.barrier();
      share_pairs(team_, columns_, [&](int side, int x) {
        const int at = (side == 0 ? step : last - step) * columns_ + x;
        std::uint16_t* const costs = (side == 0 ? a_.from_top : a_.to_bottom) + at;
        const std::uint16_t* const from = costs + (side == 0 ? -columns_ : columns_);
        int best = from[0];
        if (x > 0) best = std::min(best, from[-1] + kSideways);
        if (x + 1 < columns_) best = std::min(best, from[1] + kSideways);
        *costs = static_cast<std::uint16_t>(best + a_.ink[at]);
      });
    }
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void measure_stroke() noexcept {
    // Ink divided by the number of its left edges is the mean length of horizontal runs; in the
    // same way for vertical runs. The smaller one is the better estimate of the stroke.
    int ink = 0;
    int horizontal = 0;
    int vertical = 0;
    for_each_cell([&](int row, int x) {
      const std::uint8_t* const at = a_.ink + row * columns_ + x;
      const auto is_ink = [](std::uint8_t cell) { return cell * 2 >= kFull; };
      ink += *at;
      if (!is_ink(*at)) return;
      horizontal += x == 0 || !is_ink(at[-1]) ? 1 : 0;
      vertical += row == 0 || !is_ink(at[-columns_]) ? 1 : 0;
    });
    add_from_all(team_, l_.ink, ink);
    add_from_all(team_, l_.horizontal, horizontal);
    add_from_all(team_, l_.vertical, vertical);
    share(team_, columns_, [&](int x) {
      const int at = rows_ / 2 * columns_ + x;
      a_.middle[x] = a_.from_top[at] + a_.to_bottom[at] - a_.ink[at];
    });
    team_.barrier();
    const int edges = std::max(std::max(1, l_.horizontal), l_.vertical);
    stroke_ = std::max(kFull * kFull, static_cast<int>(std::int64_t{kFull} * l_.ink / edges));
  }

  /// The middle of the local minimum of `middle` that begins at x, -1: none does. A plateau whose
  /// first place is above its left neighbor begins behind this place.
  OCELLUS_TEAM_FUNCTION int minimum_at(int x, int least_distance) const noexcept {
    const int* const cost = a_.middle;
    const int end = columns_ - least_distance;
    if (x < least_distance || x >= end) return -1;
    const int here = cost[x];
    const bool is_first = x == least_distance ? cost[x - 1] >= here : cost[x - 1] > here;
    const bool is_second = x > least_distance && cost[x - 1] == here && cost[x - 2] < here;
    if (!is_first && !is_second) return -1;
    // On a plateau, the middle is taken.
    int last = x;
    while (last + 1 < end && cost[last + 1] == here) ++last;
    if (cost[last + 1] < here || std::int64_t{kFull} * here > std::int64_t{kMostCost} * stroke_)
      return -1;
    return (x + last) / 2;
  }

  OCELLUS_TEAM_FUNCTION void find_candidates(int least_distance) noexcept {
    static_assert(2 * kColumns <= SplitArrays::kBoundaries * SplitArrays::kBoundaries);
    int* const places = a_.pieces;
    int* const minima = a_.pieces + kColumns;
    share(team_, columns_, [&](int x) { places[x] = minimum_at(x, least_distance) < 0 ? 0 : 1; });
    const int found = team_.scan(places, columns_);
    share(team_, columns_, [&](int x) {
      const int center = minimum_at(x, least_distance);
      if (center >= 0) minima[places[x]] = center;
    });
    team_.barrier();
    if (team_.index() == 0) {
      int count = 0;
      for (int i = 0; i < found; ++i) {
        const int center = minima[i];
        const int here = a_.middle[center];
        const bool near = count > 0 && center - l_.centers[count - 1] < least_distance;
        if (near && l_.costs[count - 1] <= here) continue;
        if (!near && count == SplitArrays::kCandidates) break;
        if (!near) ++count;
        l_.costs[count - 1] = here;
        l_.centers[count - 1] = center;
      }
      l_.candidates = count;
    }
    team_.barrier();
    candidates_ = l_.candidates;
    share_pairs(team_, candidates_,
                [&](int side, int c) { trace(side, l_.centers[c], a_.paths + c * kSplitRows); });
    team_.barrier();
  }

  /// Side 0: from the middle to the top, 1: to the bottom.
  OCELLUS_TEAM_FUNCTION void trace(int side, int x, std::uint16_t* path) const noexcept {
    const int step = side == 0 ? -1 : 1;
    const std::uint16_t* const costs = side == 0 ? a_.from_top : a_.to_bottom;
    int y = rows_ / 2;
    if (side == 0) path[y] = static_cast<std::uint16_t>(x);
    OCELLUS_TEAM_LOOP
    for (y += step; y >= 0 && y < rows_; y += step) {
      const std::uint16_t* const row = costs + y * columns_;
      const int left = x > 0 ? row[x - 1] + kSideways : kForbidden;
      const int right = x + 1 < columns_ ? row[x + 1] + kSideways : kForbidden;
      const int here = row[x];
      if (std::min(left, right) < here) x += right < left ? 1 : -1;
      path[y] = static_cast<std::uint16_t>(x);
    }
  }

  OCELLUS_TEAM_FUNCTION int boundary(int candidate, int y) const noexcept {
    if (candidate < 0) return 0;
    if (candidate >= candidates_) return columns_;
    return a_.paths[candidate * kSplitRows + y];
  }
  OCELLUS_TEAM_FUNCTION bool has_ink(int row, int left, int right) const noexcept {
    const int* const bits = a_.bits + row * SplitArrays::kWords;
    OCELLUS_TEAM_LOOP
    for (int x = left; x < right; x = (x / 32 + 1) * 32) {
      std::uint32_t word = static_cast<std::uint32_t>(bits[x / 32]) >> x % 32;
      if (right - x < 32 - x % 32) word &= (1u << (right - x)) - 1u;
      if (word != 0) return true;
    }
    return false;
  }

  /// Rows of a piece with ink, and its cells.
  struct Extent {
    int first;
    int last;
    int area;
    int crossed;  ///< not 0: one boundary crosses the other

    OCELLUS_TEAM_FUNCTION friend Extent operator+(const Extent& a, const Extent& b) noexcept {
      return {std::min(a.first, b.first), std::max(a.last, b.last), a.area + b.area,
              a.crossed | b.crossed};
    }
  };

  /// The cost of a piece between two boundaries. A squad calls it.
  OCELLUS_TEAM_FUNCTION int piece_cost(int from, int to) const noexcept {
    Extent extent{rows_, -1, 0, 0};
    OCELLUS_TEAM_LOOP
    for (int y = team_.lane(); y < rows_; y += team_.lanes()) {
      const int left = boundary(from, y);
      const int right = boundary(to, y);
      extent.area += right - left;
      if (right < left) {
        extent.crossed = 1;
        break;
      }
      if (has_ink(y, left, right)) extent = extent + Extent{y, y, 0, 0};
    }
    extent = team_.combine_lanes(extent, Plus());
    if (extent.crossed != 0) return kForbidden;
    // Lengths in characters.
    const std::int64_t unit = 4 * GroupCuts::kUnit * cell_;
    const bool whole = from < 0 && to >= candidates_;
    const std::int64_t height =
        whole ? GroupCuts::kUnit : (extent.last + 1 - extent.first) * unit / height_;
    if (height < kShortest) return kForbidden;
    const std::int64_t width = extent.area * unit / (std::int64_t{height_} * rows_);
    const auto squared = [](int weight, std::int64_t excess) {
      return excess > 0 ? weight * excess * excess : 0;
    };
    const std::int64_t cost =
        (squared(kWide, width - kWidest) + squared(kNarrow, kNarrowest - width) +
         squared(kLow, kLowest - height)) /
        (GroupCuts::kUnit * GroupCuts::kUnit);
    return static_cast<int>(std::min<std::int64_t>(cost, +kForbidden));
  }
  OCELLUS_TEAM_FUNCTION int cut_cost(int candidate) const noexcept {
    if (candidate < 0 || candidate >= candidates_) return 0;
    return kCut + static_cast<int>(std::int64_t{kCrossing} * kFull * l_.costs[candidate] / stroke_);
  }

  OCELLUS_TEAM_FUNCTION int& piece(int from, int to) const noexcept {
    return a_.pieces[(from + 1) * SplitArrays::kBoundaries + to];
  }
  OCELLUS_TEAM_FUNCTION void measure_pieces() const noexcept {
    const int boundaries = candidates_ + 1;
    share_among_squads(team_, boundaries * boundaries, [&](int i) {
      const int from = i / boundaries - 1;
      const int to = i % boundaries;
      if (from >= to) return;
      const int cost = piece_cost(from, to);
      if (team_.lane() == 0) piece(from, to) = cost;
    });
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void choose_cuts() noexcept {
    share(team_, candidates_ + 1, [&](int i) {
      l_.best[i] = piece(-1, i);
      l_.before[i] = -1;
      l_.counts[i] = 1;
    });
    OCELLUS_TEAM_LOOP
    for (int i = 0; i < candidates_; ++i) {
      team_.barrier();
      if (l_.counts[i] == kMaxClusterSegments) continue;
      const int until = l_.best[i] + cut_cost(i);
      share(team_, candidates_ - i, [&](int k) {
        const int to = i + 1 + k;
        const int cost = until + piece(i, to);
        if (cost >= l_.best[to]) return;
        l_.best[to] = cost;
        l_.before[to] = i;
        l_.counts[to] = l_.counts[i] + 1;
      });
    }
    team_.barrier();
    if (team_.index() == 0) {
      l_.segments = l_.counts[candidates_];
      for (int i = l_.segments - 2, at = candidates_; i >= 0; --i) l_.cuts[i] = at = l_.before[at];
    }
    share(team_, kMaxClusterSegments, [&](int i) { l_.next[i] = kForbidden; });
    team_.barrier();
    segments_ = l_.segments;
  }

  /// The cheapest cuts first, as long as they are not near others.
  OCELLUS_TEAM_FUNCTION void add_cuts(int least_distance) noexcept {
    const auto is_near = [&](int candidate, int other) {
      const int to = l_.centers[other] - l_.centers[candidate];
      return std::max(to, -to) < least_distance;
    };
    share(team_, candidates_, [&](int c) {
      const int x = l_.centers[c];
      int state = std::int64_t{kFull} * l_.costs[c] > std::int64_t{kMostCrossed} * stroke_ ||
                          x < least_distance || x > columns_ - least_distance
                      ? kClosed
                      : kOpen;
      for (int i = 0; i < segments_ - 1; ++i) {
        if (is_near(c, l_.cuts[i])) state = std::max(state, +kClosed);
        if (c == l_.cuts[i]) state = kPlanned;
      }
      l_.states[c] = state;
    });
    // A cost and the index of its candidate are one number.
    static_assert(SplitArrays::kCandidates <= 64);
    OCELLUS_TEAM_LOOP
    while (segments_ < kMaxClusterSegments) {
      int& next = l_.next[segments_];
      share(team_, candidates_, [&](int c) {
        if (l_.states[c] == kOpen) team_.lower(next, l_.costs[c] * 64 + c);
      });
      team_.barrier();
      if (next == kForbidden) break;
      const int added = next % 64;
      share(team_, candidates_, [&](int c) {
        if (c == added)
          l_.states[c] = kAdded;
        else if (l_.states[c] == kOpen && is_near(c, added))
          l_.states[c] = kClosed;
      });
      ++segments_;
    }
    team_.barrier();
    share(team_, candidates_, [&](int c) {
      if (l_.states[c] < kAdded) return;
      int place = 0;
      for (int before = 0; before < c; ++before) place += l_.states[before] >= kAdded ? 1 : 0;
      l_.cuts[place] = c;
      l_.planned[place] = l_.states[c] == kPlanned;
    });
    team_.barrier();
  }

  /// The segments are a piece of the best split.
  OCELLUS_TEAM_FUNCTION bool planned(int first, int last) const noexcept {
    for (int i = first; i < last; ++i)
      if (l_.planned[i]) return false;
    return (first == 0 || l_.planned[first - 1]) && (last + 1 == segments_ || l_.planned[last]);
  }
  OCELLUS_TEAM_FUNCTION int fit(int first, int last) const noexcept {
    const int from = first == 0 ? -1 : l_.cuts[first - 1];
    const int to = last + 1 == segments_ ? candidates_ : l_.cuts[last];
    const int fit = -piece(from, to) - (cut_cost(from) + cut_cost(to)) / 2;
    return fit < kWorstFit && !planned(first, last) ? GroupCuts::kNoFit : fit;
  }

  OCELLUS_TEAM_FUNCTION void write() const noexcept {
    if (team_.index() == 0) {
      out_.grid = grid_;
      out_.segments = segments_;
      out_.stroke = static_cast<int>(std::int64_t{stroke_} * cell_ / (kFull * kFull));
    }
    if (segments_ > 1) {
      share(team_, (segments_ - 1) * kSplitRows, [&](int i) {
        const int cut = i / kSplitRows;
        out_.paths[cut][i % kSplitRows] = a_.paths[l_.cuts[cut] * kSplitRows + i % kSplitRows];
      });
      share(team_, segments_ * segments_, [&](int i) {
        const int first = i / segments_;
        const int last = i % segments_;
        if (first <= last) out_.fits[first][last] = fit(first, last);
      });
    }
    team_.barrier();
  }

  Team team_;
  SplitArrays a_;
  SplitArrays::Lists& l_;
  const InkRun* runs_;
  FoundGroup group_;
  GroupCuts& out_;
  SplitGrid grid_;
  int cell_ = 1;
  int columns_ = 0;
  int rows_ = 0;
  int candidates_ = 0;
  int segments_ = 1;
  int height_ = 4;  ///< of a character, in 1/4 of a pixel
  /// Thickness of a stroke in 1/kFull of a cell, times kFull: the cost of a path that crosses it.
  int stroke_ = kFull * kFull;
};

}  // namespace ocellus::detail
