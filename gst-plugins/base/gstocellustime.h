// Times of frames: the clock, sums of times, and the detection of discontinuities.
#pragma once

#include <gst/video/video.h>

#include <chrono>

#include "ocellus/deadline.h"

namespace gst_ocellus {

using Clock = ocellus::Deadline::Clock;

/// Converts a duration. Negative durations become 0.
GstClockTime nanoseconds(Clock::duration duration);

/// The longest time that is reported to other elements. It also fits GstClockTimeDiff, so that
/// differences of two times cannot overflow.
inline constexpr GstClockTime kLongestTime = G_MAXINT64;

/// Returns the sum of two valid times, at most kLongestTime.
GstClockTime add_times(GstClockTime a, GstClockTime b);

/// Returns the duration of `frames` frames at the rate of the caps; 0 if the rate is unknown (0/1).
GstClockTime frames_time(const GstVideoInfo& video, guint frames);

/// The presentation times of a stream since the last reset. Streaming thread.
class Timeline {
 public:
  void reset() { *this = {}; }

  /// Whether there is a discontinuity before this picture, which is not the first one.
  bool breaks_off(const GstSegment& segment, const GstVideoInfo& video, GstBuffer* picture) const;
  void remember(GstBuffer* picture);

  /// PTS of the newest picture; GST_CLOCK_TIME_NONE before the first one.
  GstClockTime last_pts() const { return last_pts_; }

 private:
  GstClockTime frame_time(const GstVideoInfo& video, GstBuffer* picture) const;

  GstClockTime last_pts_ = GST_CLOCK_TIME_NONE;
  GstClockTime last_frame_time_ = 0;  // duration, or without one the shortest step so far
};

}  // namespace gst_ocellus
