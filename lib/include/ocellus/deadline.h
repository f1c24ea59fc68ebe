// Deadline: the point in time until which a call may wait.
#pragma once

#include <chrono>

namespace ocellus {

/// A point on the steady clock. With a deadline in the past, a call checks once and does not block.
/// A call that waits with a deadline leaves all computation to the workers. docs/latency.md lists
/// measured overruns.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// No deadline: the call waits until it is done.
  static constexpr Deadline never() noexcept { return Deadline(Clock::time_point::max()); }
  /// A deadline in the past: the call checks once.
  static constexpr Deadline immediate() noexcept { return Deadline(Clock::time_point::min()); }
  static constexpr Deadline at(Clock::time_point time) noexcept { return Deadline(time); }
  /// `duration` from now.
  static Deadline after(std::chrono::nanoseconds duration) noexcept {
    const Clock::time_point now = Clock::now();
    // A sum that would overflow the clock means "never".
    if (duration > Clock::time_point::max() - now) return never();
    return Deadline(now + duration);
  }

  constexpr Clock::time_point time() const noexcept { return time_; }
  constexpr bool is_never() const noexcept { return time_ == Clock::time_point::max(); }
  /// True if the deadline is in the past.
  bool passed() const noexcept { return !is_never() && Clock::now() >= time_; }

 private:
  explicit constexpr Deadline(Clock::time_point time) noexcept : time_(time) {}

  Clock::time_point time_;
};

}  // namespace ocellus
