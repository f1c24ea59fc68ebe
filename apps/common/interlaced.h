// The rule by which interlaced video is refused, of the elements and of the program's reader.
#pragma once

#include <gst/video/video.h>

namespace ocellus::app {

/// Whether a picture has two fields that are of different times. In the interlace modes progressive
/// and mixed the flags of its buffer decide. In the others every picture is interlaced, whatever
/// its flags. `buffer`: null for what the caps alone say.
inline bool is_interlaced(const GstVideoInfo& video, const GstBuffer* buffer) {
  const GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE(&video);
  if (mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE && mode != GST_VIDEO_INTERLACE_MODE_MIXED)
    return true;
  return buffer != nullptr && GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
}

}  // namespace ocellus::app
