// The candidates of a field, and the pixels of each of them, for the host and for devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "neocognitron/character_choice.h"
#include "neocognitron/ink_splitter.h"
#include "neocognitron/part_search.h"
#include "neocognitron/team.h"

namespace ocellus::detail {

/// Runs by rows and from left to right.
struct InkRuns {
  const InkRun* runs;
  int count;
};

/// The arrays of a search for candidates, in host memory or on a device.
struct LatticeArrays {
  static constexpr int kMostCuts = 32;      ///< groups that are cut
  static constexpr int kMostEntries = 512;  ///< candidates, also without ink

  /// A candidate before its runs are known.
  struct Entry {
    int group;   ///< the last one
    int joined;  ///< groups before it that belong to the candidate
    int cuts;    ///< of the group; -1: it is not cut
    int cluster;
    int first;  ///< segments
    int last;
    int fit;  ///< in 1/GroupCuts::kUnit
  };

  int run_capacity;
  bool split;  ///< wide groups are cut
  GroupCuts* cuts;
  int* cuts_of;  ///< of each group; -1: it is not cut
  Entry* entries;
  InkComponent* boxes;  ///< of each entry
  int* run_begin;       ///< of each entry
  int* places;          ///< of each entry
  int* entry_count;
  InkRun* runs;  ///< of candidates that are not a group
  // The result.
  CharacterCandidate* candidates;
  InkRuns* inks;

  void layout(int most_runs, bool split_touching, LayoutBuilder& memory) noexcept {
    run_capacity = 2 * most_runs;
    split = split_touching;
    cuts = memory.take<GroupCuts>(kMostCuts);
    cuts_of = memory.take<int>(kMaxParts);
    entries = memory.take<Entry>(kMostEntries);
    boxes = memory.take<InkComponent>(kMostEntries);
    run_begin = memory.take<int>(kMostEntries);
    places = memory.take<int>(kMostEntries);
    entry_count = memory.take<int>(1);
    runs = memory.take<InkRun>(static_cast<std::size_t>(run_capacity));
    candidates = memory.take<CharacterCandidate>(kMaxCandidates);
    inks = memory.take<InkRuns>(kMaxCandidates);
  }
};

struct CandidateCounts {
  int candidates = 0;
  bool truncated = false;
};

/// Shares `most` places among the candidates of several fields. Each field may have an equal share
/// of them, and what other fields leave. `count_of(field)`: its candidates. Calls use(field, first,
/// count) with the places of each field. Returns the number of all places that are taken.
template <typename CountOf, typename Use>
constexpr int share_places(int fields, int most, const CountOf& count_of, const Use& use) noexcept {
  int reserved = 0;  // for the fields behind
  for (int field = 0; field < fields; ++field) reserved += std::min(count_of(field), most / fields);
  int first = 0;
  for (int field = 0; field < fields; ++field) {
    reserved -= std::min(count_of(field), most / fields);
    const int count = std::min(count_of(field), most - reserved - first);
    use(field, first, count);
    first += count;
  }
  return first;
}

/// Makes candidates of groups. A wide group is cut into segments. Neighboring groups that are near
/// each other and together not wider than a character are segments of one cluster, because a
/// character may be broken. Any other group is a cluster of its own with one candidate. What does
/// not fit is left out, and `truncated` says so.
///
/// The steps: `select_wide`, `cut` for each group that it has selected, `find`.
template <typename Team>
class CandidateSearch {
 public:
  /// `counts`: what PartSearch has found in `parts`.
  OCELLUS_TEAM_FUNCTION CandidateSearch(const Team& team, const LatticeArrays& arrays,
                                        const PartArrays& parts, const PartCounts& counts) noexcept
      : team_(team), a_(arrays), parts_(parts), groups_(counts.groups) {
    counts_.truncated = counts.truncated;
  }

  /// Sets `cuts_of`. Returns the number of groups that are cut.
  OCELLUS_TEAM_FUNCTION int select_wide() noexcept {
    constexpr int kMostCost = 100000;  // of all cuts of a field: it bounds the time
    if (team_.index() == 0) {
      int cost = 0;
      int count = 0;
      for (int i = 0; i < groups_; ++i) {
        const FoundGroup& group = parts_.groups[i];
        a_.cuts_of[i] = -1;
        if (!a_.split || 400 * group.box.width() <= kWide * height_of(group)) continue;
        if (cost >= kMostCost || count == LatticeArrays::kMostCuts) {
          a_.cuts_of[i] = kNotCut;
          continue;
        }
        cost += InkSplitter<Team>::cost(group);
        a_.cuts_of[i] = count++;
      }
      *a_.entry_count = count;
    }
    team_.barrier();
    return *a_.entry_count;
  }

