// ocellusrestore: pictures out in the place of pictures in.
#include <algorithm>
#include <memory>

#include "gst/gst_support.h"
#include "ocellus/ocellus.h"
#include "support/run.h"

namespace ocellus::gst_test {
namespace {

// Fails when the element does not give the result of the operator in the luma of the picture, loses
// its chroma, or refuses a format.
TEST(RestorationElement, GivesTheOperatorsResult) {
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12}) {
    const Video video{format, 48, 32};
    Harness harness("filter=gaussian-1.5 border=replicate", video, "ocellusrestore");
    harness.start();
    GstBuffer* const sent = gst_buffer_ref(harness.frame(0));
    const std::vector<guint8> luma = bytes_of(sent);  // and chroma behind it
    gst_buffer_unref(sent);
    ASSERT_EQ(harness.push(sent), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(GST_BUFFER_PTS(out[0]), harness.pts(0));

    RestorationConfig config;
    config.size = {video.width, video.height};
    ASSERT_TRUE(config.filter.assign("gaussian-1.5"));
    config.border = RestorationBorder::kReplicate;
    EngineConfig cpu;
    cpu.backend.choice = BackendChoice::kCpu;
    Engine engine = test::must(create_engine(cpu, {config}));
    Restoration restoration = test::must(Restoration::create(engine, config));
    std::vector<guint8> expected = luma;
    const Frame frame{luma.data(), config.size, video.width};
    const ImageView image{expected.data(), config.size, video.width};
    test::must(restoration.wait(test::must(restoration.submit(frame, image)), Deadline::never()));

    GstVideoInfo info = video_info(video);
    GstVideoFrame mapped;
    ASSERT_TRUE(gst_video_frame_map(&mapped, &info, out[0], GST_MAP_READ));
    const auto* const data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0));
    int changed = 0;
    for (int y = 0; y < video.height; ++y) {
      for (int x = 0; x < video.width; ++x) {
        const auto at = static_cast<std::size_t>(y * video.width + x);
        const int value = data[y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0) + x];
        // Backends may round differently.
        ASSERT_NEAR(value, expected[at], 1) << "at (" << x << ", " << y << ")";
        if (value != luma[at]) ++changed;
      }
    }
    EXPECT_GT(changed, video.width * video.height / 2);
    if (format != GST_VIDEO_FORMAT_GRAY8) {
      const std::vector<guint8> got = bytes_of(out[0]);
      const auto chroma = static_cast<std::ptrdiff_t>(video.width * video.height);
      EXPECT_TRUE(std::equal(got.begin() + chroma, got.end(), luma.begin() + chroma, luma.end()));
    }
    gst_video_frame_unmap(&mapped);
    unref_all(out);
  }
}

// Fails when a whole pipeline with the element does not come to its end.
TEST(RestorationElement, RunsInAPipeline) {
  Pipeline pipeline(
      std::string("videotestsrc num-buffers=20 ! video/x-raw,format=NV12,width=160,height=120 ! "
                  "ocellusrestore ! ") +
      kSink);
  int frames = 0;
  Watch watch{[&](GstBuffer*) { ++frames; }};
  watch.attach(pipeline);
  EXPECT_EQ(pipeline.run_to_end(), "");
  EXPECT_EQ(frames, 20);
}

}  // namespace
}  // namespace ocellus::gst_test
