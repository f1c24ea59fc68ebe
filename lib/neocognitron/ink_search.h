// The connected components of the runs of a field, without ruled lines, for the host and for
// devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "core/layout_builder.h"
#include "neocognitron/ink_run.h"
#include "neocognitron/outline_search.h"
#include "neocognitron/team.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

inline constexpr std::uint32_t kNoComponent = ~std::uint32_t{0};

/// A set of ink that is connected over the eight neighbors of a pixel.
struct InkComponent {
  int left = kMaxImageSide;
  int top = kMaxImageSide;
  int right = 0;              ///< one past the last column
  int bottom = 0;             ///< one past the last row
  std::int64_t contrast = 0;  ///< sum over the pixels of the runs' contrasts
  int area = 0;               ///< pixels
  int runs = 0;

  /// Adds a run that is not above the first one. Several threads may do so at the same time.
  template <typename Team>
  OCELLUS_TEAM_FUNCTION void add(const Team& team, const InkRun& run) noexcept {
    const int length = run.end - run.first;
    team.lower(left, run.first);
    team.raise(right, run.end);
    team.raise(bottom, run.y + 1);
    team.add(area, length);
    team.add(contrast, std::int64_t{run.contrast} * length);
    team.add(runs, 1);
  }
  OCELLUS_TEAM_FUNCTION void add(const InkRun& run) noexcept {
    top = std::min<int>(top, run.y);
    add(OneThread(), run);
  }

  constexpr void extend(const InkComponent& other) noexcept {
    left = std::min(left, other.left);
    top = std::min(top, other.top);
    right = std::max(right, other.right);
    bottom = std::max(bottom, other.bottom);
    area += other.area;
    contrast += other.contrast;
    runs += other.runs;
  }
  constexpr int width() const noexcept { return right - left; }
  constexpr int height() const noexcept { return bottom - top; }
  /// Mean difference to the background in 1/1024 of a gray level.
  constexpr int mean_contrast() const noexcept { return static_cast<int>(16 * contrast / area); }
};

/// Calls use(i, j) for each run i of [begin, end), runs of a row, and each run j of [above, begin),
/// runs of the row above, that touches it, also at a corner.
template <typename Use>
OCELLUS_TEAM_FUNCTION void for_each_touching(const InkRun* runs, int above, int begin, int end,
                                             const Use& use) noexcept {
  for (int i = begin; i < end; ++i) {
    while (above < begin && runs[above].end < runs[i].first) ++above;
    for (int j = above; j < begin && runs[j].first <= runs[i].end; ++j) use(i, j);
  }
}

/// Calls use(i, j) for all runs. They are sorted by rows and from left to right.
template <typename Use>
OCELLUS_TEAM_FUNCTION void for_each_touching(std::span<const InkRun> runs,
                                             const Use& use) noexcept {
  const auto count = static_cast<int>(runs.size());
  int above = 0;
  for (int begin = 0, end = 0; begin < count; above = begin, begin = end) {
    const int y = runs[static_cast<std::size_t>(begin)].y;
    while (end < count && runs[static_cast<std::size_t>(end)].y == y) ++end;
    if (runs[static_cast<std::size_t>(above)].y + 1 == y)
      for_each_touching(runs.data(), above, begin, end, use);
  }
}

/// The first run above run i that touches it; i if there is none. `row_begin`: the first run of
/// each row, and the number of all runs.
OCELLUS_TEAM_FUNCTION inline int first_touching(const InkRun* runs, const int* row_begin,
                                                int i) noexcept {
  const InkRun run = runs[i];
  if (run.y == 0) return i;
  const int end = row_begin[run.y];
  const int j =
      first_without(row_begin[run.y - 1], end, [&](int r) { return runs[r].end < run.first; });
  return j < end && runs[j].first <= run.end ? j : i;
}
/// Calls use(i, j) for all runs j that touch run i from `first` on, one of the row above or i.
template <typename Use>
OCELLUS_TEAM_FUNCTION void for_each_touching_from(const InkRun* runs, int i, int first,
                                                  const Use& use) noexcept {
  const InkRun run = runs[i];
  OCELLUS_TEAM_LOOP
  for (int j = first; runs[j].y < run.y && runs[j].first <= run.end; ++j) use(i, j);
}