  OCELLUS_TEAM_FUNCTION void cut(int group, const SplitArrays& work) const noexcept {
    const int cuts = a_.cuts_of[group];
    if (cuts < 0) return;
    const FoundGroup& own = parts_.groups[group];
    InkSplitter<Team>(team_, work, parts_.runs + own.first_run, own, a_.cuts[cuts])
        .plan(height_of(own));
  }

  OCELLUS_TEAM_FUNCTION CandidateCounts find(bool light) noexcept {
    if (team_.index() == 0) *a_.entry_count = list_entries();
    team_.barrier();
    const int listed = *a_.entry_count;
    const int entries = std::min(listed, +LatticeArrays::kMostEntries);
    share(team_, entries, [&](int e) {
      const LatticeArrays::Entry& entry = a_.entries[e];
      InkComponent box;
      for_each_run(entry, [&](const InkRun& run) { box.add(run); });
      a_.boxes[e] = box;
      a_.places[e] = box.runs > 0 ? 1 : 0;
      a_.run_begin[e] = is_group(entry) ? 0 : box.runs;
    });
    const int found = team_.scan(a_.places, entries);
    const int runs = team_.scan(a_.run_begin, entries);
    bool left_out = listed > entries || found > kMaxCandidates || runs > a_.run_capacity;
    share(team_, groups_, [&](int i) { left_out = left_out || a_.cuts_of[i] == kNotCut; });
    counts_.truncated = team_.any(left_out) || counts_.truncated;
    // Entries that end beyond the runs are the last ones.
    if (team_.index() == 0) *a_.entry_count = std::min(found, +kMaxCandidates);
    team_.barrier();
    share(team_, entries, [&](int e) {
      const InkComponent& box = a_.boxes[e];
      const int candidate = a_.places[e];
      if (box.runs == 0 || candidate >= kMaxCandidates) return;
      const LatticeArrays::Entry& entry = a_.entries[e];
      const FoundGroup& group = parts_.groups[entry.group];
      if (is_group(entry)) {
        a_.inks[candidate] = {parts_.runs + group.first_run, group.run_count};
      } else {
        if (a_.run_begin[e] + box.runs > a_.run_capacity) {
          team_.lower(*a_.entry_count, candidate);
          return;
        }
        InkRun* out = a_.runs + a_.run_begin[e];
        a_.inks[candidate] = {out, box.runs};
        for_each_run(entry, [&](const InkRun& run) { *out++ = run; });
      }
      write(entry, group, box, light, a_.candidates[candidate]);
    });
    team_.barrier();
    counts_.candidates = *a_.entry_count;
    return counts_;
  }

 private:
  static constexpr int kNotCut = -2;  // a wide group beyond the limits
  // Lengths are in percent of the height of the line's characters.
  static constexpr int kWide = 90;         // wider groups may hold several characters
  static constexpr int kGroupGap = 12;     // between groups that may be one character
  static constexpr int kWidestGroup = 75;  // of such groups together
  static constexpr int kJoinFit = -GroupCuts::kUnit / 2;
  static constexpr int kMostJoined = 3;  // groups of a candidate

  /// The height of characters, in 1/4 of a pixel. Low characters of a line, zeros above all, are
  /// narrow, too: a group's own height has the weight 3/4.
  OCELLUS_TEAM_FUNCTION static int height_of(const FoundGroup& group) noexcept {
    return group.line_height + 3 * std::min(group.box.height(), group.line_height);
  }
  OCELLUS_TEAM_FUNCTION static bool is_group(const LatticeArrays::Entry& entry) noexcept {
    return entry.cuts < 0 && entry.joined == 0;
  }

