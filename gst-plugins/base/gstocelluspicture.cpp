#include "base/gstocelluspicture.h"

#include <cstring>

#include "apps/common/gst_video.h"
#include "core/failure.h"

using namespace ocellus;

Expected<void> GstOcellusPicture::map(GstBuffer* buffer, const GstVideoInfo& video, int planes,
                                      GstMapFlags flags) {
  unmap();
  buffer_ = buffer;
  meta_ = gst_buffer_get_video_meta(buffer);
  if (meta_ != nullptr) {
    if (meta_->format != GST_VIDEO_INFO_FORMAT(&video) ||
        static_cast<gint>(meta_->width) != GST_VIDEO_INFO_WIDTH(&video) ||
        static_cast<gint>(meta_->height) != GST_VIDEO_INFO_HEIGHT(&video) ||
        static_cast<int>(meta_->n_planes) < planes) {
      return tl::unexpected(
          make_error(Status::kInvalidArgument,
                     "the buffer has a GstVideoMeta for %s %ux%u with %u planes, but the caps are "
                     "for %s %dx%d",
                     gst_video_format_to_string(meta_->format), meta_->width, meta_->height,
                     meta_->n_planes, gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&video)),
                     GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)));
    }
  } else if (!gst_buffer_map(buffer, &maps_[0], flags)) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "the memory of the buffer cannot be mapped"));
  } else {
    mapped_ = 1;
  }

  for (int i = 0; i < planes; ++i) {
    const auto p = static_cast<std::size_t>(i);
    gsize available = 0;
    if (meta_ != nullptr) {
      gpointer data = nullptr;
      if (!gst_video_meta_map(meta_, static_cast<guint>(i), &maps_[p], &data, &stride_[p], flags)) {
        unmap();
        return tl::unexpected(make_error(Status::kInvalidArgument,
                                         "plane %d of the buffer cannot be mapped: its "
                                         "GstVideoMeta has offset %zu in a buffer of "
                                         "%zu bytes",
                                         i, meta_->offset[i], gst_buffer_get_size(buffer)));
      }
      mapped_ = i + 1;
      data_[p] = static_cast<guint8*>(data);
      available = maps_[p].size - static_cast<gsize>(data_[p] - maps_[p].data);
    } else {
      const gsize offset = GST_VIDEO_INFO_PLANE_OFFSET(&video, i);
      stride_[p] = GST_VIDEO_INFO_PLANE_STRIDE(&video, i);
      data_[p] = maps_[0].data + offset;
      available = maps_[0].size > offset ? maps_[0].size - offset : 0;
    }
    const gsize row = row_bytes(video, i);
    const auto count = static_cast<gsize>(rows(video, i));
    if (stride_[p] < 0 || static_cast<gsize>(stride_[p]) < row) {
      const gint stride = stride_[p];
      unmap();
      return tl::unexpected(make_error(
          Status::kInvalidArgument,
          "plane %d of the buffer has a stride of %d bytes, but a row needs at least %zu bytes", i,
          stride, row));
    }
    const gsize needed = (count - 1) * static_cast<gsize>(stride_[p]) + row;
    if (available < needed) {
      unmap();
      return tl::unexpected(make_error(Status::kInvalidArgument,
                                       "the buffer is too small for %s %dx%d: plane %d needs %zu "
                                       "bytes, but the buffer of %zu bytes has only %zu for it",
                                       gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&video)),
                                       GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video),
                                       i, needed, gst_buffer_get_size(buffer), available));
    }
  }
  return {};
}

void GstOcellusPicture::unmap() {
  for (int i = 0; i < mapped_; ++i) {
    GstMapInfo& map = maps_[static_cast<std::size_t>(i)];
    if (meta_ != nullptr)
      gst_video_meta_unmap(meta_, static_cast<guint>(i), &map);
    else
      gst_buffer_unmap(buffer_, &map);
  }
  mapped_ = 0;
  buffer_ = nullptr;
}

gsize GstOcellusPicture::row_bytes(const GstVideoInfo& video, int plane) {
  const PixelFormat format = app::pixel_format(video);
  if (has_color(format))
    return static_cast<gsize>(ocellus::row_bytes(format, GST_VIDEO_INFO_WIDTH(&video)));
  // In the formats with planes, component i is the first component of plane i.
  return static_cast<gsize>(GST_VIDEO_INFO_COMP_WIDTH(&video, plane)) *
         static_cast<gsize>(GST_VIDEO_INFO_COMP_PSTRIDE(&video, plane));
}

gint GstOcellusPicture::rows(const GstVideoInfo& video, int plane) {
  return GST_VIDEO_INFO_COMP_HEIGHT(&video, plane);
}

OverlayImage GstOcellusPicture::overlay(const GstVideoInfo& video) const {
  OverlayImage image;
  image.format = app::video_format(video).overlay;
  image.size = {GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)};
  for (std::size_t i = 0; i < GST_VIDEO_INFO_N_PLANES(&video); ++i) {
    image.planes[i] = data_[i];
    image.strides[i] = stride_[i];
  }
  return image;
}

Expected<void> gst_ocellus_copy_picture(GstBuffer* from, GstBuffer* to, const GstVideoInfo& video) {
  const int planes = static_cast<int>(GST_VIDEO_INFO_N_PLANES(&video));
  GstOcellusPicture source;
  GstOcellusPicture target;
  OCELLUS_TRY(source.map(from, video, planes, GST_MAP_READ));
  OCELLUS_TRY(target.map(to, video, planes, GST_MAP_WRITE));
  for (int plane = 0; plane < planes; ++plane) {
    const gsize bytes = GstOcellusPicture::row_bytes(video, plane);
    for (gint row = 0; row < GstOcellusPicture::rows(video, plane); ++row) {
      std::memcpy(target.plane(plane) + static_cast<gssize>(row) * target.stride(plane),
                  source.plane(plane) + static_cast<gssize>(row) * source.stride(plane), bytes);
    }
  }
  return {};
}
