// ocellushalftone and ocelluscnn: elements whose results are pictures.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <tuple>

#include "gst/gst_support.h"
#include "support/files.h"

namespace ocellus::gst_test {
namespace {

constexpr const char* kFull = "1:4:0:0";     ///< luma from 0 to 255
constexpr const char* kLimited = "2:4:0:0";  ///< luma from 16 to 235

/// Returns the bytes of one plane without padding.
std::vector<guint8> plane_of(GstBuffer* buffer, const Video& video, guint plane) {
  GstVideoInfo info = video_info(video);
  GstVideoFrame frame;
  std::vector<guint8> bytes;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) return bytes;
  const auto* data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
  const int row =
      GST_VIDEO_FRAME_COMP_WIDTH(&frame, plane) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, plane);
  for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, plane); ++y) {
    const guint8* line = data + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane);
    bytes.insert(bytes.end(), line, line + row);
  }
  gst_video_frame_unmap(&frame);
  return bytes;
}

/// Returns luma as 8-bit gray values. A 16-bit value without an 8-bit equivalent becomes 77.
std::vector<guint8> gray_of(GstBuffer* buffer, const Video& video) {
  const std::vector<guint8> bytes = plane_of(buffer, video, 0);
  if (is_color(video.format)) {
    const GstVideoInfo info = video_info(video);
    const int pixel = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
    const int at = video.format == GST_VIDEO_FORMAT_UYVY ? 1 : 0;
    std::vector<guint8> gray;
    for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(pixel)) {
      // The pictures of these tests are gray, so each of R, G and B is the luma.
      const bool same = pixel == 2 || (bytes[i] == bytes[i + 1] && bytes[i] == bytes[i + 2]);
      gray.push_back(same ? bytes[i + static_cast<std::size_t>(at)] : 77);
    }
    return gray;
  }
  if (!is_wide(video.format)) return bytes;
  std::vector<guint8> gray;
  // The lower six bits of P010_10LE are 0.
  const int kept = video.format == GST_VIDEO_FORMAT_P010_10LE ? 0xc0 : 0xff;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    gray.push_back(bytes[i] == (bytes[i + 1] & kept) ? bytes[i + 1] : 77);
  return gray;
}

guint planes_in(const Video& video) {
  const GstVideoInfo info = video_info(video);
  return GST_VIDEO_INFO_N_PLANES(&info);
}

using Luma = std::function<int(int x, int y)>;

/// Writes the luma of each pixel; 0 to 65535 with 16 bits.
void set_luma(const Video& video, GstBuffer* buffer, const Luma& luma) {
  GstVideoInfo info = video_info(video);
  GstVideoFrame frame;
  EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (int y = 0; y < video.height; ++y) {
    auto* line = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                 y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
    for (int x = 0; x < video.width; ++x) {
      if (is_wide(video.format))
        GST_WRITE_UINT16_LE(line + 2 * x, luma(x, y));
      else if (is_color(video.format))
        set_color_pixel(info, line, x, static_cast<guint8>(luma(x, y)));
      else
        line[x] = static_cast<guint8>(luma(x, y));
    }
  }
  gst_video_frame_unmap(&frame);
}

/// Returns frame `index`. With 16 bits it has the same gray values as with 8.
GstBuffer* frame_of(const Video& video, int index, GstClockTime pts, const Layout& layout = {}) {
  GstBuffer* buffer = make_frame(video, index, 0.0, pts, layout);
  if (!is_wide(video.format)) return buffer;
  const Video narrow{GST_VIDEO_FORMAT_GRAY8, video.width, video.height};
  GstBuffer* gray = make_frame(narrow, index, 0.0, pts);
  const std::vector<guint8> values = plane_of(gray, narrow, 0);
  gst_buffer_unref(gray);
  set_luma(video, buffer, [&](int x, int y) {
    return 257 * values[static_cast<std::size_t>(y * video.width + x)];
  });
  return buffer;
}

Harness* make(const char* factory, const std::string& properties, const Video& video) {
  return new Harness(properties, video, factory);
}

/// Returns the halftone of one frame from a new element.
std::vector<guint8> dots_of(const std::string& properties, const Video& video, int index,
                            const Layout& layout = {}) {
  const std::unique_ptr<Harness> harness(make("ocellushalftone", properties, video));
  harness->start();
  EXPECT_EQ(harness->push(frame_of(video, index, harness->pts(index), layout)), GST_FLOW_OK)
      << harness->last_error();
  std::vector<GstBuffer*> out = harness->pull();
  EXPECT_EQ(out.size(), 1u);
  std::vector<guint8> dots;
  if (!out.empty()) dots = gray_of(out[0], video);
  unref_all(out);
  return dots;
}

class FormatAndSize
    : public ::testing::TestWithParam<std::tuple<GstVideoFormat, std::pair<int, int>, bool>> {};

