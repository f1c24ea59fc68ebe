// The contents of video caps in the library's types.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "ocellus/frame.h"
#include "ocellus/operators.h"
#include "ocellus/status.h"

namespace gst_ocellus {

/// Format and memory of the pictures of a stream.
struct VideoCaps {
  VideoCaps() { gst_video_info_init(&video); }

  std::shared_ptr<GstCaps> caps;  ///< null before the first caps
  GstVideoInfo video;
  bool cuda = false;  ///< the pictures are in CUDA memory
};

struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
/// A reference to a buffer.
using OwnedBuffer = std::unique_ptr<GstBuffer, UnrefBuffer>;

/// The error for interlaced video of these caps, which says what to do.
ocellus::Error make_interlaced_error(const GstVideoInfo& video);

/// The smallest size that is not smaller than `size` and in which `rect` lies, at most the
/// library's largest.
ocellus::ImageSize enclose(ocellus::ImageSize size, const ocellus::Rect& rect);

/// Sets size, format and range of the frames of these caps in a configuration.
void set_input(ocellus::OperatorConfig& config, const GstVideoInfo& video);

/// Whether an operator for `a` also fits `b`: same format, size, range and layout.
bool is_same_picture(const VideoCaps& a, const VideoCaps& b);

}  // namespace gst_ocellus
