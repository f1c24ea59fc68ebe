#include "base/gstocellusvideo.h"

#include "apps/common/gst_video.h"

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

void set_input(ocellus::OperatorConfig& config, const GstVideoInfo& video) {
  config.set_input({GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)},
                   ocellus::app::pixel_format(video), ocellus::app::gray_range(video));
}

bool is_same_picture(const VideoCaps& a, const VideoCaps& b) {
  return a.cuda == b.cuda && GST_VIDEO_INFO_FORMAT(&a.video) == GST_VIDEO_INFO_FORMAT(&b.video) &&
         GST_VIDEO_INFO_WIDTH(&a.video) == GST_VIDEO_INFO_WIDTH(&b.video) &&
         GST_VIDEO_INFO_HEIGHT(&a.video) == GST_VIDEO_INFO_HEIGHT(&b.video) &&
         ocellus::app::color_range(a.video) == ocellus::app::color_range(b.video) &&
         GST_VIDEO_INFO_SIZE(&a.video) == GST_VIDEO_INFO_SIZE(&b.video);
}

}  // namespace gst_ocellus