// Fails when a format or an odd size is refused, or the halftone depends on the format. Also fails
// when the input is overwritten, chroma is not written, or times or metas are lost.
TEST_P(FormatAndSize, ReplacesThePictureByAHalftone) {
  const auto& [format, size, keep] = GetParam();
  Video video{format, size.first, size.second};
  video.colorimetry = kFull;
  const std::unique_ptr<Harness> harness(make("ocellushalftone", keep ? "chroma=keep" : "", video));
  harness->start();
  for (int i = 0; i < 3; ++i) {
    GstBuffer* buffer = frame_of(video, i, harness->pts(i));
    gst_buffer_add_video_region_of_interest_meta(buffer, "mine", 1, 2, 3, 4);
    GstBuffer* sent = gst_buffer_ref(buffer);
    const std::vector<guint8> before = bytes_of(buffer);
    ASSERT_EQ(harness->push(buffer), GST_FLOW_OK) << harness->last_error();
    std::vector<GstBuffer*> out = harness->pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(bytes_of(sent), before) << "the input frame was overwritten";
    EXPECT_EQ(GST_BUFFER_PTS(out[0]), harness->pts(i));
    EXPECT_EQ(GST_BUFFER_DURATION(out[0]), harness->pts(1));
    EXPECT_NE(gst_buffer_get_video_region_of_interest_meta_id(out[0], 0), nullptr);
    const std::vector<guint8> dots = gray_of(out[0], video);
    for (const guint8 dot : dots) ASSERT_TRUE(dot == 0 || dot == 255) << static_cast<int>(dot);
    // White of 10 bits is no multiple of white of 8 bits, so these gray levels differ.
    if (format != GST_VIDEO_FORMAT_P010_10LE) {
      EXPECT_EQ(dots, dots_of("", {GST_VIDEO_FORMAT_GRAY8, size.first, size.second}, i))
          << "the halftone depends on the format";
    }
    for (guint plane = 1; plane < planes_in(video); ++plane) {
      const std::vector<guint8> chroma = plane_of(out[0], video, plane);
      if (keep) {
        EXPECT_EQ(chroma, plane_of(sent, video, plane)) << plane;
        continue;
      }
      for (std::size_t b = 0; b < chroma.size(); ++b)
        ASSERT_EQ(chroma[b], is_wide(format) && b % 2 == 0 ? 0 : 128) << plane;
    }
    if (format == GST_VIDEO_FORMAT_YUY2 || format == GST_VIDEO_FORMAT_UYVY) {
      const std::vector<guint8> now = plane_of(out[0], video, 0);
      const std::vector<guint8> then = plane_of(sent, video, 0);
      for (std::size_t b = format == GST_VIDEO_FORMAT_YUY2 ? 1 : 0; b < now.size(); b += 2)
        ASSERT_EQ(now[b], keep ? then[b] : 128) << b;
    }
    const GstOcellusMeta* cells = cells_of(out[0]);
    ASSERT_NE(cells, nullptr);
    EXPECT_GT(value_of(cells, "sweeps"), 0.0);
    EXPECT_EQ(cells->pts, harness->pts(i));
    EXPECT_EQ(cells->flags, static_cast<guint>(GST_OCELLUS_META_FLAG_NONE));
    EXPECT_STREQ(g_quark_to_string(cells->source), GST_OBJECT_NAME(harness->element()));
    unref_all(out);
    gst_buffer_unref(sent);
  }
  EXPECT_EQ(harness->stat("copies"), 0u);
  EXPECT_EQ(harness->stat("frames"), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, FormatAndSize,
                         ::testing::Combine(::testing::ValuesIn(kAllFormats),
                                            ::testing::Values(std::pair{1, 1}, std::pair{2, 1},
                                                              std::pair{7, 5}, std::pair{33, 17},
                                                              std::pair{96, 64}),
                                            ::testing::Bool()));

class Format : public ::testing::TestWithParam<GstVideoFormat> {};
INSTANTIATE_TEST_SUITE_P(All, Format, ::testing::ValuesIn(kAllFormats));

// Fails when rows are read without the stride and the offsets of a GstVideoMeta, or the output has
// the layout of the input.
TEST_P(Format, ReadsPaddedBuffersByTheirVideoMeta) {
  const Video video{GetParam(), 37, 29};
  EXPECT_EQ(dots_of("", video, 3, {64, 26}), dots_of("", video, 3));
}

/// Returns a picture with the given luma of each pixel; 0 to 65535 with 16 bits.
GstBuffer* picture_of(const Harness& harness, const Luma& luma) {
  GstBuffer* buffer = harness.frame(0);
  set_luma(harness.video(), buffer, luma);
  return buffer;
}

/// Returns the luma of the output for such a picture.
std::vector<int> luma_for(Harness& harness, const Luma& luma) {
  GstBuffer* buffer = picture_of(harness, luma);
  static int pushed = 0;
  GST_BUFFER_PTS(buffer) = harness.pts(pushed++);
  EXPECT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
  std::vector<GstBuffer*> out = harness.pull();
  EXPECT_EQ(out.size(), 1u);
  std::vector<int> result;
  if (!out.empty()) {
    const bool wide = is_wide(harness.video().format);
    const std::vector<guint8> bytes =
        wide ? plane_of(out[0], harness.video(), 0) : gray_of(out[0], harness.video());
    for (std::size_t i = 0; i < bytes.size(); i += wide ? 2 : 1)
      result.push_back(wide ? GST_READ_UINT16_LE(bytes.data() + i) : bytes[i]);
  }
  unref_all(out);
  return result;
}

/// The black and white levels of the caps.
struct Ends {
  int black;
  int white;
};
Ends ends_of(const Video& video) {
  const GstVideoInfo info = video_info(video);
  const bool full =
      video.colorimetry == nullptr ? !GST_VIDEO_INFO_IS_YUV(&info) : video.colorimetry == kFull;
  if (video.format == GST_VIDEO_FORMAT_P010_10LE && full) return {0, 1023 << 6};
  if (is_wide(video.format)) return full ? Ends{0, 65535} : Ends{4096, 60160};
  return full ? Ends{0, 255} : Ends{16, 235};
}

class Range : public ::testing::TestWithParam<std::tuple<GstVideoFormat, const char*>> {
 protected:
  Video video() const {
    Video video{std::get<0>(GetParam()), 96, 64};
    video.colorimetry = std::get<1>(GetParam());
    return video;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Range,
                         ::testing::Combine(::testing::ValuesIn(kAllFormats),
                                            ::testing::Values(nullptr, kFull, kLimited)));

// Fails when areas that are black or white by the caps get stray dots, or the output has other
// levels. Luma outside a limited range must not have an effect either.
TEST_P(Range, FlatAreasHaveNoStrayDots) {
  const Video video = this->video();
  const Ends ends = ends_of(video);
  const int beyond = ends.black / 2;  // 0 in full range
  for (const char* properties : {"", "preset=fast", "template=hlf5", "polarity=white"}) {
    const std::unique_ptr<Harness> harness(make("ocellushalftone", properties, video));
    harness->start();
    const auto is_black = [](int x) { return x < 48; };
    const std::vector<int> out = luma_for(*harness, [&](int x, int y) {
      const int off = (x + y) % 3 == 0 ? beyond : 0;
      return is_black(x) ? ends.black - off : ends.white + off;
    });
    ASSERT_EQ(out.size(), 96u * 64u);
    for (int i = 0; i < 96 * 64; ++i)
      ASSERT_EQ(out[static_cast<std::size_t>(i)], is_black(i % 96) ? ends.black : ends.white)
          << properties << ": (" << i % 96 << ", " << i / 96 << ")";
  }
}

// Fails when the halftone of a picture depends on the range of its luma.
TEST_P(Range, HalftonesAreEqualInAllRanges) {
  const Video video = this->video();
  const Ends ends = ends_of(video);
  Video full = video;
  full.colorimetry = kFull;
  const Ends full_ends = ends_of(full);
  // Thirds of each range are whole numbers.
  const auto gray = [](int x, int y, const Ends& in) {
    return in.black + (in.white - in.black) / 3 * ((x * y / 7 + x / 24) % 4);
  };
  for (const char* properties : {"", "template=hlf3|invhlf3 levels=4"}) {
    const std::unique_ptr<Harness> harness(make("ocellushalftone", properties, video));
    const std::unique_ptr<Harness> other(make("ocellushalftone", properties, full));
    harness->start();
    other->start();
    std::vector<int> wanted = luma_for(*other, [&](int x, int y) { return gray(x, y, full_ends); });
    EXPECT_GT(std::set<int>(wanted.begin(), wanted.end()).size(), 1u);
    for (int& luma : wanted)
      luma = ends.black + luma / (full_ends.white / 3) * ((ends.white - ends.black) / 3);
    EXPECT_EQ(luma_for(*harness, [&](int x, int y) { return gray(x, y, ends); }), wanted)
        << properties;
  }
}

// Fails when ocelluscnn does not use the levels of the caps: only black passes a threshold of 0.99.
TEST_P(Range, ThresholdsUseTheRangeOfTheCaps) {
  const Video video = this->video();
  const Ends ends = ends_of(video);
  const std::unique_ptr<Harness> harness(make("ocelluscnn", "template=threshold(0.99)", video));
  harness->start();
  const int step = is_wide(video.format) ? 512 : 2;
  const std::vector<int> out = luma_for(
      *harness, [&](int x, int) { return x < 10 ? ends.black : ends.black + x / 10 * step; });
  ASSERT_EQ(out.size(), 96u * 64u);
  for (int i = 0; i < 96 * 64; ++i)
    ASSERT_EQ(out[static_cast<std::size_t>(i)], i % 96 < 10 ? ends.black : ends.white) << i % 96;
}

// Fails when caps that differ only in the range have no effect.
TEST(RangeOfCaps, MayChange) {
  Video video{GST_VIDEO_FORMAT_NV12, 96, 64};
  const std::unique_ptr<Harness> harness(make("ocellushalftone", "warm-start=true", video));
  harness->start();
  const auto flat = [](int x, int) { return x < 48 ? 16 : 235; };
  const auto values = [&] {
    const std::vector<int> out = luma_for(*harness, flat);
    return std::set<int>(out.begin(), out.end());
  };
  const auto stray = [&] {
    const std::vector<int> out = luma_for(*harness, flat);
    int count = 0;
    for (int i = 0; i < 96 * 64; ++i)
      count += (out[static_cast<std::size_t>(i)] > 127) != (i % 96 >= 48);
    return count;
  };
  EXPECT_EQ(values(), (std::set<int>{16, 235}));
  EXPECT_EQ(stray(), 0);
  video.colorimetry = kFull;
  harness->set_video(video);
  EXPECT_EQ(values(), (std::set<int>{0, 255}));
  EXPECT_GT(stray(), 0) << "16 must be a dark gray in full range";
  video.colorimetry = kLimited;
  harness->set_video(video);
  EXPECT_EQ(values(), (std::set<int>{16, 235}));
  EXPECT_EQ(stray(), 0);
}

// Fails when a buffer that is too small for its caps is read past its end, also in chroma that is
// kept. Also fails when the message does not name the cause.
TEST_P(Format, TruncatedBuffersAreRefused) {
  const Video video{GetParam(), 64, 48};
  const GstVideoInfo info = video_info(video);
  const gsize luma = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0)) * 48;
  for (const gsize size : {gsize{0}, luma - 1}) {
    const std::unique_ptr<Harness> harness(make("ocellushalftone", "chroma=keep", video));
    harness->start();
    GstBuffer* buffer = harness->frame(0);
    gst_buffer_resize(buffer, 0, static_cast<gssize>(size));
    EXPECT_EQ(harness->push(buffer), GST_FLOW_ERROR);
    EXPECT_NE(harness->last_error().find("64x48"), std::string::npos);
  }
  if (planes_in(video) == 1) return;
  const std::unique_ptr<Harness> harness(make("ocellushalftone", "chroma=keep", video));
  harness->start();
  GstBuffer* buffer = harness->frame(0);
  gst_buffer_resize(buffer, 0, static_cast<gssize>(luma + 10));
  EXPECT_EQ(harness->push(buffer), GST_FLOW_ERROR);
  EXPECT_NE(harness->last_error().find("plane 1"), std::string::npos);
}

