#include "base/gstocellustime.h"

namespace gst_ocellus {

GstClockTime nanoseconds(Clock::duration duration) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return ns > 0 ? static_cast<GstClockTime>(ns) : 0;
}

GstClockTime add_times(GstClockTime a, GstClockTime b) {
  return a >= kLongestTime || b >= kLongestTime - a ? kLongestTime : a + b;
}

GstClockTime frames_time(const GstVideoInfo& video, guint frames) {
  const gint fps_n = GST_VIDEO_INFO_FPS_N(&video);
  if (fps_n <= 0) return 0;
  return gst_util_uint64_scale(frames * GST_SECOND,
                               static_cast<guint64>(GST_VIDEO_INFO_FPS_D(&video)),
                               static_cast<guint64>(fps_n));
}

// As the caps say. At a variable rate the longer one of this and the last frame.
GstClockTime Timeline::frame_time(const GstVideoInfo& video, GstBuffer* picture) const {
  const gint fps_n = GST_VIDEO_INFO_FPS_N(&video);
  if (fps_n > 0)
    return gst_util_uint64_scale_int_ceil(GST_SECOND, GST_VIDEO_INFO_FPS_D(&video), fps_n);
  const GstClockTime duration = GST_BUFFER_DURATION(picture);
  return GST_CLOCK_TIME_IS_VALID(duration) ? MAX(duration, last_frame_time_) : last_frame_time_;
}

// A stream begins anew where its source says so (DISCONT), or where the time steps against the
// direction of playing. In reverse playback GStreamer's sources set the flag on every buffer. It
// counts there only where the time does not go on from frame to frame.
//
// A step of up to one and a half frames is no break. A camera's clock may be set back, and frames
// may come in reverse with times that are rounded to nanoseconds or milliseconds.
bool Timeline::breaks_off(const GstSegment& segment, const GstVideoInfo& video,
                          GstBuffer* picture) const {
  const bool reverse = segment.rate < 0.0;
  const bool flagged = GST_BUFFER_IS_DISCONT(picture);
  if (flagged && !reverse) return true;
  const GstClockTime pts = GST_BUFFER_PTS(picture);
  if (!GST_CLOCK_TIME_IS_VALID(pts) || !GST_CLOCK_TIME_IS_VALID(last_pts_)) return flagged;
  const bool back = pts < last_pts_;
  const bool onward = back == reverse;
  if (onward && !flagged) return false;
  const GstClockTime step = back ? last_pts_ - pts : pts - last_pts_;
  const GstClockTime frame = frame_time(video, picture);
  // Without a rate and a duration a long frame looks like frames left out.
  if (onward && GST_VIDEO_INFO_FPS_N(&video) == 0 && !GST_BUFFER_DURATION_IS_VALID(picture))
    return false;
  return step > frame && step - frame > frame / 2;
}

void Timeline::remember(GstBuffer* picture) {
  const GstClockTime pts = GST_BUFFER_PTS(picture);
  if (GST_BUFFER_DURATION_IS_VALID(picture)) {
    last_frame_time_ = GST_BUFFER_DURATION(picture);
  } else if (GST_CLOCK_TIME_IS_VALID(pts) && GST_CLOCK_TIME_IS_VALID(last_pts_)) {
    const GstClockTime step = pts > last_pts_ ? pts - last_pts_ : last_pts_ - pts;
    // A longer step may span frames that were left out.
    last_frame_time_ = last_frame_time_ > 0 ? MIN(last_frame_time_, step) : step;
  }
  last_pts_ = pts;
}

}  // namespace gst_ocellus
