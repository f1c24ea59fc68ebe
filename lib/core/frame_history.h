// FrameHistory: which frames the temporal state holds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/operator_instance.h"

namespace ocellus::detail {

/// A ring of `frames` frames. The newest frame is written to `head`; it counts only once it is
/// accepted, so a bad frame leaves no trace: the place that it overwrote held the frame that was
/// about to leave.
class FrameHistory {
 public:
  explicit FrameHistory(int frames) noexcept : frames_(frames) {}

  int head() const noexcept { return head_; }
  /// Place of the frame `age` frames before the newest; the oldest one stands in for those that
  /// never came.
  int ring_index(int age) const noexcept {
    return (head_ - std::min(age, count_) + frames_) % frames_;
  }
  /// Frames that have come, the newest included, as far as they are of use.
  int seen() const noexcept { return count_ + 1; }
  /// The newest frame included, fewer frames have come than the temporal support.
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
  int count_ = 0;  // accepted frames before the newest that are still of use, at most frames - 1
  std::uint64_t sequence_[kMaxSupportFrames] = {};
  std::int64_t timestamp_ns_[kMaxSupportFrames] = {};
};

}  // namespace ocellus::detail