constexpr Video kVideo{GST_VIDEO_FORMAT_I420, 96, 64};

/// Returns the sweeps of the next frame, which always has the same picture.
guint sweeps_of_next(Harness& harness, int index) {
  EXPECT_EQ(harness.push(make_frame(harness.video(), 0.0, 0.0, harness.pts(index))), GST_FLOW_OK)
      << harness.last_error();
  std::vector<GstBuffer*> out = harness.pull();
  EXPECT_EQ(out.size(), 1u);
  guint sweeps = 0;
  if (!out.empty()) {
    const GstOcellusMeta* cells = cells_of(out[0]);
    EXPECT_NE(cells, nullptr);
    if (cells != nullptr) sweeps = static_cast<guint>(value_of(cells, "sweeps"));
  }
  unref_all(out);
  return sweeps;
}

// Fails when frames do not start from the result of the previous frame, or do so after a
// discontinuity. A still picture that starts at its fixed point takes one sweep.
TEST(WarmStart, LastsUntilADiscontinuity) {
  const std::unique_ptr<Harness> harness(
      make("ocellushalftone", "template=hlf5 start=noise warm-start=true", kVideo));
  harness->start();
  const guint cold = sweeps_of_next(*harness, 0);
  ASSERT_GT(cold, 1u);
  EXPECT_EQ(sweeps_of_next(*harness, 1), 1u);
  EXPECT_EQ(sweeps_of_next(*harness, 2), 1u);

  GstBuffer* discont = make_frame(kVideo, 0.0, 0.0, harness->pts(3));
  GST_BUFFER_FLAG_SET(discont, GST_BUFFER_FLAG_DISCONT);
  ASSERT_EQ(harness->push(discont), GST_FLOW_OK);
  std::vector<GstBuffer*> out = harness->pull();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(value_of(cells_of(out[0]), "sweeps"), cold);
  EXPECT_TRUE(GST_BUFFER_IS_DISCONT(out[0]));
  unref_all(out);
  EXPECT_EQ(sweeps_of_next(*harness, 4), 1u);

  harness->event(gst_event_new_flush_start());
  harness->event(gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  harness->event(gst_event_new_segment(&segment));
  EXPECT_EQ(sweeps_of_next(*harness, 5), cold);
  EXPECT_EQ(sweeps_of_next(*harness, 6), 1u);

  harness->set_video({GST_VIDEO_FORMAT_NV12, 96, 64});
  EXPECT_EQ(sweeps_of_next(*harness, 7), cold);
  // PTS that step back are a discontinuity, too.
  EXPECT_EQ(sweeps_of_next(*harness, 0), cold);

  const std::unique_ptr<Harness> fresh(
      make("ocellushalftone", "template=hlf5 start=noise", kVideo));
  fresh->start();
  EXPECT_EQ(sweeps_of_next(*fresh, 0), cold);
  EXPECT_EQ(sweeps_of_next(*fresh, 1), cold);
}

// Fails when `depth` changes a picture, its chroma or the order of the frames.
TEST(Depth, ChangesNoPicture) {
  constexpr Video kColor{GST_VIDEO_FORMAT_I420, 96, 64};
  std::vector<std::vector<guint8>> alone;
  for (const int depth : {1, 3}) {
    const std::unique_ptr<Harness> harness(
        make("ocellushalftone",
             ("preset=fast warm-start=true chroma=keep depth=" + std::to_string(depth)).c_str(),
             kColor));
    harness->start();
    harness->push_frames(0, 8, 1.0, 0.5);
    harness->event(gst_event_new_eos());
    std::vector<GstBuffer*> out = harness->pull();
    ASSERT_EQ(out.size(), 8u);
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness->pts(static_cast<int>(i)));
      if (depth == 1)
        alone.push_back(bytes_of(out[i]));
      else
        EXPECT_EQ(bytes_of(out[i]), alone[i]) << i;
    }
    unref_all(out);
  }
}