  /// Lists the candidates of all groups. Returns their number, also of those without a place. One
  /// thread calls it.
  OCELLUS_TEAM_FUNCTION int list_entries() const noexcept {
    int count = 0;
    const auto add = [&](const LatticeArrays::Entry& entry) {
      if (count < LatticeArrays::kMostEntries) a_.entries[count] = entry;
      ++count;
    };
    int cluster = -1;
    int segment = 0;
    bool open = false;  // the next group may belong to the last cluster
    for (int i = 0; i < groups_ && count <= LatticeArrays::kMostEntries; ++i) {
      const FoundGroup& group = parts_.groups[i];
      const int cuts = a_.cuts_of[i];
      const int segments = cuts >= 0 ? a_.cuts[cuts].segments : 1;
      if (segments > 1) {
        open = false;
        ++cluster;
        for (int last = 0; last < segments; ++last)
          for (int first = 0; first <= last; ++first) {
            const int fit = a_.cuts[cuts].fits[first][last];
            if (fit != GroupCuts::kNoFit) add({i, 0, cuts, cluster, first, last, fit});
          }
        continue;
      }
      if (open && joins(parts_.groups[i - 1], group) && segment + 1 < kMaxClusterSegments) {
        ++segment;
      } else {
        ++cluster;
        segment = 0;
      }
      open = true;
      add({i, 0, -1, cluster, segment, segment, 0});
      // The groups before it, one after the other.
      int left = group.box.left;
      int right = group.box.right;
      for (int k = 1; k < kMostJoined && k <= segment; ++k) {
        const InkComponent& other = parts_.groups[i - k].box;
        left = std::min(left, other.left);
        right = std::max(right, other.right);
        if (100 * (right - left) > kWidestGroup * group.line_height) break;
        add({i, k, -1, cluster, segment - k, segment, kJoinFit * k});
      }
    }
    return count;
  }
  OCELLUS_TEAM_FUNCTION static bool joins(const FoundGroup& last,
                                          const FoundGroup& group) noexcept {
    const int gap = group.box.left - last.box.right;
    const int width =
        std::max(group.box.right, last.box.right) - std::min(group.box.left, last.box.left);
    return last.line == group.line && 100 * gap <= kGroupGap * group.line_height &&
           100 * width <= kWidestGroup * group.line_height;
  }

  /// Calls use(run) for the runs of a candidate, by rows and from left to right.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION void for_each_run(const LatticeArrays::Entry& entry,
                                          const Use& use) const noexcept {
    const FoundGroup& group = parts_.groups[entry.group];
    if (entry.cuts >= 0) {
      const GroupCuts& cuts = a_.cuts[entry.cuts];
      for (int i = 0; i < group.run_count; ++i) {
        InkRun run = parts_.runs[group.first_run + i];
        // A cut may lie outside of the frame where the group is slanted.
        int left = entry.first > 0 ? cuts.cut_at(entry.first - 1, run.y) : 0;
        int right = entry.last + 1 < cuts.segments ? cuts.cut_at(entry.last, run.y) : int{run.end};
        if (run.end <= left || run.first >= right) continue;
        // A stroke along the cut belongs to both characters.
        if (run.first < left) left -= cuts.stroke;
        if (run.end > right) right += cuts.stroke;
        run.first = static_cast<std::uint16_t>(std::max<int>(run.first, left));
        run.end = static_cast<std::uint16_t>(std::min<int>(run.end, right));
        use(run);
      }
      return;
    }
    const InkRun* next[kMostJoined];
    const InkRun* end[kMostJoined];
    for (int k = 0; k <= entry.joined; ++k) {
      const FoundGroup& own = parts_.groups[entry.group - k];
      next[k] = parts_.runs + own.first_run;
      end[k] = next[k] + own.run_count;
    }
    for (;;) {
      int first = -1;
      for (int k = 0; k <= entry.joined; ++k) {
        if (next[k] == end[k]) continue;
        if (first < 0 || next[k]->y < next[first]->y ||
            (next[k]->y == next[first]->y && next[k]->first < next[first]->first))
          first = k;
      }
      if (first < 0) return;
      use(*next[first]++);
    }
  }

  OCELLUS_TEAM_FUNCTION void write(const LatticeArrays::Entry& entry, const FoundGroup& group,
                                   const InkComponent& box, bool light,
                                   CharacterCandidate& out) const noexcept {
    out.box = {box.left, box.top, box.width(), box.height()};
    out.line = group.line;
    out.light = light;
    out.cluster = entry.cluster;
    out.first_segment = entry.first;
    out.last_segment = entry.last;
    out.fit = static_cast<float>(entry.fit) / GroupCuts::kUnit;
    const int unit = std::max(1, group.line_height);
    out.width = static_cast<float>(box.width()) / static_cast<float>(unit);
    out.height = static_cast<float>(box.height()) / static_cast<float>(unit);
    const int level = kPointsPerHalf * (box.top + box.bottom) -
                      line_level(group.line_slope, group.line_x, group.line_y,
                                 kPointsPerHalf * (box.left + box.right));
    out.level =
        static_cast<float>(std::max(level, -level)) / static_cast<float>(2 * kPointsPerHalf * unit);
  }

  Team team_;
  LatticeArrays a_;
  PartArrays parts_;
  int groups_;
  CandidateCounts counts_;
};

}  // namespace ocellus::detail
