// FrameHistory: the frames that the temporal state contains.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/operator_instance.h"

namespace ocellus::detail {

/// A ring of `frames` frames. The newest frame is written at `head` and counts only after `add`. A
/// bad frame does not count. It changes nothing, because the element that it overwrites held the
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
  /// True if fewer frames than the temporal support have come, including the newest one.
  bool warming_up() const noexcept { return count_ + 1 < frames_; }

  /// Adds the newest frame and returns its flags and which frame its result describes.
  FrameInfo add(const Frame& frame, float delay_frames, bool bad) noexcept {
    FrameInfo info;
    if (warming_up()) info.flags |= kWarmingUp;
    if (bad) info.flags |= kBadPixels;
    sequence_[head_] = frame.sequence;
    timestamp_ns_[head_] = frame.timestamp_ns;
    const int at = bad ? head_ : ring_index(static_cast<int>(delay_frames));
    info.described_sequence = sequence_[at];
    info.described_timestamp_ns = timestamp_ns_[at];
    if (bad) return info;
    head_ = (head_ + 1) % frames_;
    count_ = std::min(count_ + 1, frames_ - 1);
    return info;
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
