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

/// The cuts of a group, from left to right.
struct GroupCuts {
  /// Costs and fits are in 1/kUnit.
  static constexpr int kUnit = 1024;
  /// What is no candidate has this fit.
  static constexpr int kNoFit = -(1 << 30);

  int segments;  ///< between the cuts, at most kMaxClusterSegments; 1: no cut is plausible
  int left;      ///< of the grid
  int top;
  int bottom;
  int slant;
  int cell;    ///< side of a cell in pixels
  int stroke;  ///< mean thickness of the strokes, in pixels
  std::uint16_t paths[kMaxClusterSegments - 1][kSplitRows];
  /// How well the segments from the first to the last index fit one character: 0 is best.
  int fits[kMaxClusterSegments][kMaxClusterSegments];

  static constexpr int kSlantUnit = 8;  ///< a slant of 1 to the right is 45 degrees
  static constexpr int kMostSlant = 8;

  /// Pixels by which row y is moved to the right, so that strokes become upright.
  constexpr int shift(int y) const noexcept {
    return slant >= 0 ? slant * (y - top) / kSlantUnit : -slant * (bottom - 1 - y) / kSlantUnit;
  }
  /// The column of cut `cut` (of segments - 1) at row y.
  constexpr int cut_at(int cut, int y) const noexcept {
    return left + paths[cut][(y - top) / cell] * cell - shift(y);
  }
};

/// The work memory of a splitter.
struct SplitArrays {
  static constexpr int kCandidates = 40;
  static constexpr int kBoundaries = kCandidates + 1;
  static constexpr int kWords = kSplitColumns / 32;

