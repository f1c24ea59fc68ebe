// Videos made by the tests.
#pragma once

#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ocellus/frame.h"

namespace ocellus::test {

inline constexpr ImageSize kRawVideoSize{64, 48};

using Luma = std::function<int(int x, int y)>;

/// A video without compression: the file holds the bytes of its frames unchanged.
class RawVideo {
 public:
  explicit RawVideo(const std::string& path) {
    gst_init(nullptr, nullptr);
    pipeline_ = gst_parse_launch(
        "appsrc name=source format=time ! matroskamux ! filesink name=sink", nullptr);
    EXPECT_NE(pipeline_, nullptr);
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
    g_object_set(sink, "location", path.c_str(), nullptr);
    gst_object_unref(sink);
    source_ = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(pipeline_), "source"));
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  }
  ~RawVideo() {
    gst_app_src_end_of_stream(source_);
    GstBus* bus = gst_element_get_bus(pipeline_);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    EXPECT_TRUE(message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS);
    if (message != nullptr) gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(source_);
    gst_object_unref(pipeline_);
  }
  RawVideo(const RawVideo&) = delete;
  RawVideo& operator=(const RawVideo&) = delete;

  /// `at_ms`: the time of the frame; negative: 40 ms after the one before. The pixels are
  /// `pixel_width` times as wide as high.
  void add(const char* colorimetry, const Luma& luma, int at_ms = -1, int pixel_width = 1) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, kRawVideoSize.width,
                              kRawVideoSize.height);
    info.fps_n = 25;
    info.par_n = pixel_width;
    EXPECT_TRUE(gst_video_colorimetry_from_string(&info.colorimetry, colorimetry));
    GstCaps* caps = gst_video_info_to_caps(&info);
    gst_app_src_set_caps(source_, caps);
    gst_caps_unref(caps);
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    gst_buffer_memset(buffer, 0, 128, GST_VIDEO_INFO_SIZE(&info));
    GstVideoFrame frame;
    EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
    for (int y = 0; y < kRawVideoSize.height; ++y) {
      auto* line = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                   y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
      for (int x = 0; x < kRawVideoSize.width; ++x) line[x] = static_cast<guint8>(luma(x, y));
    }
    gst_video_frame_unmap(&frame);
    time_ms_ = at_ms >= 0 ? at_ms : frames_ == 0 ? 0 : time_ms_ + 40;
    ++frames_;
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(time_ms_) * GST_MSECOND;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    EXPECT_EQ(gst_app_src_push_buffer(source_, buffer), GST_FLOW_OK);
  }

 private:
  GstElement* pipeline_ = nullptr;
  GstAppSrc* source_ = nullptr;
  int frames_ = 0;
  int time_ms_ = 0;
};

}  // namespace ocellus::test