// Fails when a frame that missed its budget is not handled as on-miss specifies. A budget of one
// nanosecond is always missed, but the frame may happen to be finished when it is checked.
TEST(Budget, MissedFramesFollowOnMiss) {
  constexpr Video kLarge{GST_VIDEO_FORMAT_I420, 320, 240};
  std::vector<std::vector<guint8>> dots;
  for (int i = 0; i < 3; ++i) dots.push_back(dots_of("", kLarge, i));
  for (const std::string policy : {"post", "drop", "reuse", "passthrough"}) {
    const std::unique_ptr<Harness> harness(
        make("ocellushalftone", "budget=1 on-miss=" + policy, kLarge));
    harness->start();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(harness->push(harness->frame(i)), GST_FLOW_OK);
    EXPECT_EQ(harness->stat("misses"), 3u);
    EXPECT_EQ(harness->count_messages(GST_MESSAGE_QOS), 3);
    std::vector<GstBuffer*> out = harness->pull();
    ASSERT_EQ(out.size(), policy == "drop" ? 0u : 3u);
    for (std::size_t i = 0; i < out.size(); ++i) {
      SCOPED_TRACE(policy + " " + std::to_string(i));
      EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness->pts(static_cast<int>(i)));
      const GstOcellusMeta* cells = cells_of(out[i]);
      const std::vector<guint8> gray = gray_of(out[i], kLarge);
      if (cells == nullptr) {
        EXPECT_NE(policy, "post");
        EXPECT_TRUE(policy == "passthrough" || i == 0) << "there is a result to reuse";
        GstBuffer* untouched = make_frame(kLarge, static_cast<double>(i), 0.0, 0);
        EXPECT_EQ(bytes_of(out[i]), bytes_of(untouched)) << "the frame was not passed unchanged";
        gst_buffer_unref(untouched);
      } else if (cells->flags == GST_OCELLUS_META_FLAG_LATE) {
        EXPECT_TRUE(gray == dots[i]);
        EXPECT_EQ(cells->pts, harness->pts(static_cast<int>(i)));
      } else {
        EXPECT_EQ(cells->flags, static_cast<guint>(GST_OCELLUS_META_FLAG_REUSED));
        EXPECT_EQ(policy, "reuse");
        ASSERT_GT(i, 0u);
        EXPECT_TRUE(gray == dots[i - 1]);
        EXPECT_EQ(cells->pts, harness->pts(static_cast<int>(i) - 1));
      }
    }
    unref_all(out);
  }
}