/// Shares for_each_touching among the threads of a team, for the runs i with has(i).
template <typename Team, typename Has, typename Use>
OCELLUS_TEAM_FUNCTION void share_touching(const Team& team, const InkRun* runs,
                                          const int* row_begin, int height, const Has& has,
                                          const Use& use) noexcept {
  if (team.size() == 1) {
    for (int y = 1; y < height; ++y)
      for_each_touching(runs, row_begin[y - 1], row_begin[y], row_begin[y + 1], [&](int i, int j) {
        if (has(i)) use(i, j);
      });
    return;
  }
  share(team, row_begin[height], [&](int i) {
    if (has(i)) for_each_touching_from(runs, i, first_touching(runs, row_begin, i), use);
  });
}

/// Sets of runs, by the parent of each run, which is itself at first. The root of a set is its
/// first run, so labels follow the order of the rows.
template <typename Team>
struct RunSets {
  Team team;
  int* parents;

  /// Makes the sets of the runs that are connected.
  OCELLUS_TEAM_FUNCTION void connect(std::span<const InkRun> runs) const noexcept {
    std::iota(parents, parents + runs.size(), 0);
    for_each_touching(runs, [this](int i, int j) { unite(i, j); });
  }

  OCELLUS_TEAM_FUNCTION int root(int run) const noexcept {
    for (;;) {
      const int parent = team.read(parents[run]);
      if (parent == run) return run;
      const int next = team.read(parents[parent]);
      if (next == parent) return parent;
      team.lower(parents[run], next);  // others may change it, too
      run = next;
    }
  }
  /// Makes the root of a run its parent.
  OCELLUS_TEAM_FUNCTION void flatten(int run) const noexcept {
    team.lower(parents[run], root(run));
  }
  /// Several threads may unite sets at the same time.
  OCELLUS_TEAM_FUNCTION void unite(int a, int b) const noexcept {
    for (;;) {
      a = root(a);
      b = root(b);
      if (a == b) return;
      const int later = std::max(a, b);
      b = std::min(a, b);
      // Another thread may have found a parent for it.
      a = team.exchange_lower(parents[later], b);
      if (a == later) return;
    }
  }
};

/// The runs and components of a field. The arrays are in host memory or on a device.
struct InkArrays {
  ImageSize size;
  int least_height;  ///< lower components do not count as characters when rules are looked for
  int run_capacity;
  int component_capacity;
  InkRun* runs;  ///< by rows and from left to right
  InkRun* spare;
  int* row_begin;  ///< the first run of each row, and the number of all runs
  int* parents;    ///< of each run
  int* places;     ///< of each run
  InkComponent* components;
  // Not placed by `layout`.
  int* work;  ///< kSearchWork elements
  // For fewer than `near_capacity` runs, in the memory of a block.
  int near_capacity;
  int near_rows;  ///< for which there is room in `near_row_begin`
  int* near_row_begin;
  InkRun* near_runs;
  int* near_parents;
  int* near_places;
  InkOutline outline;

  /// `has_outline`: the field may have a printed outline, which is removed.
  void layout(ImageSize size, int least_height, bool has_outline, LayoutBuilder& memory) noexcept;
};
inline constexpr int kSearchWork = kOutlineWork;

/// The number of the runs of a field and of its components. `truncated`: some had no place.
struct InkCounts {
  int runs = 0;
  int components = 0;
  bool truncated = false;
};

/// Connects the runs of a field and numbers their components in the order of their first runs.
/// Removes the outline of the field, and ruled lines from components that are much wider than high.
/// Ink of strokes that meet a rule is kept.
template <typename Team>
class InkSearch {
 public:
  /// `runs`: all runs of the field, also those that had no place. `arrays.runs` and
  /// `arrays.row_begin` have those that had one.
  OCELLUS_TEAM_FUNCTION InkSearch(const Team& team, const InkArrays& arrays, int runs) noexcept
      : team_(team), a_(arrays), runs_(arrays.runs), row_begin_(arrays.row_begin) {
    set_count(runs);
  }

  OCELLUS_TEAM_FUNCTION InkCounts find() noexcept {
    if (a_.outline.reach > 0) {
      const OutlineSearch<Team> outline(team_, a_.outline, a_.work);
      if (outline.find(a_.runs, a_.row_begin)) {
        rewrite([&](const InkRun& run, const auto& keep) {
          outline.cut(run, keep);
          return true;
        });
      }
    }
    OCELLUS_TEAM_LOOP
    for (int pass = 0; pass < 2; ++pass) {
      connect();
      label();
      if (pass == 1 || !remove_rules()) break;
    }
    return counts_;
  }
  // Where the runs are in the end, and the first one of each row.
  OCELLUS_TEAM_FUNCTION const InkRun* runs() const noexcept { return runs_; }
  OCELLUS_TEAM_FUNCTION int* row_begin() const noexcept { return row_begin_; }

