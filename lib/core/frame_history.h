// FrameHistory: the frames that the temporal state contains.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/operator_instance.h"

namespace ocellus::detail {

/// A ring of `frames` frames. The newest frame is written at `head` and counts only after `accept`.
/// A bad frame is not accepted. It changes nothing, because the element that it overwrites held the
/// oldest frame, which would be dropped next.
class FrameHistory {
 public:
  explicit FrameHistory(int frames) noexcept : frames_(frames) {}

  int head() const noexcept { return head_; }
  /// Index in the ring of the frame `age` frames before the newest one. The oldest frame replaces
  /// frames that never came.
  int ring_index(int age) const noexcept {
    return (head_ - std::min(age, count_) + frames_) % frames_;
  }
  /// Number of frames so far, including the newest one, at most `frames`.
  int seen() const noexcept { return count_ + 1; }
  /// True if fewer frames than the temporal support have come, including the newest one.
  bool warming_up() const noexcept { return count_ + 1 < frames_; }

  void begin(std::uint64_t sequence, std::int64_t timestamp_ns) noexcept {
    sequence_[head_] = sequence;
    timestamp_ns_[head_] = timestamp_ns;
  }
  void describe(float delay_frames, FrameResult& result) const noexcept {
    const int at = ring_index(static_cast<int>(delay_frames));
    result.described_sequence = sequence_[at];
    result.described_timestamp_ns = timestamp_ns_[at];
  }
  void accept() noexcept {
    head_ = (head_ + 1) % frames_;
    count_ = std::min(count_ + 1, frames_ - 1);
  }
  void forget() noexcept { head_ = count_ = 0; }

 private:
  int frames_;
  int head_ = 0;
  int count_ = 0;  // accepted frames before the newest one, at most frames - 1
  std::uint64_t sequence_[kMaxSupportFrames] = {};
  std::int64_t timestamp_ns_[kMaxSupportFrames] = {};
};

}  // namespace ocellus::detail
