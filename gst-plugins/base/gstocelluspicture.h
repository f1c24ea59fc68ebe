// GstOcellusPicture: the planes of a video buffer, mapped and checked against the buffer's real
// size.
//
// gst_video_frame_map() trusts the offsets and strides of a GstVideoMeta; a buffer that is shorter
// than they say would be read past its end. Here every plane's last row must lie inside what was
// mapped.
#pragma once

#include <gst/video/video.h>

#include <array>

#include "ocellus/flow_draw.h"
#include "ocellus/status.h"

class GstOcellusPicture {
 public:
  GstOcellusPicture() = default;
  ~GstOcellusPicture() { unmap(); }
  GstOcellusPicture(GstOcellusPicture&& other) noexcept { *this = std::move(other); }
  GstOcellusPicture& operator=(GstOcellusPicture&& other) noexcept;
  GstOcellusPicture(const GstOcellusPicture&) = delete;
  GstOcellusPicture& operator=(const GstOcellusPicture&) = delete;

  /// Maps the first `planes` planes. The buffer must outlive the mapping; no reference is taken.
  ocellus::Expected<void> map(GstBuffer* buffer, const GstVideoInfo& video, int planes,
                              GstMapFlags flags);
  void unmap();

  guint8* plane(int index) const { return data_[static_cast<std::size_t>(index)]; }
  gint stride(int index) const { return stride_[static_cast<std::size_t>(index)]; }

  /// Bytes in one row of a plane, and its rows.
  static gsize row_bytes(const GstVideoInfo& video, int plane);
  static gint rows(const GstVideoInfo& video, int plane);

  /// For drawing; all planes must be mapped for writing.
  ocellus::OverlayImage overlay(const GstVideoInfo& video) const;

 private:
  GstBuffer* buffer_ = nullptr;
  GstVideoMeta* meta_ = nullptr;  // null: one mapping of the whole buffer
  int mapped_ = 0;
  std::array<GstMapInfo, 3> maps_{};
  std::array<guint8*, 3> data_{};
  std::array<gint, 3> stride_{};
};

/// Copies all planes; both buffers are of these caps.
ocellus::Expected<void> gst_ocellus_copy_picture(GstBuffer* from, GstBuffer* to,
                                                 const GstVideoInfo& video);
