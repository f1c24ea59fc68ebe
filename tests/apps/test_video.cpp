// The range of luma on its way through the program: out of a video, into cells, into a video.
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "frames.h"
#include "image_io.h"
#include "input_error.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using app::GrayImage;
using app::InputFrame;
using nlohmann::json;

constexpr ImageSize kSize{64, 48};

using Luma = std::function<int(int x, int y)>;

/// A video of two frames that loses nothing: their bytes stand in the file as they are.
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

  void add(const char* colorimetry, const Luma& luma) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, kSize.width, kSize.height);
    info.fps_n = 25;
    EXPECT_TRUE(gst_video_colorimetry_from_string(&info.colorimetry, colorimetry));
    GstCaps* caps = gst_video_info_to_caps(&info);
    gst_app_src_set_caps(source_, caps);
    gst_caps_unref(caps);
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    gst_buffer_memset(buffer, 0, 128, GST_VIDEO_INFO_SIZE(&info));
    GstVideoFrame frame;
    EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
    for (int y = 0; y < kSize.height; ++y) {
      auto* line = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                   y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
      for (int x = 0; x < kSize.width; ++x) line[x] = static_cast<guint8>(luma(x, y));
    }
    gst_video_frame_unmap(&frame);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(frames_++) * 40 * GST_MSECOND;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    EXPECT_EQ(gst_app_src_push_buffer(source_, buffer), GST_FLOW_OK);
  }

 private:
  GstElement* pipeline_ = nullptr;
  GstAppSrc* source_ = nullptr;
  int frames_ = 0;
};

constexpr const char* kFull = "1:4:0:0";
constexpr const char* kLimited = "2:4:0:0";

bool is_black(int x) {
  return x < kSize.width / 2;
}

/// Pixels of a black and white image that are not as `is_black` says.
int stray_dots(const GrayImage& image) {
  int count = 0;
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x)
      count += image.brightness(x, y) != (is_black(x) ? 0 : 255);
  return count;
}

/// Example failure: luma of limited range is taken for that of full range, so that black and white
/// areas get stray dots, or the other way round, so that dark and light grey gets none.
TEST(VideoRange, IsThatOfTheVideo) {
  const TemporaryFolder folder;
  for (const char* colorimetry : {kFull, kLimited}) {
    const bool full = colorimetry == kFull;
    const std::string video = folder / (full ? "full.mkv" : "limited.mkv");
    {
      RawVideo raw(video);
      for (int i = 0; i < 2; ++i)
        raw.add(colorimetry, [](int x, int y) {
          const int off = (x + y) % 5 == 0 ? 3 : 0;
          return is_black(x) ? 16 - off : 235 + off;
        });
    }
    const auto source = app::open_frames({video});
    InputFrame frame;
    ASSERT_TRUE(source->next(frame));
    EXPECT_EQ(frame.range, full ? (GreyRange{0.0f, 255.0f}) : (GreyRange{16.0f, 235.0f}));
    EXPECT_EQ(frame.image.pixels[1], 16) << "luma arrives as it is";
    for (const char* preset : {"quality", "fast"}) {
      const json report =
          json_of({"halftone", video, "--preset", preset, "-o", folder / "o%d.png"});
      EXPECT_EQ(report["config"]["input_range"], full ? (json{0.0, 255.0}) : (json{16.0, 235.0}));
      const GrayImage out = app::read_image(folder / "o1.png");
      if (full)
        EXPECT_GT(stray_dots(out), 50) << "16 and 235 are greys here";
      else
        EXPECT_EQ(stray_dots(out), 0);
    }
    // What is black passes the threshold of 0.98, what is a little lighter does not.
    json_of({"cnn", video, "--template", "threshold(0.98)", "-o", folder / "t%d.png"});
    EXPECT_EQ(stray_dots(app::read_image(folder / "t0.png")) == 0, !full);
  }
}

/// Example failure: --threshold counts from 0 in a video whose black is 16.
TEST(VideoRange, HoldsForAThreshold) {
  const TemporaryFolder folder;
  const std::string video = folder / "in.mkv";
  {
    RawVideo raw(video);
    // In the left half 99.0, in the right half 100.1 of 255.
    for (int i = 0; i < 2; ++i)
      raw.add(kLimited, [](int x, int) { return is_black(x) ? 101 : 102; });
  }
  json_of(
      {"cnn", video, "--threshold", "100", "--template", "threshold", "-o", folder / "o%d.png"});
  EXPECT_EQ(stray_dots(app::read_image(folder / "o0.png")), 0);
}

/// Example failure: frames whose black differs are taken to be alike.
TEST(VideoRange, MustNotChange) {
  class TwoFrames : public app::FrameSource {
   public:
    TwoFrames() : FrameSource("two frames") {}

   protected:
    bool read(InputFrame& frame) override {
      frame.image = GrayImage(kSize, PixelFormat::kGray8);
      frame.number = count_;
      if (count_ == 1) frame.range = {16.0f, 235.0f};
      return count_++ < 2;
    }

   private:
    int count_ = 0;
  } source;
  InputFrame frame;
  EXPECT_TRUE(source.next(frame));
  try {
    source.next(frame);
    ADD_FAILURE() << "no error";
  } catch (const app::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("luma from 16 to 235"), std::string::npos)
        << error.what();
  }
}

/// Example failure: black and white of full range are written into a video whose luma is taken to
/// be of limited range.
TEST(VideoRange, IsLimitedInVideosThatAreWritten) {
  const TemporaryFolder folder;
  std::ofstream file(folder / "in.pgm", std::ios::binary);
  file << "P5\n" << kSize.width << " " << kSize.height << "\n255\n";
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x) file.put(static_cast<char>(is_black(x) ? 0 : 255));
  file.close();
  const std::string video = folder / "o.webm";
  const ChildResult written = run_program({"halftone", folder / "in.pgm", "-o", video});
  if (written.exit_code == 2 && written.err.find("is missing; it is in") != std::string::npos)
    GTEST_SKIP() << written.err;
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const auto source = app::open_frames({video});
  InputFrame frame;
  ASSERT_TRUE(source->next(frame));
  EXPECT_EQ(frame.range, (GreyRange{16.0f, 235.0f}));
  // The encoder may be off by a little, beside the edge by more.
  for (int y = 4; y < kSize.height - 4; ++y) {
    for (int x = 4; x < kSize.width - 4; ++x) {
      const double error = frame.image.brightness(x, y) - (is_black(x) ? 16 : 235);
      EXPECT_TRUE(std::abs(error) < 4 || (x >= 24 && x < 40)) << error << " at " << x << ", " << y;
    }
  }
  std::set<int> chroma(frame.chroma_u.begin(), frame.chroma_u.end());
  for (const int value : chroma) EXPECT_NEAR(value, 128, 2);
}

}  // namespace
}  // namespace ocellus::test
