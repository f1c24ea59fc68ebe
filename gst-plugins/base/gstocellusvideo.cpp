#include "base/gstocellusvideo.h"

#include <cstring>

#include "apps/common/interlaced.h"

static_assert(
    G_BYTE_ORDER == G_LITTLE_ENDIAN,
    "GRAY16_LE is passed to the library unchanged, which reads 16 bits in host byte order");

GstVideoColorRange gst_ocellus_color_range(const GstVideoInfo& video) {
  // Reading the member through its enumeration type would be undefined for numbers that are not in
  // the enumeration.
  gint number = 0;
  static_assert(sizeof(number) == sizeof(GST_VIDEO_INFO_COLORIMETRY(&video).range));
  std::memcpy(&number, &GST_VIDEO_INFO_COLORIMETRY(&video).range, sizeof(number));
  return number == GST_VIDEO_COLOR_RANGE_0_255 || number == GST_VIDEO_COLOR_RANGE_16_235
             ? static_cast<GstVideoColorRange>(number)
             : GST_VIDEO_COLOR_RANGE_UNKNOWN;
}

ocellus::GrayRange gst_ocellus_gray_range(const GstVideoInfo& video) {
  gint offset[GST_VIDEO_MAX_COMPONENTS] = {};
  gint scale[GST_VIDEO_MAX_COMPONENTS] = {};
  gst_video_color_range_offsets(gst_ocellus_color_range(video), video.finfo, offset, scale);
  const float unit =
      gst_ocellus_pixel_format(video) == ocellus::PixelFormat::kGray16 ? 257.0f : 1.0f;
  return {static_cast<float>(offset[0]) / unit, static_cast<float>(offset[0] + scale[0]) / unit};
}

ocellus::PixelFormat gst_ocellus_pixel_format(const GstVideoInfo& video) {
  switch (GST_VIDEO_INFO_FORMAT(&video)) {
    case GST_VIDEO_FORMAT_GRAY16_LE:
      return ocellus::PixelFormat::kGray16;
    case GST_VIDEO_FORMAT_YUY2:
      return ocellus::PixelFormat::kYuy2;
    case GST_VIDEO_FORMAT_UYVY:
      return ocellus::PixelFormat::kUyvy;
    case GST_VIDEO_FORMAT_BGR:
      return ocellus::PixelFormat::kBgr;
    case GST_VIDEO_FORMAT_RGB:
      return ocellus::PixelFormat::kRgb;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return ocellus::PixelFormat::kBgrx;
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_RGBA:
      return ocellus::PixelFormat::kRgbx;
    default:
      return ocellus::PixelFormat::kGray8;
  }
}

namespace gst_ocellus {

ocellus::Error make_interlaced_error(const GstVideoInfo& video) {
  return ocellus::make_error(
      ocellus::Status::kInvalidArgument,
      "the video is interlaced (interlace-mode=%s%s): the two fields of a picture are of different "
      "times. Put the "
      "element deinterlace before this element",
      gst_video_interlace_mode_to_string(GST_VIDEO_INFO_INTERLACE_MODE(&video)),
      ocellus::app::is_interlaced(video, nullptr) ? "" : ", a buffer has the flag INTERLACED");
}

ocellus::ImageSize enclose(ocellus::ImageSize size, const ocellus::Rect& rect) {
  const auto side = [](gint least, gint64 begin, gint length) {
    return static_cast<gint>(CLAMP(begin + length, gint64{least}, gint64{ocellus::kMaxImageSide}));
  };
  return {side(size.width, rect.x, rect.width), side(size.height, rect.y, rect.height)};
}

bool is_same_picture(const VideoCaps& a, const VideoCaps& b) {
  return a.cuda == b.cuda && GST_VIDEO_INFO_FORMAT(&a.video) == GST_VIDEO_INFO_FORMAT(&b.video) &&
         GST_VIDEO_INFO_WIDTH(&a.video) == GST_VIDEO_INFO_WIDTH(&b.video) &&
         GST_VIDEO_INFO_HEIGHT(&a.video) == GST_VIDEO_INFO_HEIGHT(&b.video) &&
         gst_ocellus_color_range(a.video) == gst_ocellus_color_range(b.video) &&
         GST_VIDEO_INFO_SIZE(&a.video) == GST_VIDEO_INFO_SIZE(&b.video);
}

}  // namespace gst_ocellus
