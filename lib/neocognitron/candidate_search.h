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
  int* wide;     ///< the groups that are cut
  int* cut_count;
  // Of the last step.
  int* segments;  ///< of each group: its place in its cluster
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
    wide = memory.take<int>(kMostCuts);
    cut_count = memory.take<int>(1);
    layout_entries(memory);
    runs = memory.take<InkRun>(static_cast<std::size_t>(run_capacity));
    candidates = memory.take<CharacterCandidate>(kMaxCandidates);
    inks = memory.take<InkRuns>(kMaxCandidates);
  }
  /// Places the arrays that only the last step uses.
  constexpr void layout_entries(LayoutBuilder& memory) noexcept {
    segments = memory.take<int>(kMaxParts);
    entries = memory.take<Entry>(kMostEntries);
    boxes = memory.take<InkComponent>(kMostEntries);
    run_begin = memory.take<int>(kMostEntries);
    places = memory.take<int>(kMostEntries);
    entry_count = memory.take<int>(1);
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
/// The steps: `select_wide`, `cut` for each of the groups that it has selected, `find`.
template <typename Team>
class CandidateSearch {
 public:
  /// `counts`: what PartSearch has found in `parts`.
  OCELLUS_TEAM_FUNCTION CandidateSearch(const Team& team, const LatticeArrays& arrays,
                                        const PartArrays& parts, const PartCounts& counts) noexcept
      : team_(team), a_(arrays), parts_(parts), groups_(counts.groups) {
    counts_.truncated = counts.truncated;
  }

  /// Selects the groups that are cut. Returns their number.
  OCELLUS_TEAM_FUNCTION int select_wide() noexcept {
    constexpr int kMostCost = 100000;  // of all cuts of a field: it bounds the time
    if (team_.index() == 0) *a_.cut_count = 0;
    team_.barrier();
    share(team_, groups_, [&](int i) {
      a_.cuts_of[i] = -1;
      if (!is_wide(i)) return;
      int cost = 0;
      int before = 0;
      for (int k = 0; k < i && cost < kMostCost; ++k) {
        if (!is_wide(k)) continue;
        cost += InkSplitter<Team>::cost(parts_.groups[k]);
        ++before;
      }
      const bool cut = cost < kMostCost && before < LatticeArrays::kMostCuts;
      a_.cuts_of[i] = cut ? before : kNotCut;
      if (!cut) return;
      a_.wide[before] = i;
      team_.raise(*a_.cut_count, before + 1);
    });
    team_.barrier();
    return *a_.cut_count;
  }

  OCELLUS_TEAM_FUNCTION void cut(int cuts, const SplitArrays& work) const noexcept {
    const FoundGroup& own = parts_.groups[a_.wide[cuts]];
    InkSplitter<Team>(team_, work, parts_.runs + own.first_run, own, a_.cuts[cuts])
        .plan(height_of(own));
  }

  OCELLUS_TEAM_FUNCTION CandidateCounts find(bool light) noexcept {
    const int listed = list_entries();
    const int entries = std::min(listed, +LatticeArrays::kMostEntries);
    share_among_squads(team_, entries, [&](int e) {
      const LatticeArrays::Entry& entry = a_.entries[e];
      const InkComponent box = box_of(entry);
      if (team_.lane() != 0) return;
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
    share_among_squads(team_, entries, [&](int e) {
      const InkComponent& box = a_.boxes[e];
      const int candidate = a_.places[e];
      if (box.runs == 0 || candidate >= kMaxCandidates) return;
      const LatticeArrays::Entry& entry = a_.entries[e];
      const FoundGroup& group = parts_.groups[entry.group];
      InkRuns ink{parts_.runs + group.first_run, group.run_count};
      if (!is_group(entry)) {
        if (a_.run_begin[e] + box.runs > a_.run_capacity) {
          if (team_.lane() == 0) team_.lower(*a_.entry_count, candidate);
          return;
        }
        ink = {a_.runs + a_.run_begin[e], box.runs};
        copy_runs(entry, a_.runs + a_.run_begin[e]);
      }
      if (team_.lane() != 0) return;
      a_.inks[candidate] = ink;
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
  OCELLUS_TEAM_FUNCTION bool is_wide(int group) const noexcept {
    const FoundGroup& own = parts_.groups[group];
    return a_.split && 400 * own.box.width() > kWide * height_of(own);
  }
  OCELLUS_TEAM_FUNCTION static bool is_group(const LatticeArrays::Entry& entry) noexcept {
    return entry.cuts < 0 && entry.joined == 0;
  }

  OCELLUS_TEAM_FUNCTION int segments_of(int group) const noexcept {
    const int cuts = a_.cuts_of[group];
    return cuts >= 0 ? a_.cuts[cuts].segments : 1;
  }
  /// Calls use(i, entry) for the candidates of a group, without their clusters. Returns their
  /// number. A squad calls it.
  template <typename Use>
  OCELLUS_TEAM_FUNCTION int for_each_entry(int group, const Use& use) const noexcept {
    const int segments = segments_of(group);
    int count = 0;
    if (segments > 1) {
      const GroupCuts& cuts = a_.cuts[a_.cuts_of[group]];
      for (int last = 0; last < segments; ++last)
        for (int begin = 0; begin <= last; begin += team_.lanes()) {
          const int first = begin + team_.lane();
          const int fit = first <= last ? cuts.fits[first][last] : int{GroupCuts::kNoFit};
          const int before = count;
          const int rank = team_.lane_rank(fit != GroupCuts::kNoFit, count);
          if (fit != GroupCuts::kNoFit)
            use(before + rank, {group, 0, a_.cuts_of[group], 0, first, last, fit});
        }
      return count;
    }
    const int segment = a_.segments[group];
    // Alone, and together with those before it.
    const FoundGroup& own = parts_.groups[group];
    int left = own.box.left;
    int right = own.box.right;
    for (int k = 0; k < kMostJoined && k <= segment; ++k) {
      const InkComponent& other = parts_.groups[group - k].box;
      left = std::min(left, other.left);
      right = std::max(right, other.right);
      if (k > 0 && 100 * (right - left) > kWidestGroup * own.line_height) break;
      if (team_.lane() == 0) use(count, {group, k, -1, 0, segment - k, segment, kJoinFit * k});
      ++count;
    }
    return count;
  }

  /// Sets `segments`.
  OCELLUS_TEAM_FUNCTION void find_segments() const noexcept {
    // Chains of groups that may be parts of the same character as the one before.
    const auto begins = [this](int i) {
      return i == 0 || segments_of(i) > 1 || segments_of(i - 1) > 1 ||
             !joins(parts_.groups[i - 1], parts_.groups[i]);
    };
    int* const chains = a_.segments;
    int* const starts = a_.places;
    share(team_, groups_, [&](int i) { chains[i] = begins(i) ? 1 : 0; });
    team_.scan(chains, groups_);
    share(team_, groups_, [&](int i) {
      if (begins(i)) starts[chains[i]] = i;
    });
    team_.barrier();
    share(team_, groups_, [&](int i) {
      a_.segments[i] = begins(i) ? 0 : (i - starts[chains[i] - 1]) % kMaxClusterSegments;
    });
    team_.barrier();
  }

  /// Lists the candidates of all groups. Returns their number, also of those without a place.
  OCELLUS_TEAM_FUNCTION int list_entries() const noexcept {
    find_segments();
    static_assert(kMaxParts <= LatticeArrays::kMostEntries);
    int* const clusters = a_.places;  // before each group
    int* const first = a_.run_begin;
    share_among_squads(team_, groups_, [&](int i) {
      const int count = for_each_entry(i, [](int, const LatticeArrays::Entry&) {});
      if (team_.lane() != 0) return;
      first[i] = count;
      clusters[i] = a_.segments[i] == 0 ? 1 : 0;
    });
    team_.scan(clusters, groups_);
    const int listed = team_.scan(first, groups_);
    share_among_squads(team_, groups_, [&](int i) {
      const int cluster = clusters[i] - (a_.segments[i] == 0 ? 0 : 1);
      for_each_entry(i, [&](int at, LatticeArrays::Entry entry) {
        if (first[i] + at >= LatticeArrays::kMostEntries) return;
        entry.cluster = cluster;
        a_.entries[first[i] + at] = entry;
      });
    });
    team_.barrier();
    return listed;
  }
  OCELLUS_TEAM_FUNCTION static bool joins(const FoundGroup& last,
                                          const FoundGroup& group) noexcept {
    const int gap = group.box.left - last.box.right;
    const int width =
        std::max(group.box.right, last.box.right) - std::min(group.box.left, last.box.left);
    return last.line == group.line && 100 * gap <= kGroupGap * group.line_height &&
           100 * width <= kWidestGroup * group.line_height;
  }

  /// The part of a run that lies in a candidate of a group that is cut. False: there is none.
  OCELLUS_TEAM_FUNCTION bool cut_run(const LatticeArrays::Entry& entry,
                                     InkRun& run) const noexcept {
    const GroupCuts& cuts = a_.cuts[entry.cuts];
    // A cut may lie outside of the frame where the group is slanted.
    int left = entry.first > 0 ? cuts.cut_at(entry.first - 1, run.y) : 0;
    int right = entry.last + 1 < cuts.segments ? cuts.cut_at(entry.last, run.y) : int{run.end};
    if (run.end <= left || run.first >= right) return false;
    // A stroke along the cut belongs to both characters.
    if (run.first < left) left -= cuts.stroke;
    if (run.end > right) right += cuts.stroke;
    run.first = static_cast<std::uint16_t>(std::max<int>(run.first, left));
    run.end = static_cast<std::uint16_t>(std::min<int>(run.end, right));
    return true;
  }

  /// The ink of a candidate. A squad calls it, as the following function.
  OCELLUS_TEAM_FUNCTION InkComponent box_of(const LatticeArrays::Entry& entry) const noexcept {
    const FoundGroup& group = parts_.groups[entry.group];
    InkComponent box;
    if (entry.cuts >= 0) {
      for (int i = team_.lane(); i < group.run_count; i += team_.lanes()) {
        InkRun run = parts_.runs[group.first_run + i];
        if (cut_run(entry, run)) box.add(run);
      }
      return team_.combine_lanes(box, [](InkComponent a, const InkComponent& b) {
        a.extend(b);
        return a;
      });
    }
    for (int k = 0; k <= entry.joined; ++k) box.extend(parts_.groups[entry.group - k].box);
    return box;
  }

  /// Copies the runs of a candidate, by rows and from left to right.
  OCELLUS_TEAM_FUNCTION void copy_runs(const LatticeArrays::Entry& entry,
                                       InkRun* out) const noexcept {
    int count = 0;
    for (int k = 0; k <= entry.joined; ++k) {
      const FoundGroup& group = parts_.groups[entry.group - k];
      const InkRun* const runs = parts_.runs + group.first_run;
      for (int begin = 0; begin < group.run_count; begin += team_.lanes()) {
        const int i = begin + team_.lane();
        InkRun run{};
        bool present = i < group.run_count;
        if (present) run = runs[i];
        if (entry.cuts >= 0) {
          present = present && cut_run(entry, run);
          const int before = count;
          const int rank = team_.lane_rank(present, count);
          if (present) out[before + rank] = run;
          continue;
        }
        if (!present) continue;
        int place = i;
        for (int l = 0; l <= entry.joined; ++l) {
          if (l == k) continue;
          const FoundGroup& other = parts_.groups[entry.group - l];
          const InkRun* const others = parts_.runs + other.first_run;
          place += first_without(0, other.run_count, [&](int r) {
            return others[r].y != run.y ? others[r].y < run.y : others[r].first < run.first;
          });
        }
        out[place] = run;
      }
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