  std::uint8_t* ink;        ///< share of ink of a cell, 0 to InkSplitter::kFull
  std::uint32_t* bits;      ///< cells with ink, kWords for each row
  std::uint16_t* from_top;  ///< cost of the cheapest path, the cell included
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
    int counts[kBoundaries];  ///< pieces
    int cuts[kMaxClusterSegments];
    bool planned[kMaxClusterSegments];
    int candidates;
    int segments;
    int first;  ///< column of pixels
    int last;
    int ink;
    int horizontal;
    int vertical;
  };
  Lists* lists;

  void layout(LayoutBuilder& memory) noexcept {
    constexpr auto kCells = static_cast<std::size_t>(kSplitRows * kSplitColumns);
    ink = memory.take<std::uint8_t>(kCells);
    bits = memory.take<std::uint32_t>(kSplitRows * kWords);
    from_top = memory.take<std::uint16_t>(kCells);
    to_bottom = memory.take<std::uint16_t>(kCells);
    paths = memory.take<std::uint16_t>(kSplitRows * kCandidates);
    middle = memory.take<int>(kSplitColumns);
    pieces = memory.take<int>(kBoundaries * kBoundaries);
    lists = memory.take<Lists>(1);
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
      if (team_.index() == 0) {
        choose_cuts();
        add_cuts(std::max(2, height_ / (5 * 4 * cell_)));
      }
      team_.barrier();
      segments_ = l_.segments;
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

  /// Sets the grid.
  OCELLUS_TEAM_FUNCTION void place() noexcept {
    constexpr int kMostSlant = GroupCuts::kMostSlant;
    constexpr int kSlantUnit = GroupCuts::kSlantUnit;
    const InkComponent& box = group_.box;
    const int widest = box.width() + kMostSlant * box.height() / kSlantUnit + 1;
    cell_ = std::max(std::max(1, (box.height() + kSplitRows - 1) / kSplitRows),
                     (widest + kColumns - 1) / kColumns);
    rows_ = (box.height() + cell_ - 1) / cell_;
    if (team_.index() == 0) {
      // 6/5 of the slant is made upright.
      const StrokeSlant& slant = group_.slant;
      const int steps = 6 * kSlantUnit * std::max(slant.steps, -slant.steps);
      const int rounded = slant.rows > 0 ? (steps + 5 * slant.rows) / (10 * slant.rows) : 0;
      const int limited = std::min(rounded, +kMostSlant);
      out_.slant = slant.steps < 0 ? -limited : limited;
      out_.top = box.top;
      out_.bottom = box.bottom;
      out_.cell = cell_;
      l_.first = box.left + widest;
      l_.last = box.left;
      l_.ink = l_.horizontal = l_.vertical = 0;
      l_.candidates = 0;
    }
    team_.barrier();
    share(team_, group_.run_count, [&](int i) {
      const int shift = out_.shift(runs_[i].y);
      team_.lower(l_.first, runs_[i].first + shift);
      team_.raise(l_.last, runs_[i].end + shift);
    });
    team_.barrier();
    columns_ = (l_.last - l_.first + cell_ - 1) / cell_;
  }

  OCELLUS_TEAM_FUNCTION void draw() const noexcept {
    std::uint16_t* const counts = a_.from_top;
    share(team_, rows_ * columns_, [&](int i) { counts[i] = 0; });
    team_.barrier();
    share(team_, rows_, [&](int row) {
      const int top = out_.top + row * cell_;
      int first = 0;
      for (int end = group_.run_count; first < end;) {
        const int middle = (first + end) / 2;
        if (runs_[middle].y < top)
          first = middle + 1;
        else
          end = middle;
      }
      std::uint16_t* const cells = counts + row * columns_;
      for (int i = first; i < group_.run_count && runs_[i].y < top + cell_; ++i) {
        const int shift = out_.shift(runs_[i].y) - l_.first;
        const int run_end = runs_[i].end + shift;
        for (int x = runs_[i].first + shift; x < run_end;) {
          const int column = x / cell_;
          const int end = std::min((column + 1) * cell_, run_end);
          cells[column] = static_cast<std::uint16_t>(cells[column] + (end - x));
          x = end;
        }
      }
    });
    team_.barrier();
    share(team_, rows_ * columns_, [&](int i) {
      a_.ink[i] = static_cast<std::uint8_t>(counts[i] * kFull / (cell_ * cell_));
    });
    team_.barrier();
    share(team_, rows_ * SplitArrays::kWords, [&](int i) {
      const int row = i / SplitArrays::kWords;
      const int first = i % SplitArrays::kWords * 32;
      std::uint32_t bits = 0;
      for (int x = first; x < std::min(first + 32, columns_); ++x)
        bits |= (a_.ink[row * columns_ + x] != 0 ? 1u : 0u) << (x - first);
      a_.bits[i] = bits;
    });
  }

  OCELLUS_TEAM_FUNCTION void sweep() const noexcept {
    const auto pass = [&](std::uint16_t* costs, int y, int from) {
      share(team_, columns_, [&](int x) {
        int best = costs[from * columns_ + x];
        if (x > 0) best = std::min(best, costs[from * columns_ + x - 1] + kSideways);
        if (x + 1 < columns_) best = std::min(best, costs[from * columns_ + x + 1] + kSideways);
        costs[y * columns_ + x] = static_cast<std::uint16_t>(best + a_.ink[y * columns_ + x]);
      });
    };
    const int last = rows_ - 1;
    share(team_, columns_, [&](int x) {
      a_.from_top[x] = a_.ink[x];
      a_.to_bottom[last * columns_ + x] = a_.ink[last * columns_ + x];
    });
    for (int y = 1; y < rows_; ++y) {
      team_.barrier();
      pass(a_.from_top, y, y - 1);
      pass(a_.to_bottom, last - y, last - y + 1);
    }
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void measure_stroke() noexcept {
    // Ink divided by the number of its left edges is the mean length of horizontal runs; in the
    // same way for vertical runs. The smaller one is the better estimate of the stroke.
    int ink = 0;
    int horizontal = 0;
    int vertical = 0;
    share(team_, rows_ * columns_, [&](int at) {
      const auto is_ink = [&](int i) { return a_.ink[i] * 2 >= kFull; };
      ink += a_.ink[at];
      if (!is_ink(at)) return;
      horizontal += at % columns_ == 0 || !is_ink(at - 1) ? 1 : 0;
      vertical += at < columns_ || !is_ink(at - columns_) ? 1 : 0;
    });
    team_.add(l_.ink, ink);
    team_.add(l_.horizontal, horizontal);
    team_.add(l_.vertical, vertical);
    share(team_, columns_, [&](int x) {
      const int at = rows_ / 2 * columns_ + x;
      a_.middle[x] = a_.from_top[at] + a_.to_bottom[at] - a_.ink[at];
    });
    team_.barrier();
    const int edges = std::max(std::max(1, l_.horizontal), l_.vertical);
    stroke_ = std::max(kFull * kFull, static_cast<int>(std::int64_t{kFull} * l_.ink / edges));
  }

  OCELLUS_TEAM_FUNCTION void find_candidates(int least_distance) noexcept {
    const int* const cost = a_.middle;
    int count = 0;
    int last = -least_distance;
    for (int x = least_distance; team_.index() == 0 && x < columns_ - least_distance; ++x) {
      const int here = cost[x];
      if (cost[x - 1] < here || cost[x + 1] < here) continue;
      // On a plateau, the middle is taken.
      int end = x;
      while (end + 1 < columns_ - least_distance && cost[end + 1] == here) ++end;
      const int center = (x + end) / 2;
      x = end;
      if (end + 1 < columns_ && cost[end + 1] < here) continue;
      if (std::int64_t{kFull} * here > std::int64_t{kMostCost} * stroke_) continue;
      const bool near = count > 0 && center - last < least_distance;
      if (near && l_.costs[count - 1] <= here) continue;
      if (!near && count == SplitArrays::kCandidates) break;
      if (!near) ++count;
      l_.costs[count - 1] = here;
      l_.centers[count - 1] = center;
      last = center;
    }
    if (team_.index() == 0) l_.candidates = count;
    team_.barrier();
    candidates_ = l_.candidates;
    share(team_, candidates_, [&](int c) { trace(l_.centers[c], a_.paths + c * kSplitRows); });
    team_.barrier();
  }

  OCELLUS_TEAM_FUNCTION void trace(int x, std::uint16_t* path) const noexcept {
    const auto follow = [&](const std::uint16_t* costs, int y, int at) {
      int best = costs[y * columns_ + at];
      int to = at;
      for (int side = at - 1; side <= at + 1; side += 2) {
        if (side < 0 || side >= columns_) continue;
        const int cost = costs[y * columns_ + side] + kSideways;
        if (cost < best) {
          best = cost;
          to = side;
        }
      }
      return static_cast<std::uint16_t>(to);
    };
    const int middle = rows_ / 2;
    path[middle] = static_cast<std::uint16_t>(x);
    for (int y = middle - 1; y >= 0; --y) path[y] = follow(a_.from_top, y, path[y + 1]);
    for (int y = middle + 1; y < rows_; ++y) path[y] = follow(a_.to_bottom, y, path[y - 1]);
  }

  OCELLUS_TEAM_FUNCTION int boundary(int candidate, int y) const noexcept {
    if (candidate < 0) return 0;
    if (candidate >= candidates_) return columns_;
    return a_.paths[candidate * kSplitRows + y];
  }
  OCELLUS_TEAM_FUNCTION bool has_ink(int row, int left, int right) const noexcept {
    const std::uint32_t* const bits = a_.bits + row * SplitArrays::kWords;
    for (int x = left; x < right; x = (x / 32 + 1) * 32) {
      std::uint32_t word = bits[x / 32] >> x % 32;
      if (right - x < 32 - x % 32) word &= (1u << (right - x)) - 1u;
      if (word != 0) return true;
    }
    return false;
  }

  /// The cost of a piece between two boundaries.
  OCELLUS_TEAM_FUNCTION int piece_cost(int from, int to) const noexcept {
    int first = rows_;
    int last = -1;
    int area = 0;
    for (int y = 0; y < rows_; ++y) {
      const int left = boundary(from, y);
      const int right = boundary(to, y);
      if (right < left) return kForbidden;
      area += right - left;
      if (!has_ink(y, left, right)) continue;
      first = std::min(first, y);
      last = y;
    }
    // Lengths in characters.
    const std::int64_t unit = 4 * GroupCuts::kUnit * cell_;
    const bool whole = from < 0 && to >= candidates_;
    const std::int64_t height = whole ? GroupCuts::kUnit : (last + 1 - first) * unit / height_;
    if (height < kShortest) return kForbidden;
    const std::int64_t width = area * unit / (std::int64_t{height_} * rows_);
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
    share(team_, boundaries * boundaries, [&](int i) {
      const int from = i / boundaries - 1;
      const int to = i % boundaries;
      if (from < to) piece(from, to) = piece_cost(from, to);
    });
    team_.barrier();
  }

  // What one thread decides.

  OCELLUS_TEAM_FUNCTION void choose_cuts() const noexcept {
    for (int i = 0; i <= candidates_; ++i) {
      l_.best[i] = piece(-1, i);
      l_.before[i] = -1;
      l_.counts[i] = 1;
      for (int j = 0; j < i; ++j) {
        if (l_.best[j] >= l_.best[i] || l_.counts[j] == kMaxClusterSegments) continue;
        const int cost = l_.best[j] + piece(j, i);
        if (cost < l_.best[i]) {
          l_.best[i] = cost;
          l_.before[i] = j;
          l_.counts[i] = l_.counts[j] + 1;
        }
      }
      l_.best[i] += cut_cost(i);
    }
    l_.segments = l_.counts[candidates_];
    for (int i = l_.segments - 2, at = candidates_; i >= 0; --i) {
      at = l_.before[at];
      l_.cuts[i] = at;
      l_.planned[i] = true;
    }
  }

  /// The cheapest cuts first, as long as they are not near others.
  OCELLUS_TEAM_FUNCTION void add_cuts(int least_distance) const noexcept {
    const auto middle = [&](int candidate) { return l_.centers[candidate]; };
    const auto is_near = [&](int x) {
      if (x < least_distance || x > columns_ - least_distance) return true;
      for (int i = 0; i < l_.segments - 1; ++i) {
        const int to = middle(l_.cuts[i]) - x;
        if (std::max(to, -to) < least_distance) return true;
      }
      return false;
    };
    while (l_.segments < kMaxClusterSegments) {
      int best = -1;
      for (int c = 0; c < candidates_; ++c) {
        if (std::int64_t{kFull} * l_.costs[c] > std::int64_t{kMostCrossed} * stroke_) continue;
        if (best >= 0 && l_.costs[c] >= l_.costs[best]) continue;
        if (!is_near(middle(c))) best = c;
      }
      if (best < 0) return;
      int at = l_.segments - 1;
      for (; at > 0 && l_.cuts[at - 1] > best; --at) {
        l_.cuts[at] = l_.cuts[at - 1];
        l_.planned[at] = l_.planned[at - 1];
      }
      l_.cuts[at] = best;
      l_.planned[at] = false;
      ++l_.segments;
    }
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
      out_.segments = segments_;
      out_.left = l_.first;
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
