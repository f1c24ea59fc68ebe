// GstOcellusPicture: the mapped planes of a video buffer, checked against the real size of the
// buffer.
//
// gst_video_frame_map() trusts the offsets and strides of a GstVideoMeta, so it could read past the
// end of a buffer that is too short. This class checks that the last row of each plane is inside
// the mapping.
#pragma once

#include <gst/video/video.h>

#include <array>

#include "ocellus/overlay_image.h"
#include "ocellus/status.h"

class GstOcellusPicture {
 public:
  GstOcellusPicture() = default;
  ~GstOcellusPicture() { unmap(); }
  GstOcellusPicture(const GstOcellusPicture&) = delete;
  GstOcellusPicture& operator=(const GstOcellusPicture&) = delete;

  /// Maps the first `planes` planes. Takes no reference, so the buffer must outlive the mapping.
  ocellus::Expected<void> map(GstBuffer* buffer, const GstVideoInfo& video, int planes,
                              GstMapFlags flags);
  void unmap();

  guint8* plane(int index) const { return data_[static_cast<std::size_t>(index)]; }
  gint stride(int index) const { return stride_[static_cast<std::size_t>(index)]; }

  /// Bytes in one row of a plane, and the number of its rows.
  static gsize row_bytes(const GstVideoInfo& video, int plane);
  static gint rows(const GstVideoInfo& video, int plane);

  /// Returns the image for drawing. All planes must be mapped for writing.
  ocellus::OverlayImage overlay(const GstVideoInfo& video) const;

 private:
  GstBuffer* buffer_ = nullptr;
  GstVideoMeta* meta_ = nullptr;  // null if the whole buffer is mapped at once
  int mapped_ = 0;
  std::array<GstMapInfo, 3> maps_{};
  std::array<guint8*, 3> data_{};
  std::array<gint, 3> stride_{};
};

/// Copies all planes. Both buffers have the caps `video`.
ocellus::Expected<void> gst_ocellus_copy_picture(GstBuffer* from, GstBuffer* to,
                                                 const GstVideoInfo& video);
