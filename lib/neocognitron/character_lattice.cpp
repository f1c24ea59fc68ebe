#include "neocognitron/character_lattice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::detail {
namespace {

// Lengths are in units of the height of the line's characters.
constexpr float kOwnHeight = 0.75f;    // weight of a group's own height
constexpr float kWide = 0.9f;          // wider groups may hold several characters
constexpr float kSlantShare = 1.2f;    // of the measured slant that is made upright
constexpr float kGroupGap = 0.12f;     // between groups that may be one character
constexpr float kWidestGroup = 0.75f;  // of such groups together
constexpr float kJoinFit = -0.5f;
constexpr float kShared = 1.0f;     // of a stroke: ink beyond a cut
constexpr int kMostCost = 100000;   // of all cuts of a frame: it bounds the time
constexpr float kWorstFit = -4.0f;  // of a candidate that is cut out of a group

bool before(const InkRun& a, const InkRun& b) noexcept {
  return a.y != b.y ? a.y < b.y : a.first < b.first;
}

}  // namespace

CharacterLattice::CharacterLattice(int run_capacity, LayoutBuilder& memory) noexcept
    : splitter_(memory), run_capacity_(2 * run_capacity) {
  runs_ = memory.take<InkRun>(static_cast<std::size_t>(run_capacity_));
}

void CharacterLattice::clear(bool light) noexcept {
  run_end_ = 0;
  cost_ = 0;
  count_ = 0;
  cluster_ = -1;
  segment_ = 0;
  light_ = light;
  open_ = false;
  truncated_ = false;
}

void CharacterLattice::add(const InkGroup& group, bool split) noexcept {
  const float own_height = std::min(static_cast<float>(group.box.height()), group.line_height);
  // Low characters of a line, zeros above all, are narrow, too.
  const float height = group.line_height + kOwnHeight * (own_height - group.line_height);
  if (count_ == kMaxCandidates) {
    truncated_ = true;
    return;
  }
  int segments = 1;
  const bool wide = split && static_cast<float>(group.box.width()) > kWide * height;
  if (wide && cost_ >= kMostCost) truncated_ = true;
  if (wide && cost_ < kMostCost) {
    cost_ += InkSplitter::cost(group.ink, group.box);
    segments = splitter_.plan(group.ink, group.box, height, kSlantShare * group.slant);
  }
  if (segments > 1) {
    add_cut(group, segments);
  } else {
    add_whole(group);
  }
}

void CharacterLattice::add_candidate(const InkGroup& group, int first, int last, float fit,
                                     std::span<const InkRun> ink) noexcept {
  if (ink.empty()) return;
  if (count_ == kMaxCandidates) {
    truncated_ = true;
    return;
  }
  InkComponent box;
  for (const InkRun& run : ink) box.add(run);
  CharacterCandidate& candidate = candidates_[static_cast<std::size_t>(count_)];
  candidate.box = {box.left, box.top, box.width(), box.height()};
  candidate.line = group.line;
  candidate.light = light_;
  candidate.cluster = cluster_;
  candidate.first_segment = first;
  candidate.last_segment = last;
  candidate.fit = fit;
  const float unit = std::max(1.0f, group.line_height);
  const float x = 0.5f * static_cast<float>(box.left + box.right);
  const float y = 0.5f * static_cast<float>(box.top + box.bottom);
  candidate.width = static_cast<float>(box.width()) / unit;
  candidate.height = static_cast<float>(box.height()) / unit;
  candidate.level = std::abs(y - group.line_y - group.line_slope * (x - group.line_x)) / unit;
  ink_[static_cast<std::size_t>(count_++)] = ink;
}

void CharacterLattice::add_cut(const InkGroup& group, int segments) noexcept {
  open_ = false;
  ++cluster_;
  const auto shared = static_cast<int>(kShared * splitter_.stroke_width());
  for (int last = 0; last < segments; ++last) {
    for (int first = 0; first <= last; ++first) {
      const float fit = splitter_.fit(first, last);
      if (fit < kWorstFit && !splitter_.planned(first, last)) continue;
      const int begin = run_end_;
      for (InkRun run : group.ink) {
        // A cut may lie outside of the frame where the group is slanted.
        int left = first > 0 ? splitter_.cut_at(first - 1, run.y) : 0;
        int right = last + 1 < segments ? splitter_.cut_at(last, run.y) : run.end;
        if (run.end <= left || run.first >= right) continue;
        // A stroke along the cut belongs to both characters.
        if (run.first < left) left -= shared;
        if (run.end > right) right += shared;
        run.first = static_cast<std::uint16_t>(std::max<int>(run.first, left));
        run.end = static_cast<std::uint16_t>(std::min<int>(run.end, right));
        if (run_end_ == run_capacity_) {
          truncated_ = true;
          return;
        }
        runs_[run_end_++] = run;
      }
      add_candidate(group, first, last, fit,
                    {runs_ + begin, static_cast<std::size_t>(run_end_ - begin)});
    }
  }
}

bool CharacterLattice::joins(const InkGroup& group) const noexcept {
  if (!open_ || last_[0].line != group.line || segment_ + 1 >= kMaxClusterSegments) return false;
  const auto gap = static_cast<float>(group.box.left - last_[0].box.right);
  const auto width = static_cast<float>(std::max(group.box.right, last_[0].box.right) -
                                        std::min(group.box.left, last_[0].box.left));
  return gap <= kGroupGap * group.line_height && width <= kWidestGroup * group.line_height;
}

void CharacterLattice::add_whole(const InkGroup& group) noexcept {
  if (joins(group)) {
    ++segment_;
  } else {
    ++cluster_;
    segment_ = 0;
  }
  std::copy_backward(last_.begin(), last_.end() - 1, last_.end());
  last_[0] = group;
  open_ = true;
  add_candidate(group, segment_, segment_, 0.0f, group.ink);
  // The groups before it, one after the other.
  std::span<const InkRun> joined = group.ink;
  InkComponent box = group.box;
  for (int i = 1; i < kMostJoined && i <= segment_; ++i) {
    const InkGroup& other = last_[static_cast<std::size_t>(i)];
    box.left = std::min(box.left, other.box.left);
    box.right = std::max(box.right, other.box.right);
    if (static_cast<float>(box.width()) > kWidestGroup * group.line_height) return;
    const auto count = static_cast<int>(joined.size() + other.ink.size());
    if (run_end_ + count > run_capacity_) {
      truncated_ = true;
      return;
    }
    InkRun* const out = runs_ + run_end_;
    std::merge(joined.begin(), joined.end(), other.ink.begin(), other.ink.end(), out, before);
    run_end_ += count;
    joined = {out, static_cast<std::size_t>(count)};
    add_candidate(group, segment_ - i, segment_, kJoinFit * static_cast<float>(i), joined);
  }
}

}  // namespace ocellus::detail