// Fails when frames that downstream has no time for are computed without need, or are skipped
// although the next frame starts from them.
TEST(Budget, SkippedFramesAreComputedOnlyForAWarmStart) {
  for (const bool warm : {false, true}) {
    const std::unique_ptr<Harness> harness(
        make("ocellushalftone", warm ? "warm-start=true" : "", kVideo));
    harness->start();
    harness->push_frames(0, 2);
    // A lateness of 200 ms at 80 ms: frames before 280 ms are skipped.
    gst_harness_push_upstream_event(
        harness->get(),
        gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 200 * GST_MSECOND, 80 * GST_MSECOND));
    for (int i = 2; i < 6; ++i) ASSERT_EQ(harness->push(harness->frame(i)), GST_FLOW_OK);
    EXPECT_EQ(harness->drop_output(), 2);
    EXPECT_EQ(harness->stat("dropped"), 4u);
    EXPECT_EQ(harness->stat("frames"), warm ? 6u : 2u);
  }
}

/// Returns the error of a pipeline that cannot start with these properties.
std::string error_of(const char* factory, const std::string& properties) {
  Pipeline pipeline(std::string("videotestsrc num-buffers=1 ! "
                                "video/x-raw,format=I420,width=96,height=64 ! ") +
                    factory + " name=it ! fakesink");
  set_properties(pipeline.by_name("it"), properties);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  return pipeline.wait_for_end();
}

