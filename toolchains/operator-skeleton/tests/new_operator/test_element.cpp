// ocellusnewoperator: pictures out in the place of pictures in.
#include <memory>

#include "gst/gst_support.h"

namespace ocellus::gst_test {
namespace {

// Fails when the element does not give the mean of the pixels in the luma of the picture, or
// refuses a format.
TEST(NewOperatorElement, GivesTheMean) {
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12}) {
    const Video video{format, 48, 32};
    Harness harness("radius=1 border=black", video, "ocellusnewoperator");
    harness.start();
    GstBuffer* const sent = gst_buffer_ref(harness.frame(0));
    const std::vector<guint8> luma = bytes_of(sent);
    gst_buffer_unref(sent);
    ASSERT_EQ(harness.push(sent), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(GST_BUFFER_PTS(out[0]), harness.pts(0));
    GstVideoInfo info = video_info(video);
    GstVideoFrame frame;
    ASSERT_TRUE(gst_video_frame_map(&frame, &info, out[0], GST_MAP_READ));
    const auto* const data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
    for (int y = 0; y < video.height; ++y) {
      for (int x = 0; x < video.width; ++x) {
        int sum = 0;
        for (int i = 0; i < 9; ++i) {
          const int column = x + i % 3 - 1;
          const int row = y + i / 3 - 1;
          if (column >= 0 && column < video.width && row >= 0 && row < video.height)
            sum += luma[static_cast<std::size_t>(row * video.width + column)];
        }
        ASSERT_EQ(data[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x], (2 * sum + 9) / 18)
            << "at (" << x << ", " << y << ")";
      }
    }
    gst_video_frame_unmap(&frame);
    unref_all(out);
  }
}

// Fails when a whole pipeline with the element does not come to its end.
TEST(NewOperatorElement, RunsInAPipeline) {
  Pipeline pipeline(
      std::string("videotestsrc num-buffers=20 ! video/x-raw,format=NV12,width=160,height=120 ! "
                  "ocellusnewoperator radius=3 ! ") +
      kSink);
  int frames = 0;
  Watch watch{[&](GstBuffer*) { ++frames; }};
  watch.attach(pipeline);
  EXPECT_EQ(pipeline.run_to_end(), "");
  EXPECT_EQ(frames, 20);
}

}  // namespace
}  // namespace ocellus::gst_test
