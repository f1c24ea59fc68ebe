// Video caps in the library's types, and the rule by which interlaced video is refused, of the
// elements and of the program's reader.
#pragma once

#include <gst/video/video.h>

#include <cstring>

#include "ocellus/frame.h"
#include "ocellus/overlay_image.h"

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
    "GRAY16_LE and P010_10LE are passed to the library unchanged, which reads 16 bits in host byte "
    "order");

/// A format of GStreamer in the library's types.
struct VideoFormat {
  GstVideoFormat video;
  PixelFormat pixels;  ///< of the first plane: luma, or pixels with color
  OverlayImage::Format overlay;
};
inline constexpr VideoFormat kVideoFormats[] = {
    {GST_VIDEO_FORMAT_GRAY8, PixelFormat::kGray8, OverlayImage::Format::kGray8},
    {GST_VIDEO_FORMAT_GRAY16_LE, PixelFormat::kGray16, OverlayImage::Format::kGray16},
    {GST_VIDEO_FORMAT_I420, PixelFormat::kGray8, OverlayImage::Format::kI420},
    {GST_VIDEO_FORMAT_NV12, PixelFormat::kGray8, OverlayImage::Format::kNv12},
    {GST_VIDEO_FORMAT_P010_10LE, PixelFormat::kGray16, OverlayImage::Format::kP010},
    {GST_VIDEO_FORMAT_YUY2, PixelFormat::kYuy2, OverlayImage::Format::kYuy2},
    {GST_VIDEO_FORMAT_UYVY, PixelFormat::kUyvy, OverlayImage::Format::kUyvy},
    {GST_VIDEO_FORMAT_BGR, PixelFormat::kBgr, OverlayImage::Format::kBgr},
    {GST_VIDEO_FORMAT_RGB, PixelFormat::kRgb, OverlayImage::Format::kRgb},
    {GST_VIDEO_FORMAT_BGRx, PixelFormat::kBgrx, OverlayImage::Format::kBgrx},
    {GST_VIDEO_FORMAT_BGRA, PixelFormat::kBgrx, OverlayImage::Format::kBgrx},
    {GST_VIDEO_FORMAT_RGBx, PixelFormat::kRgbx, OverlayImage::Format::kRgbx},
    {GST_VIDEO_FORMAT_RGBA, PixelFormat::kRgbx, OverlayImage::Format::kRgbx},
};

/// Formats that are not in the table have 8 bits of luma in their first plane.
inline const VideoFormat& video_format(const GstVideoInfo& video) {
  for (const VideoFormat& format : kVideoFormats)
    if (format.video == GST_VIDEO_INFO_FORMAT(&video)) return format;
  return kVideoFormats[0];
}
inline PixelFormat pixel_format(const GstVideoInfo& video) {
  return video_format(video).pixels;
}

/// Whether luma has more than 8 bits, in 16 bits each.
inline bool is_wide(const GstVideoInfo& video) {
  return GST_VIDEO_INFO_COMP_DEPTH(&video, 0) > 8 && GST_VIDEO_INFO_COMP_PSTRIDE(&video, 0) >= 2;
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
  // 16 bits have the value of 8 bits times 257. Fewer than 16 are the upper ones of these.
  const guint depth = GST_VIDEO_INFO_COMP_DEPTH(&video, 0);
  const float unit = depth > 8 ? 257.0f / static_cast<float>(1U << (16 - depth)) : 1.0f;
  return {static_cast<float>(offset[0]) / unit, static_cast<float>(offset[0] + scale[0]) / unit};
}

}  // namespace ocellus::app