// Fails when an invalid setting is accepted, or the message does not name it.
TEST(Properties, InvalidSettingsAreNamed) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  };
  const std::string text = write("p2.pgm", "P2\n1 1\n255\n0\n");
  const std::string small = write("small.pgm", "P5\n2 2\n255\nabcd");
  const std::string cut = write("cut.pgm", "P5\n96 64\n255\nabcd");
  const std::string high = write("high.pgm", "P5\n96 64\n100\n" + std::string(96 * 64, 'z'));
  const std::string header = write("header.pgm", "P5\n96 x\n");
  const std::string long_header = write(
      "long.pgm", "P5\n#" + std::string(5000, 'c') + "\n96 64\n255\n" + std::string(96 * 64, 'z'));
  const std::string damaged = write("damaged.ocellus", "not a model file");
  const std::string fifo = folder / "fifo.pgm";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  struct Case {
    const char* factory;
    std::string properties;
    std::vector<std::string> says;
  };
  const std::vector<Case> cases = {
      {"ocellushalftone", "template=hlf9", {"template", "hlf9", "hlf5"}},
      {"ocellushalftone", "template=hlf5||edge", {"template"}},
      {"ocellushalftone", "template=/no/such.ocellus", {"template", "/no/such.ocellus"}},
      {"ocellushalftone", "template=" + damaged, {"template", "damaged.ocellus"}},
      {"ocellushalftone", "template=hlf5 preset=fast", {"preset", "empty template"}},
      {"ocellushalftone", "template=hlf5 levels=1", {"levels is 1", "2 to 256"}},
      {"ocellushalftone", "levels=3", {"levels", "a template"}},
      {"ocellushalftone", "seed=3", {"seed", "start=noise"}},
      {"ocellushalftone", "backend=gpu", {"gpu"}},
      {"ocellushalftone", "backend=cuda:1000", {"cuda:1000"}},
      {"ocelluscnn", "template=", {"template"}},
      {"ocelluscnn",
       "template=hole warm-start=true",
       {"warm-start is true", "starts with a constant"}},
      {"ocelluscnn", "boundary=mirror", {"boundary", "mirror", "zero-flux"}},
      {"ocelluscnn", "boundary=nan", {"boundary", "nan"}},
      {"ocelluscnn", "boundary=1.5", {"boundary", "1.5"}},
      {"ocelluscnn", "update=raster color-spacing=3", {"color-spacing", "update=colors"}},
      {"ocelluscnn", "color-spacing=1", {"color-spacing is 1"}},
      {"ocelluscnn", "initial=/no/such.pgm", {"initial", "/no/such.pgm"}},
      {"ocelluscnn", "initial=" + text, {"initial", "P5"}},
      {"ocelluscnn", "initial=" + small, {"initial", "2x2", "96x64"}},
      {"ocelluscnn", "initial=" + cut, {"initial", "truncated"}},
      {"ocelluscnn", "initial=" + high, {"initial", "larger than its header"}},
      {"ocelluscnn", "initial=" + header, {"initial", "header"}},
      {"ocelluscnn", "initial=" + long_header, {"initial", "longer than 4096 bytes"}},
      // The element must neither wait for these files nor read them without end.
      {"ocelluscnn", "initial=" + fifo, {"initial", "fifo.pgm", "regular file"}},
      {"ocelluscnn", "initial=/dev/zero", {"initial", "/dev/zero", "regular file"}},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(c.factory, c.properties);
    for (const std::string& says : c.says)
      EXPECT_NE(error.find(says), std::string::npos) << c.properties << " says: " << error;
  }
  // Data after the picture is not read.
  const std::string vast =
      write("vast.pgm", "P5 # a comment\n96 64\n255\n" + std::string(96 * 64, 'z'));
  std::filesystem::resize_file(vast, std::uintmax_t{1} << 36);
  EXPECT_EQ(error_of("ocelluscnn", "initial=" + vast), "");
}

// Fails when a property does not return the value that was set.
TEST(Properties, ReturnTheValuesThatWereSet) {
  const auto check = [](const char* factory,
                        const std::vector<std::pair<const char*, const char*>>& properties) {
    GstElement* element = gst_element_factory_make(factory, nullptr);
    ASSERT_NE(element, nullptr);
    for (const auto& [name, value] : properties) {
      gst_util_set_object_arg(G_OBJECT(element), name, value);
      GValue got = G_VALUE_INIT;
      g_object_get_property(G_OBJECT(element), name, &got);
      gchar* text =
          G_VALUE_HOLDS_STRING(&got) ? g_value_dup_string(&got) : gst_value_serialize(&got);
      EXPECT_STREQ(text, value) << factory << " " << name;
      g_free(text);
      g_value_unset(&got);
    }
    gst_object_unref(element);
  };
  check("ocellushalftone", {{"preset", "fast"},
                            {"template", "hlf5 | edge"},
                            {"start", "blue-noise"},
                            {"seed", "7"},
                            {"warm-start", "true"},
                            {"levels", "4"},
                            {"max-sweeps", "9"},
                            {"polarity", "white"},
                            {"chroma", "keep"}});
  check("ocelluscnn", {{"template", "threshold | erosion"},
                       {"boundary", "periodic"},
                       {"update", "synchronous"},
                       {"color-spacing", "3"},
                       {"initial", "a.pgm"}});
}

/// Returns a frame with a black square, from 4 to 11 along both axes, on white.
GstBuffer* square(const Harness& harness) {
  GstBuffer* buffer = harness.frame(0);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  for (int y = 0; y < harness.video().height; ++y)
    for (int x = 0; x < harness.video().width; ++x)
      map.data[y * harness.video().width + x] = x >= 4 && x < 12 && y >= 4 && y < 12 ? 0 : 255;
  gst_buffer_unmap(buffer, &map);
  return buffer;
}

int black_in(const std::vector<guint8>& gray) {
  return static_cast<int>(std::count(gray.begin(), gray.end(), 0));
}

// Fails when a chain is not run in order, or properties have no effect on it.
TEST(Cnn, RunsChains) {
  const Video video{GST_VIDEO_FORMAT_GRAY8, 32, 16};
  const test::TemporaryFolder folder;
  const std::string white = folder / "white.pgm";
  std::ofstream(white, std::ios::binary) << "P5\n# all white\n32 16\n255\n"
                                         << std::string(32 * 16, '\xff');
  const auto black = [&](const std::string& properties) {
    const std::unique_ptr<Harness> harness(make("ocelluscnn", properties, video));
    harness->start();
    EXPECT_EQ(harness->push(square(*harness)), GST_FLOW_OK) << harness->last_error();
    std::vector<GstBuffer*> out = harness->pull();
    if (out.empty()) return -1;
    EXPECT_TRUE(value_of(cells_of(out[0]), "converged")) << properties;
    const int count = black_in(gray_of(out[0], video));
    unref_all(out);
    return count;
  };
  EXPECT_EQ(black(""), 28) << "the default is edge, the outline of 8x8 cells";
  EXPECT_EQ(black("template=erosion"), 36);
  EXPECT_EQ(black("template=dilation"), 100);
  EXPECT_EQ(black("template=erosion|dilation|edge"), 28);
  EXPECT_EQ(black("template=erosion update=synchronous"), 36);
  EXPECT_EQ(black("template=erosion polarity=white"), 100);
  EXPECT_EQ(black("template=hole"), 64);
  EXPECT_EQ(black("template=hole initial=" + white), 0);
}

