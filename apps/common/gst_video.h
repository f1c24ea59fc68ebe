// Video caps in the library's types, and the rule by which interlaced video is refused, of the
// elements and of the program's reader.
#pragma once

#include <gst/video/video.h>

#include <cstring>

#include "ocellus/frame.h"

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

static_assert(
    G_BYTE_ORDER == G_LITTLE_ENDIAN,
    "GRAY16_LE is passed to the library unchanged, which reads 16 bits in host byte order");

/// The library's pixel format of the first plane: luma, or pixels with color.
inline PixelFormat pixel_format(const GstVideoInfo& video) {
  switch (GST_VIDEO_INFO_FORMAT(&video)) {
    case GST_VIDEO_FORMAT_GRAY16_LE:
      return PixelFormat::kGray16;
    case GST_VIDEO_FORMAT_YUY2:
      return PixelFormat::kYuy2;
    case GST_VIDEO_FORMAT_UYVY:
      return PixelFormat::kUyvy;
    case GST_VIDEO_FORMAT_BGR:
      return PixelFormat::kBgr;
    case GST_VIDEO_FORMAT_RGB:
      return PixelFormat::kRgb;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return PixelFormat::kBgrx;
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_RGBA:
      return PixelFormat::kRgbx;
    default:
      return PixelFormat::kGray8;
  }
}

/// The range of the colorimetry. GStreamer accepts any number there; a number that is not in the
/// enumeration becomes UNKNOWN.
inline GstVideoColorRange color_range(const GstVideoInfo& video) {
  // Reading the member through its enumeration type would be undefined for numbers that are not in
  // the enumeration.
  gint number = 0;
  static_assert(sizeof(number) == sizeof(GST_VIDEO_INFO_COLORIMETRY(&video).range));
  std::memcpy(&number, &GST_VIDEO_INFO_COLORIMETRY(&video).range, sizeof(number));
  return number == GST_VIDEO_COLOR_RANGE_0_255 || number == GST_VIDEO_COLOR_RANGE_16_235
             ? static_cast<GstVideoColorRange>(number)
             : GST_VIDEO_COLOR_RANGE_UNKNOWN;
}

/// The black and white levels of the caps. Without a colorimetry, GStreamer treats gray formats as
/// full range and the others as limited range.
inline GrayRange gray_range(const GstVideoInfo& video) {
  gint offset[GST_VIDEO_MAX_COMPONENTS] = {};
  gint scale[GST_VIDEO_MAX_COMPONENTS] = {};
  gst_video_color_range_offsets(color_range(video), video.finfo, offset, scale);
  const float unit = pixel_format(video) == PixelFormat::kGray16 ? 257.0f : 1.0f;
  return {static_cast<float>(offset[0]) / unit, static_cast<float>(offset[0] + scale[0]) / unit};
}

}  // namespace ocellus::app
