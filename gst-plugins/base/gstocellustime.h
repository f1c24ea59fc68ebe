// Times of frames: the clock that measures them, sums of times, and where a stream begins anew.
#pragma once

#include <gst/video/video.h>

#include <chrono>

#include "ocellus/deadline.h"

namespace gst_ocellus {

using Clock = ocellus::Deadline::Clock;

/// Negative durations count as 0.
GstClockTime nanoseconds(Clock::duration duration);

/// The longest time that others are told. It is a GstClockTimeDiff too, so that differences of two
/// times cannot overflow.
inline constexpr GstClockTime kLongestTime = G_MAXINT64;

/// The sum of two valid times, at most the longest.
GstClockTime add_times(GstClockTime a, GstClockTime b);

/// Time of `frames` frames at the rate of the caps; 0 at an unknown rate (0/1).
GstClockTime frames_time(const GstVideoInfo& video, guint frames);

/// The presentation times of a stream since its last reset. Streaming thread.
class Timeline {
 public:
  void reset() { *this = {}; }

  /// Whether the stream begins anew with this picture, which is not the first one.
  bool breaks_off(const GstSegment& segment, const GstVideoInfo& video, GstBuffer* picture) const;
  void remember(GstBuffer* picture);

  /// Of the newest picture; GST_CLOCK_TIME_NONE before the first one.
  GstClockTime last_pts() const { return last_pts_; }

 private:
  GstClockTime frame_time(const GstVideoInfo& video, GstBuffer* picture) const;

  GstClockTime last_pts_ = GST_CLOCK_TIME_NONE;
  GstClockTime last_frame_time_ = 0;  // its duration; without one the shortest step so far
};

}  // namespace gst_ocellus