 private:
  static constexpr int kHeights = 512;  // of the histogram of heights
  static_assert(kHeights <= kSearchWork);
  // A rule is a run that is longer than its component is high, and than kLongRun heights of a
  // character. In percent, as the share of a rule that strokes may meet.
  static constexpr int kLongRun = 99;
  static constexpr int kMostCovered = 89;

  OCELLUS_TEAM_FUNCTION void set_count(int count) noexcept {
    counts_.truncated = counts_.truncated || count > a_.run_capacity;
    counts_.runs = std::min(count, a_.run_capacity);
  }

  OCELLUS_TEAM_FUNCTION void connect() noexcept {
    const bool near = counts_.runs < a_.near_capacity;
    sets_ = {team_, near ? a_.near_parents : a_.parents};
    places_ = near ? a_.near_places : a_.places;
    runs_ = near ? a_.near_runs : a_.runs;
    row_begin_ = near && a_.size.height < a_.near_rows ? a_.near_row_begin : a_.row_begin;
    if (team_.size() == 1) {
      sets_.connect({runs_, static_cast<std::size_t>(counts_.runs)});
      return;
    }
    if (runs_ != a_.runs) team_.copy_near(runs_, a_.runs, counts_.runs);
    if (row_begin_ != a_.row_begin) team_.copy_near(row_begin_, a_.row_begin, a_.size.height + 1);
    team_.barrier();
    // Most runs touch one run above. What remains are the few ends of arcs, whose sets are flat by
    // then: a set has no long chain of parents, and few threads change the same root.
    int* const firsts = places_;
    share(team_, counts_.runs,
          [&](int i) { firsts[i] = sets_.parents[i] = first_touching(runs_, row_begin_, i); });
    team_.barrier();
    share(team_, counts_.runs, [&](int i) {
      const int first = firsts[i];
      if (first == i) return;
      sets_.flatten(i);
      for_each_touching_from(runs_, i, first + 1, [&](int, int j) { sets_.unite(i, j); });
    });
    team_.barrier();
  }

  /// Numbers the sets, and measures them.
  OCELLUS_TEAM_FUNCTION void label() noexcept {
    share(team_, counts_.runs, [&](int i) {
      const int root = sets_.root(i);
      runs_[i].label = static_cast<std::uint32_t>(root);
      places_[i] = root == i ? 1 : 0;
    });
    const int found = team_.scan(places_, counts_.runs);
    counts_.truncated = counts_.truncated || found > a_.component_capacity;
    counts_.components = std::min(found, a_.component_capacity);
    // Most components are specks of one run.
    const auto is_first = [&](int i) { return static_cast<int>(runs_[i].label) == i; };
    share(team_, counts_.runs, [&](int i) {
      if (!is_first(i) || places_[i] >= a_.component_capacity) return;
      InkComponent component;
      component.add(runs_[i]);
      a_.components[places_[i]] = component;
    });
    team_.barrier();
    share(team_, counts_.runs, [&](int i) {
      InkRun& run = runs_[i];
      const bool first = is_first(i);
      const int component = places_[run.label];
      if (component >= a_.component_capacity) {
        run.label = kNoComponent;
        return;
      }
      run.label = static_cast<std::uint32_t>(component);
      if (!first) a_.components[component].add(team_, run);
    });
    team_.barrier();
  }

  /// The height below which three quarters of the components are, without specks.
  OCELLUS_TEAM_FUNCTION int typical_height() const noexcept {
    share(team_, kHeights, [&](int height) { a_.work[height] = 0; });
    team_.barrier();
    share(team_, counts_.components, [&](int c) {
      const int height = a_.components[c].height();
      if (height >= a_.least_height) team_.add(a_.work[std::min(height, kHeights - 1)], 1);
    });
    const int total = team_.scan(a_.work, kHeights);
    const int height = first_without(0, kHeights, [&](int h) {
      const int sum = h + 1 < kHeights ? a_.work[h + 1] : total;
      return 4 * sum <= 3 * total;
    });
    return height < kHeights ? height : a_.least_height;
  }

