// CharacterLattice: the candidates of a frame, and the pixels of each of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/character_choice.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_splitter.h"

namespace ocellus::detail {

/// Ink that holds a character or several.
struct InkGroup {
  std::span<const InkRun> ink;  ///< by rows and from left to right; it must outlive the candidates
  InkComponent box;
  int line = 0;
  float line_height = 0.0f;  ///< of the characters of its line
  float slant = 0.0f;        ///< of the strokes of its line
};

/// Makes candidates of groups. A wide group is cut into segments. Neighboring groups that are near
/// each other and together not wider than a character are segments of one cluster, because a
/// character may be broken. Any other group is a cluster of its own with one candidate.
///
/// All memory is taken by the constructor. What does not fit is left out, and `truncated` says so.
class CharacterLattice {
 public:
  /// `run_capacity` is the largest number of runs of all groups.
  CharacterLattice(int run_capacity, LayoutBuilder& memory) noexcept;

  /// Begins a frame.
  void clear(bool light) noexcept;
  /// Adds the groups of a frame in reading order. With `split`, wide groups are cut.
  void add(const InkGroup& group, bool split) noexcept;

  std::span<const CharacterCandidate> candidates() const noexcept {
    return {candidates_.data(), static_cast<std::size_t>(count_)};
  }
  std::span<const InkRun> ink(int candidate) const noexcept {
    return ink_[static_cast<std::size_t>(candidate)];
  }
  bool truncated() const noexcept { return truncated_; }

 private:
  static constexpr int kMostJoined = 3;  // groups of a candidate

  bool joins(const InkGroup& group) const noexcept;
  void add_cut(const InkGroup& group, int segments) noexcept;
  void add_whole(const InkGroup& group) noexcept;
  void add_candidate(const InkGroup& group, int first, int last, float fit,
                     std::span<const InkRun> ink) noexcept;

  InkSplitter splitter_;
  InkRun* runs_;  // of candidates that are not a group
  int run_capacity_;
  int run_end_ = 0;
  int cost_ = 0;  // of the cuts so far
  int count_ = 0;
  int cluster_ = -1;
  int segment_ = 0;  // of the last group in its cluster
  bool light_ = false;
  bool open_ = false;  // the next group may belong to the last cluster
  bool truncated_ = false;
  std::array<InkGroup, kMostJoined> last_{};  // groups of the last cluster, the newest one first
  std::array<CharacterCandidate, kMaxCandidates> candidates_{};
  std::array<std::span<const InkRun>, kMaxCandidates> ink_{};
};

}  // namespace ocellus::detail