// Fails when the message does not have the values of the meta.
TEST(Messages, HaveTheValuesOfTheMeta) {
  const std::unique_ptr<Harness> harness(
      make("ocellushalftone", "post-messages=true preset=fast", kVideo));
  harness->start();
  ASSERT_EQ(harness->push(harness->frame(0)), GST_FLOW_OK);
  GstMessage* message = harness->message(GST_MESSAGE_ELEMENT);
  ASSERT_NE(message, nullptr);
  const GstStructure* structure = gst_message_get_structure(message);
  EXPECT_STREQ(gst_structure_get_name(structure), "ocellushalftone");
  std::vector<GstBuffer*> out = harness->pull();
  ASSERT_EQ(out.size(), 1u);
  const GstOcellusMeta* cells = cells_of(out[0]);
  guint number = 0;
  gboolean converged = FALSE;
  gint sweeps = 0;
  EXPECT_TRUE(gst_structure_get_int(structure, "sweeps", &sweeps));
  EXPECT_EQ(sweeps, value_of(cells, "sweeps"));
  EXPECT_TRUE(gst_structure_get_uint(structure, "changed", &number));
  EXPECT_EQ(number, value_of(cells, "changed"));
  EXPECT_TRUE(gst_structure_get_boolean(structure, "converged", &converged));
  EXPECT_EQ(converged, value_of(cells, "converged"));
  gboolean finished = FALSE;
  EXPECT_TRUE(gst_structure_get_boolean(structure, "finished", &finished));
  EXPECT_TRUE(finished);
  EXPECT_TRUE(value_of(cells, "finished"));
  unref_all(out);
  gst_message_unref(message);
}

// Halftones whose cells are updated all at once oscillate without end.
constexpr const char* kEndless = "template=hlf5(sweeps=100000) update=synchronous";

// Fails when the limit of a frame's sweeps is not applied, or the meta does not tell of it.
// Promises: RT-006.
TEST(Frames, TheLimitOfSweepsIsInTheMeta) {
  const std::unique_ptr<Harness> harness(
      make("ocelluscnn", std::string(kEndless) + " max-sweeps=5", kVideo));
  harness->start();
  ASSERT_EQ(harness->push(harness->frame(0)), GST_FLOW_OK) << harness->last_error();
  std::vector<GstBuffer*> out = harness->pull();
  ASSERT_EQ(out.size(), 1u);
  const GstOcellusMeta* cells = cells_of(out[0]);
  EXPECT_EQ(value_of(cells, "sweeps"), 5.0);
  EXPECT_FALSE(value_of(cells, "finished"));
  EXPECT_FALSE(value_of(cells, "converged"));
  unref_all(out);
}