  /// Calls use(first, end) for each part of a run that has ink in a row near it.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void for_each_covered(const InkRun& run, int distance,
                                              const Use& use) const noexcept {
    const InkRun* rows[2];
    const InkRun* ends[2];
    for (int side = 0; side < 2; ++side) {
      const int y = side == 0 ? run.y - distance : run.y + distance;
      const bool inside = y >= 0 && y < a_.size.height;
      rows[side] = runs_ + (inside ? a_.row_begin[y] : 0);
      ends[side] = runs_ + (inside ? a_.row_begin[y + 1] : 0);
    }
    int first = run.first;  // of a part that grows
    int end = first;
    while (end < run.end) {
      // The ink behind `end` that begins first.
      int next = run.end;
      int next_end = run.end;
      for (int side = 0; side < 2; ++side) {
        while (rows[side] < ends[side] && rows[side]->end <= end) ++rows[side];
        if (rows[side] == ends[side] || rows[side]->first >= next) continue;
        next = rows[side]->first;
        next_end = std::min<int>(rows[side]->end, run.end);
      }
      if (next > end) {
        if (first < end) use(first, end);
        first = next;
      }
      end = next_end;
    }
    if (first < end) use(first, end);
  }

  /// Replaces each run by those that each(run, keep) keeps. It returns whether it changes the run.
  /// Returns whether a run has changed.
  template <typename Each>
  OCELLUS_TEAM_FUNCTION bool rewrite(const Each& each) noexcept {
    bool changed = false;
    share(team_, counts_.runs, [&](int i) {
      int kept = 0;
      if (each(runs_[i], [&](const InkRun&) { ++kept; })) changed = true;
      a_.places[i] = kept;
    });
    if (!team_.any(changed)) return false;
    const int count = team_.scan(a_.places, counts_.runs);
    share(team_, counts_.runs, [&](int i) {
      int at = a_.places[i];
      each(runs_[i], [&](const InkRun& run) {
        if (at < a_.run_capacity) a_.spare[at] = run;
        ++at;
      });
    });
    team_.barrier();
    share(team_, a_.size.height + 1, [&](int y) {
      const int begin = a_.row_begin[y];
      a_.row_begin[y] = std::min(begin < counts_.runs ? a_.places[begin] : count, a_.run_capacity);
    });
    team_.barrier();
    std::swap(a_.runs, a_.spare);
    runs_ = a_.runs;
    set_count(count);
    return true;
  }

  OCELLUS_TEAM_FUNCTION bool remove_rules() noexcept {
    const auto is_long = [this](const InkRun& run, int typical) {
      const int length = run.end - run.first;
      return 100 * length > kLongRun * typical && run.label != kNoComponent &&
             length > a_.components[run.label].height();
    };
    // Most fields have no run that is long even if all characters are low.
    const int lowest = std::min(a_.least_height, kHeights - 1);
    bool any = false;
    share(team_, counts_.runs, [&](int i) { any = any || is_long(runs_[i], lowest); });
    if (!team_.any(any)) return false;
    const int typical = typical_height();
    return rewrite([&](const InkRun& run, const auto& keep) {
      if (!is_long(run, typical)) {
        keep(run);
        return false;
      }
      const int length = run.end - run.first;
      // Ink above or below the rule belongs to strokes that meet it. Their pixels are kept.
      constexpr int kMinRuleThickness = 3;
      constexpr int kHeightsPerThickness = 8;
      const int thickness =
          std::max(kMinRuleThickness, a_.components[run.label].height() / kHeightsPerThickness);
      int covered = 0;
      for_each_covered(run, thickness, [&](int first, int end) { covered += end - first; });
      if (100 * covered > kMostCovered * length) {
        keep(run);
        return false;
      }
      for_each_covered(run, thickness, [&](int first, int end) {
        InkRun part = run;
        part.first = static_cast<std::uint16_t>(first);
        part.end = static_cast<std::uint16_t>(end);
        keep(part);
      });
      return true;
    });
  }

  Team team_;
  InkArrays a_;
  // Those of `a_`, or those near.
  InkRun* runs_;
  int* row_begin_;
  int* places_ = nullptr;
  RunSets<Team> sets_{};
  InkCounts counts_;
};

}  // namespace ocellus::detail
