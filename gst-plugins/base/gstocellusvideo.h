// What the caps of a picture say, in the library's terms.
#pragma once

#include <gst/video/video.h>

#include "ocellus/frame.h"

/// The library's format of luma.
ocellus::PixelFormat gst_ocellus_pixel_format(const GstVideoInfo& video);

/// The range of the colorimetry. GStreamer takes any number there; one without a name is unknown.
GstVideoColorRange gst_ocellus_color_range(const GstVideoInfo& video);

/// Which values the caps call black and white. Without a colorimetry GStreamer takes gray formats
/// to be of full range, and the others of limited range.
ocellus::GrayRange gst_ocellus_gray_range(const GstVideoInfo& video);

namespace gst_ocellus {

/// The pictures of a stream.
struct VideoCaps {
  VideoCaps() { gst_video_info_init(&video); }

  GstVideoInfo video;
  bool cuda = false;  ///< they come in CUDA memory
};

/// Whether an operator for one fits the other: format, size, range and layout.
bool is_same_picture(const VideoCaps& a, const VideoCaps& b);

}  // namespace gst_ocellus