// Fails when the element waits for the end of a frame that takes minutes before it stops or
// flushes, or when it posts an error because of the frame that has no result.
TEST(Frames, AFrameThatTakesLongHoldsUpNoStop) {
  for (const char* properties : {"", " budget=10000000 on-miss=drop", " depth=3"}) {
    for (const bool flushes : {false, true}) {
      SCOPED_TRACE(std::string(properties) + (flushes ? " flush" : " stop"));
      const std::unique_ptr<Harness> harness(
          make("ocelluscnn", std::string(kEndless) + properties + " max-sweeps=1000000",
               {GST_VIDEO_FORMAT_GRAY8, 640, 480}));
      harness->start();
      GstFlowReturn flow = GST_FLOW_OK;
      std::thread streaming([&] {
        for (int i = 0; i < 4 && flow == GST_FLOW_OK; ++i) flow = harness->push(harness->frame(i));
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const auto begin = std::chrono::steady_clock::now();
      if (flushes) {
        EXPECT_TRUE(harness->event(gst_event_new_flush_start()));
      } else {
        gst_element_set_state(harness->element(), GST_STATE_NULL);
      }
      streaming.join();
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
      EXPECT_EQ(flow, GST_FLOW_FLUSHING);
      if (flushes) {
        EXPECT_TRUE(harness->event(gst_event_new_flush_stop(TRUE)));
      }
      EXPECT_EQ(harness->count_messages(GST_MESSAGE_ERROR), 0) << harness->last_error();
      gst_element_set_state(harness->element(), GST_STATE_NULL);
    }
  }
}

// Fails when downstream's pool is not used although it is suitable, or is used although its number
// of buffers is limited. A buffer that is kept for reuse could then block the stream.
TEST(Pool, DownstreamsPoolIsUsedIfUnlimited) {
  for (const guint most : {0u, 3u}) {
    const std::unique_ptr<Harness> harness(make("ocellushalftone", "", kVideo));
    GstBufferPool* theirs = gst_video_buffer_pool_new();
    GstStructure* config = gst_buffer_pool_get_config(theirs);
    GstCaps* caps = caps_of(kVideo);
    gst_buffer_pool_config_set_params(config, caps, 96 * 64 * 3 / 2, 1, most);
    gst_caps_unref(caps);
    ASSERT_TRUE(gst_buffer_pool_set_config(theirs, config));
    PoolOffer offer{theirs, 96 * 64 * 3 / 2, 1, most, false};
    offer_pool(*harness, offer);
    harness->start();
    ASSERT_EQ(harness->push(harness->frame(0)), GST_FLOW_OK) << harness->last_error();
    EXPECT_EQ(gst_buffer_pool_is_active(theirs) != FALSE, most == 0);
    std::vector<GstBuffer*> out = harness->pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(gray_of(out[0], kVideo), dots_of("", kVideo, 0));
    unref_all(out);
    // The pool is not proposed to upstream, whose pictures do not go downstream.
    GstCaps* again = caps_of(kVideo);
    GstQuery* query = gst_query_new_allocation(again, TRUE);
    gst_caps_unref(again);
    EXPECT_TRUE(gst_pad_peer_query(harness->get()->srcpad, query));
    for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
      GstBufferPool* pool = nullptr;
      gst_query_parse_nth_allocation_pool(query, i, &pool, nullptr, nullptr, nullptr);
      EXPECT_NE(pool, theirs);
      gst_clear_object(&pool);
    }
    gst_query_unref(query);
    gst_buffer_pool_set_active(theirs, FALSE);
    gst_object_unref(theirs);
  }
}

// Fails when an output buffer is overwritten while somebody holds it, or is freed with the element.
// Promises: GST-007.
TEST(Pictures, OutliveTheirPipeline) {
  std::vector<GstBuffer*> kept;
  std::vector<std::vector<guint8>> pixels;
  for (const char* elements :
       {"ocellushalftone preset=fast", "ocellushalftone warm-start=true chroma=keep",
        "ocellusflow ! ocelluscnn template=threshold|edge ! ocellushalftone name=last",
        "ocellushalftone ! ocellusflow draw=true"}) {
    Pipeline pipeline(std::string("videotestsrc pattern=ball num-buffers=8 ! "
                                  "video/x-raw,format=NV12,width=160,height=120 ! ") +
                      elements + " ! queue ! " + kSink);
    int count = 0;
    Watch watch{[&](GstBuffer* buffer) {
      ++count;
      kept.push_back(gst_buffer_ref(buffer));
      pixels.push_back(bytes_of(buffer));
    }};
    watch.attach(pipeline);
    ASSERT_EQ(pipeline.run_to_end(), "") << elements;
    EXPECT_EQ(count, 8) << elements;
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(bytes_of(kept[i]), pixels[i]) << i;
  // The metas of upstream elements are kept.
  EXPECT_NE(flow_of(kept[16]), nullptr);
  EXPECT_STREQ(g_quark_to_string(cells_of(kept[16])->source), "last");
  unref_all(kept);
}

// Fails when one branch of a tee changes the picture in the other branch.
TEST(Pictures, OtherBranchesAreUnchanged) {
  Pipeline pipeline(std::string("videotestsrc pattern=ball num-buffers=8 ! "
                                "video/x-raw,format=GRAY8,width=160,height=120 ! tee name=t  "
                                "t. ! queue ! ocellushalftone ! fakesink sync=false  "
                                "t. ! queue ! ") +
                    kSink);
  std::set<guint8> seen;
  Watch watch{[&](GstBuffer* buffer) {
    for (const guint8 value : bytes_of(buffer)) seen.insert(value);
  }};
  watch.attach(pipeline);
  ASSERT_EQ(pipeline.run_to_end(), "");
  EXPECT_GT(seen.size(), 2u);
}

// Fails when each frame allocates memory, or pictures are not reused.
// Promises: RT-001.
TEST(Pictures, FramesAllocateNothing) {
  const std::unique_ptr<Harness> harness(make("ocellushalftone", "preset=fast", kVideo));
  harness->start();
  std::set<gpointer> buffers;
  std::set<gpointer> memories;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(harness->push(harness->frame(i)), GST_FLOW_OK);
    std::vector<GstBuffer*> out = harness->pull();
    ASSERT_EQ(out.size(), 1u);
    buffers.insert(out[0]);
    GstMapInfo map;
    gst_buffer_map(out[0], &map, GST_MAP_READ);
    memories.insert(map.data);
    gst_buffer_unmap(out[0], &map);
    unref_all(out);
  }
  EXPECT_LE(buffers.size(), 2u);
  EXPECT_LE(memories.size(), 2u);
}

// Fails when state changes leave something behind that makes a later start fail or hang.
TEST(Pictures, SurviveStateChanges) {
  Pipeline pipeline(std::string("videotestsrc ! video/x-raw,format=I420,width=64,height=48 ! "
                                "ocellushalftone warm-start=true ! ") +
                    kSink);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(pipeline.reach(i % 3 == 0 ? GST_STATE_PAUSED : GST_STATE_PLAYING)) << i;
    ASSERT_TRUE(pipeline.reach(i % 2 == 0 ? GST_STATE_NULL : GST_STATE_READY)) << i;
  }
}

}  // namespace
}  // namespace ocellus::gst_test
