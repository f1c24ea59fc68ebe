#include "base/gstocellusvideo.h"

#include <cstring>

static_assert(G_BYTE_ORDER == G_LITTLE_ENDIAN,
              "GRAY16_LE goes to the library as it is: 16 bits in the host's byte order");

GstVideoColorRange gst_ocellus_color_range(const GstVideoInfo& video) {
  // Reading a number that the enumeration does not have as its type is undefined.
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
  return GST_VIDEO_INFO_FORMAT(&video) == GST_VIDEO_FORMAT_GRAY16_LE ? ocellus::PixelFormat::kGray16
                                                                     : ocellus::PixelFormat::kGray8;
}

namespace gst_ocellus {

bool is_same_picture(const VideoCaps& a, const VideoCaps& b) {
  return a.cuda == b.cuda && GST_VIDEO_INFO_FORMAT(&a.video) == GST_VIDEO_INFO_FORMAT(&b.video) &&
         GST_VIDEO_INFO_WIDTH(&a.video) == GST_VIDEO_INFO_WIDTH(&b.video) &&
         GST_VIDEO_INFO_HEIGHT(&a.video) == GST_VIDEO_INFO_HEIGHT(&b.video) &&
         gst_ocellus_color_range(a.video) == gst_ocellus_color_range(b.video) &&
         GST_VIDEO_INFO_SIZE(&a.video) == GST_VIDEO_INFO_SIZE(&b.video);
}

}  // namespace gst_ocellus
