// ocellusrestore: pictures out in the place of pictures in.
#include <algorithm>
#include <memory>

#include "gst/gst_support.h"
#include "ocellus/ocellus.h"
#include "support/color_frame.h"
#include "support/run.h"

namespace ocellus::gst_test {
namespace {

// Fails when the element does not give the result of the operator in the luma of the picture, loses
// its chroma, or refuses a format.
// Promises: RES-009.
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

// Fails when the same pixels in another order of bytes give another picture than the operator's of
// RGB, or when alpha does not pass through. The colors are random, so some sums pass 0 or 255.
TEST(RestorationElement, SamePixelsInEveryOrder) {
  constexpr ImageSize kSize{37, 23};
  const test::ColorFrame colors(kSize, PixelFormat::kRgb, 11);
  RestorationConfig config;
  config.size = kSize;
  config.format = PixelFormat::kRgb;
  EngineConfig cpu;
  cpu.backend.choice = BackendChoice::kCpu;
  Engine engine = test::must(create_engine(cpu, {config}));
  Restoration restoration = test::must(Restoration::create(engine, config));
  std::vector<guint8> expected = colors.bytes();
  const ImageView image{expected.data(), kSize, colors.stride(), PixelFormat::kRgb};
  test::must(
      restoration.wait(test::must(restoration.submit(colors.frame(0), image)), Deadline::never()));
  EXPECT_NE(expected, colors.bytes());
  const struct {
    GstVideoFormat format;
    int red;
  } orders[] = {{GST_VIDEO_FORMAT_RGB, 0},  {GST_VIDEO_FORMAT_BGR, 2},  {GST_VIDEO_FORMAT_RGBx, 0},
                {GST_VIDEO_FORMAT_BGRx, 2}, {GST_VIDEO_FORMAT_RGBA, 0}, {GST_VIDEO_FORMAT_BGRA, 2}};
  for (const auto& order : orders) {
    SCOPED_TRACE(gst_video_format_to_string(order.format));
    const Video video{order.format, kSize.width, kSize.height};
    GstVideoInfo info = video_info(video);
    const int bytes = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
    Harness harness("backend=cpu", video, "ocellusrestore");
    harness.start();
    GstBuffer* const picture = harness.frame(0);
    GstVideoFrame mapped;
    const auto pixel = [&](int x, int y) {
      return static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0)) +
             y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0) + bytes * x;
    };
    const auto alpha = [](int x, int y) { return static_cast<guint8>(3 * x + 5 * y); };
    ASSERT_TRUE(gst_video_frame_map(&mapped, &info, picture, GST_MAP_WRITE));
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const guint8* const from = colors.row(y) + 3 * x;
        for (int c = 0; c < 3; ++c) pixel(x, y)[order.red == 0 ? c : 2 - c] = from[c];
        if (bytes == 4) pixel(x, y)[3] = alpha(x, y);
      }
    }
    gst_video_frame_unmap(&mapped);
    ASSERT_EQ(harness.push(picture), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    ASSERT_TRUE(gst_video_frame_map(&mapped, &info, out[0], GST_MAP_READ));
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(pixel(x, y)[order.red == 0 ? c : 2 - c],
                    expected[static_cast<std::size_t>(3 * (kSize.width * y + x) + c)])
              << "at (" << x << ", " << y << ")";
        }
        if (bytes == 4) {
          ASSERT_EQ(pixel(x, y)[3], alpha(x, y));
        }
      }
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
