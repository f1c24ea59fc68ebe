// Negotiation, formats, sizes, strides, and invalid buffers.
#include <memory>
#include <tuple>

#include "gst/gst_support.h"
#include "gst/meta_reader.h"
#include "ocellus/luma.h"

namespace ocellus::gst_test {
namespace {

constexpr const char* kElements[] = {"ocellusflow",   "ocellushalftone", "ocelluscnn",
                                     "ocellusdigits", "ocelluscortex",   "ocellusrestore",
                                     "ocellusfilter", "ocellusnetwork"};

PixelFormat pixel_format(GstVideoFormat format) {
  switch (format) {
    case GST_VIDEO_FORMAT_YUY2:
      return PixelFormat::kYuy2;
    case GST_VIDEO_FORMAT_UYVY:
      return PixelFormat::kUyvy;
    case GST_VIDEO_FORMAT_BGR:
      return PixelFormat::kBgr;
    case GST_VIDEO_FORMAT_RGB:
      return PixelFormat::kRgb;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return PixelFormat::kBgrx;
    default:
      return PixelFormat::kRgbx;
  }
}

class FormatAndSize
    : public ::testing::TestWithParam<std::tuple<GstVideoFormat, std::pair<int, int>>> {};

// Fails when a format or an odd size is refused, a pixel changes, pixels are copied, or a frame is
// lost.
TEST_P(FormatAndSize, PassesPicturesUnchangedWithFlow) {
  const auto [format, size] = GetParam();
  Harness harness("", {format, size.first, size.second});
  harness.start();
  std::vector<std::vector<guint8>> sent;
  for (int i = 0; i < 4; ++i) {
    GstBuffer* buffer = harness.frame(i);
    sent.push_back(bytes_of(buffer));
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
  }
  harness.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 4u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(bytes_of(out[i]), sent[i]) << "frame " << i;
    EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(static_cast<int>(i)));
    EXPECT_EQ(GST_BUFFER_DURATION(out[i]), harness.pts(1));
    const MetaReading flow = read_meta_in_c(out[i]);
    EXPECT_TRUE(flow.found);
    EXPECT_EQ(flow.width, size.first);
    EXPECT_EQ(flow.height, size.second);
    // The last frame has no next frame to compare with, so it gets the previous flow.
    EXPECT_EQ(flow.described_pts, harness.pts(std::min(static_cast<int>(i), 2)));
    EXPECT_TRUE(flow.outside_is_refused);
  }
  unref_all(out);
  EXPECT_EQ(harness.stat("copies"), 0u);
  EXPECT_EQ(harness.stat("frames"), 4u);
  GstCaps* caps = gst_pad_get_current_caps(harness.get()->sinkpad);
  GstCaps* expected = caps_of(harness.video());
  EXPECT_TRUE(gst_caps_is_equal(caps, expected));
  gst_caps_unref(caps);
  gst_caps_unref(expected);
}

INSTANTIATE_TEST_SUITE_P(All, FormatAndSize,
                         ::testing::Combine(::testing::ValuesIn(kAllFormats),
                                            ::testing::Values(std::pair{1, 1}, std::pair{2, 1},
                                                              std::pair{7, 5}, std::pair{33, 17},
                                                              std::pair{384, 288},
                                                              std::pair{385, 289})));

class Format : public ::testing::TestWithParam<GstVideoFormat> {};
INSTANTIATE_TEST_SUITE_P(All, Format, ::testing::ValuesIn(kAllFormats));

// Fails when a plane other than luma is read, or 16 bits are read with a wrong scale or byte order.
// The flow would not be one pixel per frame to the right.
TEST_P(Format, MeasuresTheSameMotion) {
  Harness harness("", {GetParam(), 96, 64});
  harness.start();
  harness.push_frames(0, 6, 1.0, 0.0);
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_FALSE(out.empty());
  const GstOcellusMeta* flow = flow_of(out.back());
  ASSERT_NE(flow, nullptr);
  EXPECT_NEAR(median_of(flow, "u", 8), 1.0f, 0.05f);
  EXPECT_NEAR(median_of(flow, "v", 8), 0.0f, 0.05f);
  unref_all(out);
}

// Fails when rows are read without the stride and the offsets of a GstVideoMeta. The flow would
// differ from that of the picture without padding.
TEST_P(Format, ReadsPaddedBuffersByTheirVideoMeta) {
  const Video video{GetParam(), 37, 29};
  for (const Layout& layout : {Layout{0, 1}, Layout{3, 13}, Layout{64, 27}}) {
    // A stride that is not a multiple of the pixel's size cannot hold 16-bit pixels.
    if (is_wide(video.format) && layout.stride_extra % 2 != 0) continue;
    Harness plain("", video);
    Harness padded("", video);
    plain.start();
    padded.start();
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(plain.push(plain.frame(i, 0.7, -0.4)), GST_FLOW_OK);
      ASSERT_EQ(padded.push(padded.frame(i, 0.7, -0.4, layout)), GST_FLOW_OK)
          << padded.last_error();
    }
    std::vector<GstBuffer*> a = plain.pull();
    std::vector<GstBuffer*> b = padded.pull();
    ASSERT_EQ(a.size(), 3u);
    ASSERT_EQ(b.size(), 3u);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(field_of(flow_of(a[i])), field_of(flow_of(b[i])));
      EXPECT_NE(gst_buffer_get_video_meta(b[i]), nullptr)
          << "the GstVideoMeta is missing, so downstream cannot find the planes";
    }
    unref_all(a);
    unref_all(b);
  }
}

// Fails when the padding around the picture is drawn on, or the picture is not.
TEST_P(Format, DrawsInsideThePictureOnly) {
  const Layout layout{32, 26};
  Harness harness("draw=true", {GetParam(), 97, 61});
  harness.start();
  std::vector<std::vector<guint8>> sent;
  for (int i = 0; i < 4; ++i) {
    GstBuffer* buffer = harness.frame(i, 3.0, 1.0, layout);
    sent.push_back(bytes_of(buffer));
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK);
  }
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 3u);
  const GstVideoInfo info = video_info(harness.video());
  int changed = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::vector<guint8> bytes = bytes_of(out[i]);
    ASSERT_EQ(bytes.size(), sent[i].size());
    const GstVideoMeta* meta = gst_buffer_get_video_meta(out[i]);
    ASSERT_NE(meta, nullptr);
    std::vector<bool> inside(bytes.size(), false);
    for (guint p = 0; p < meta->n_planes; ++p) {
      const int row = row_bytes_of(info, p);
      for (int y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, p); ++y)
        for (int x = 0; x < row; ++x)
          inside[meta->offset[p] + static_cast<gsize>(y) * static_cast<gsize>(meta->stride[p]) +
                 static_cast<gsize>(x)] = true;
    }
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      if (bytes[b] == sent[i][b]) continue;
      ASSERT_TRUE(inside[b]) << "byte " << b << " of the padding was drawn on";
      ++changed;
    }
  }
  EXPECT_GT(changed, 0);
  EXPECT_EQ(harness.stat("copies"), 0u) << "a buffer that nobody else references was copied";
  unref_all(out);
}

// Fails when drawing writes to a picture that somebody else references, or a copy is not counted.
TEST_P(Format, DrawsOnACopyOfASharedPicture) {
  Harness harness("draw=true align=false", {GetParam(), 96, 64});
  harness.start();
  std::vector<GstBuffer*> kept;
  std::vector<std::vector<guint8>> sent;
  for (int i = 0; i < 3; ++i) {
    GstBuffer* buffer = harness.frame(i, 3.0, 1.0, {16, 32});
    kept.push_back(gst_buffer_ref(buffer));
    sent.push_back(bytes_of(buffer));
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK);
  }
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 3u);
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(bytes_of(kept[i]), sent[i]) << "frame " << i;
  EXPECT_EQ(harness.stat("copies"), 3u);
  // The copy has the layout of the caps.
  const GstVideoInfo info = video_info(harness.video());
  EXPECT_EQ(gst_buffer_get_size(out[2]), GST_VIDEO_INFO_SIZE(&info));
  EXPECT_EQ(gst_buffer_get_video_meta(out[2]), nullptr);
  EXPECT_EQ(GST_BUFFER_PTS(out[2]), GST_BUFFER_PTS(kept[2]));
  GstBuffer* undrawn = make_frame(harness.video(), 6.0, 2.0, 0);
  EXPECT_NE(bytes_of(out[2]), bytes_of(undrawn)) << "nothing was drawn";
  gst_buffer_unref(undrawn);
  unref_all(out);
  unref_all(kept);
}

// Fails when drawing on the smallest picture writes past its end, which sanitizers detect, or is
// refused.
TEST_P(Format, DrawsOnOnePixel) {
  Harness harness("draw=true", {GetParam(), 1, 1});
  harness.start();
  harness.push_frames(0, 3);
  EXPECT_EQ(harness.drop_output(), 2);
}

// Fails when new caps lose frames that are held back, or attach flow of the old size to new
// pictures.
// Promises: GST-001.
TEST(Caps, MayChangeWithinTheStream) {
  Harness harness("method=kernels taps=15x15x9", {GST_VIDEO_FORMAT_GRAY8, 64, 48});
  harness.start();
  harness.push_frames(0, 10);
  harness.set_video({GST_VIDEO_FORMAT_I420, 80, 40});
  harness.push_frames(10, 20);
  harness.set_video({GST_VIDEO_FORMAT_I420, 80, 40, 50, 1});
  harness.push_frames(20, 30);
  harness.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 30u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const GstOcellusMeta* flow = flow_of(out[i]);
    ASSERT_NE(flow, nullptr) << i;
    EXPECT_EQ(plane_of(flow, "u").width, i < 10 ? 64 : 80) << i;
    EXPECT_EQ(flow->described_pts, GST_BUFFER_PTS(out[i])) << i;
    EXPECT_EQ((flow->flags & GST_OCELLUS_META_FLAG_REPEATED) != 0, i % 10 >= 6) << i;
    EXPECT_EQ((flow->flags & GST_OCELLUS_META_FLAG_WARMING_UP) != 0, i % 10 < 4) << i;
  }
  unref_all(out);
}

// Fails when an unsupported format is accepted, or a supported one is refused.
TEST(Caps, AcceptsOnlyTheFormatsOfTheTemplate) {
  Harness harness("", {});
  GstPad* pad = gst_element_get_static_pad(harness.element(), "sink");
  const auto accepts = [pad](const char* text) {
    GstCaps* caps = gst_caps_from_string(text);
    const gboolean accepted = gst_pad_query_accept_caps(pad, caps);
    gst_caps_unref(caps);
    return accepted != FALSE;
  };
  for (const GstVideoFormat number : kAllFormats) {
    const char* const format = gst_video_format_to_string(number);
    EXPECT_TRUE(accepts(
        (std::string("video/x-raw,width=64,height=48,framerate=0/1,format=") + format).c_str()))
        << format;
  }
  for (const char* format :
       {"xRGB", "ABGR", "YVYU", "YV12", "GRAY16_BE", "NV21", "Y42B", "I420_10LE"})
    EXPECT_FALSE(accepts(
        (std::string("video/x-raw,width=64,height=48,framerate=25/1,format=") + format).c_str()))
        << format;
  EXPECT_FALSE(
      accepts("video/x-raw(memory:GLMemory),width=64,height=48,framerate=25/1,format=NV12"));
  EXPECT_FALSE(accepts("video/x-raw,width=16385,height=48,framerate=25/1,format=GRAY8"));
  EXPECT_FALSE(accepts("video/x-raw,width=64,height=0,framerate=25/1,format=GRAY8"));
  EXPECT_FALSE(accepts("image/jpeg,width=64,height=48,framerate=25/1"));
  gst_object_unref(pad);
}

// Fails when an element does not negotiate one of its formats, or does not list them with those
// first that need no conversion.
TEST(Caps, EveryElementNegotiatesEveryFormat) {
  for (const char* element : kElements) {
    for (const GstVideoFormat format : kAllFormats) {
      const std::string name = gst_video_format_to_string(format);
      Pipeline pipeline("videotestsrc num-buffers=2 ! video/x-raw,format=" + name +
                        ",width=33,height=29 ! " + element + " name=it ! fakesink name=sink");
      EXPECT_EQ(pipeline.run_to_end(), "") << element << " " << name;
    }
    GstElement* made = gst_parse_launch(element, nullptr);
    ASSERT_NE(made, nullptr) << element;
    GstPad* pad = gst_element_get_static_pad(made, "sink");
    GstCaps* offered = gst_pad_get_pad_template_caps(pad);
    const GstStructure* last =
        gst_caps_get_structure(offered, gst_caps_get_size(offered) - 1);  // of system memory
    const GValue* formats = gst_structure_get_value(last, "format");
    ASSERT_EQ(gst_value_list_get_size(formats), std::size(kAllFormats));
    for (guint i = 0; i < std::size(kAllFormats); ++i)
      EXPECT_STREQ(g_value_get_string(gst_value_list_get_value(formats, i)),
                   gst_video_format_to_string(kAllFormats[i]));
    gst_caps_unref(offered);
    gst_object_unref(pad);
    gst_object_unref(gst_object_ref_sink(made));
  }
}

// Fails when the luma of a picture with color differs by more than one gray level from what
// GStreamer's converter makes of it, or when an element sees another luma.
TEST(ColorPictures, HaveTheLumaOfVideoconvert) {
  for (const GstVideoFormat format : kColorFormats) {
    SCOPED_TRACE(gst_video_format_to_string(format));
    const Video video{format, 97, 61};
    const Video gray_video{GST_VIDEO_FORMAT_GRAY8, 97, 61};
    GstVideoInfo info = video_info(video);
    GstVideoInfo gray_info = video_info(gray_video);
    // The values of the luma are taken, whatever they mean.
    const bool rgb = GST_VIDEO_INFO_IS_RGB(&info);
    if (!rgb) gray_info.colorimetry = info.colorimetry;
    Harness colored("", video);
    Harness gray("", gray_video);
    colored.start();
    gray.start();
    GstVideoConverter* converter = gst_video_converter_new(&info, &gray_info, nullptr);
    ASSERT_NE(converter, nullptr);
    for (int i = 0; i < 3; ++i) {
      GstBuffer* picture = colored.frame(i, 1.0, 0.5);
      GstVideoFrame pixels;
      ASSERT_TRUE(gst_video_frame_map(&pixels, &info, picture, GST_MAP_READWRITE));
      for (int y = 0; y < 61 && rgb; ++y) {
        for (int x = 0; x < 97; ++x) {
          for (guint c = 0; c < 3; ++c) {
            auto* const sample = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&pixels, c)) +
                                 y * GST_VIDEO_FRAME_COMP_STRIDE(&pixels, c) +
                                 x * GST_VIDEO_FRAME_COMP_PSTRIDE(&pixels, c);
            const int shift = (x / 8 * 37 + y / 8 * 91 + static_cast<int>(c) * 113) % 120 - 60;
            *sample = static_cast<guint8>(std::clamp(*sample + shift, 0, 255));
          }
        }
      }
      GstBuffer* converted = make_frame(gray_video, 0.0, 0.0, gray.pts(i));
      GstBuffer* ours = make_frame(gray_video, 0.0, 0.0, gray.pts(i));
      GstVideoFrame theirs;
      GstVideoFrame luma;
      ASSERT_TRUE(gst_video_frame_map(&theirs, &gray_info, converted, GST_MAP_WRITE));
      ASSERT_TRUE(gst_video_frame_map(&luma, &gray_info, ours, GST_MAP_WRITE));
      gst_video_converter_frame(converter, &pixels, &theirs);
      int most = 0;
      for (int y = 0; y < 61; ++y) {
        auto* const row = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&luma, 0)) +
                          y * GST_VIDEO_FRAME_PLANE_STRIDE(&luma, 0);
        const auto* const other = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&theirs, 0)) +
                                  y * GST_VIDEO_FRAME_PLANE_STRIDE(&theirs, 0);
        luma_of_row(static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&pixels, 0)) +
                        y * GST_VIDEO_FRAME_PLANE_STRIDE(&pixels, 0),
                    pixel_format(format), row, 97);
        for (int x = 0; x < 97; ++x) most = std::max(most, std::abs(row[x] - other[x]));
      }
      EXPECT_LE(most, 1);
      gst_video_frame_unmap(&theirs);
      gst_video_frame_unmap(&luma);
      gst_video_frame_unmap(&pixels);
      gst_buffer_unref(converted);
      ASSERT_EQ(colored.push(picture), GST_FLOW_OK) << colored.last_error();
      ASSERT_EQ(gray.push(ours), GST_FLOW_OK) << gray.last_error();
    }
    gst_video_converter_free(converter);
    std::vector<GstBuffer*> a = colored.pull();
    std::vector<GstBuffer*> b = gray.pull();
    ASSERT_EQ(a.size(), b.size());
    ASSERT_FALSE(a.empty());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(field_of(flow_of(a[i])), field_of(flow_of(b[i])));
    }
    unref_all(a);
    unref_all(b);
  }
}

// Fails when a pipeline that cannot be negotiated starts anyway or hangs.
TEST(Caps, UnsupportedFormatStopsThePipeline) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=3 ! video/x-raw,format=Y444,width=64,height=48 ! ocellusflow ! "
      "fakesink",
      &error);
  // The format is refused either while linking or while starting.
  if (error == nullptr) {
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 10 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_ERROR);
    gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
  }
  g_clear_error(&error);
  gst_clear_object(&pipeline);
}

// Fails when interlaced video is accepted, although its two fields are of different times, or when
// a progressive picture is refused.
TEST(Caps, InterlacedVideoIsRefusedWithAReason) {
  struct Case {
    const char* mode;
    bool flagged;  // whether the third buffer has the flag
    int accepted;  // buffers of four
  };
  constexpr Video kVideo{GST_VIDEO_FORMAT_I420, 64, 48};
  for (const char* element : kElements) {
    for (const Case& c :
         {Case{"progressive", false, 4}, Case{"progressive", true, 2}, Case{"mixed", false, 4},
          Case{"mixed", true, 2}, Case{"interleaved", false, 0}, Case{"interleaved", true, 0}}) {
      SCOPED_TRACE(std::string(element) + " " + c.mode);
      Harness harness("", kVideo, element);
      const std::string caps =
          "video/x-raw,format=I420,width=64,height=48,framerate=25/1,interlace-mode=";
      gst_harness_set_src_caps_str(harness.get(), (caps + c.mode).c_str());
      for (int i = 0; i < 4; ++i) {
        GstBuffer* buffer = harness.frame(i);
        if (c.flagged && i == 2) GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
        ASSERT_EQ(harness.push(buffer) == GST_FLOW_OK, i < c.accepted) << i;
        if (i < c.accepted) continue;
        const std::string text = harness.last_error();
        EXPECT_NE(text.find("interlaced"), std::string::npos) << text;
        EXPECT_NE(text.find("deinterlace"), std::string::npos) << text;
        break;
      }
      harness.event(gst_event_new_eos());
      EXPECT_EQ(harness.drop_output(), c.accepted);
    }
  }
}

// Fails when the element deinterlace in front is of no use, as the error says it is.
TEST(Caps, DeinterlacedVideoIsAccepted) {
  for (const char* mode : {"interleaved", "mixed"}) {
    Pipeline pipeline(std::string("videotestsrc num-buffers=4 ! "
                                  "video/x-raw,format=I420,width=64,height=48,interlace-mode=") +
                      mode + " ! deinterlace ! ocellusflow ! fakesink");
    EXPECT_EQ(pipeline.run_to_end(), "") << mode;
  }
}

// Fails when a buffer that is too small for its caps is accepted, or read past its end, which
// sanitizers detect. Also fails when the message does not name the cause.
TEST_P(Format, TruncatedBuffersAreRefused) {
  const Video video{GetParam(), 64, 48};
  const GstVideoInfo info = video_info(video);
  for (const gsize size :
       {gsize{0}, gsize{1}, GST_VIDEO_INFO_PLANE_STRIDE(&info, 0) * gsize{48} - 1}) {
    Harness harness("", video);
    harness.start();
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
    GST_BUFFER_PTS(buffer) = 0;
    EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR) << size;
    const std::string text = harness.last_error();
    EXPECT_NE(text.find("64x48"), std::string::npos) << text;
  }
}

// As above, for buffers that are smaller than their GstVideoMeta requires.
TEST(Caps, VideoMetaBeyondTheBufferIsRefused) {
  const Video video{GST_VIDEO_FORMAT_GRAY8, 64, 48};
  struct Case {
    gsize offset;
    gint stride;
    const char* word;
  };
  for (const Case& bad :
       {Case{0, 65, "too small"}, Case{1, 64, "too small"}, Case{5000, 64, "cannot be mapped"},
        Case{0, 63, "stride"}, Case{0, -64, "stride"}}) {
    Harness harness("", video);
    harness.start();
    GstBuffer* buffer = make_frame(video, 0, 0, 0);
    gsize offset[GST_VIDEO_MAX_PLANES] = {bad.offset};
    gint stride[GST_VIDEO_MAX_PLANES] = {bad.stride};
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, video.format, 64, 48, 1,
                                   offset, stride);
    EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR);
    const std::string text = harness.last_error();
    EXPECT_NE(text.find(bad.word), std::string::npos) << text;
  }
  Harness harness("", video);
  harness.start();
  GstBuffer* buffer = make_frame(video, 0, 0, 0);
  gsize offset[GST_VIDEO_MAX_PLANES] = {0};
  gint stride[GST_VIDEO_MAX_PLANES] = {32};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, video.format, 32, 24, 1, offset,
                                 stride);
  EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR);
  EXPECT_NE(harness.last_error().find("32x24"), std::string::npos);
}

// Fails when truncated chroma is drawn on.
TEST(Caps, TruncatedChromaIsRefusedWhenItIsDrawnOn) {
  const Video video{GST_VIDEO_FORMAT_I420, 64, 48};
  Harness harness("draw=true align=false", video);
  harness.start();
  GstBuffer* buffer = make_frame(video, 0, 0, 0);
  gst_buffer_resize(buffer, 0, 64 * 48 + 10);
  EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR);
  EXPECT_NE(harness.last_error().find("plane 1"), std::string::npos);
}

// Fails when the proposed allocation has too few buffers for the frames that are held back.
TEST(Caps, ProposedAllocationIncludesTheHeldFrames) {
  Harness harness("method=kernels taps=15x15x20", {});
  harness.start();
  GstCaps* caps = caps_of(harness.video());
  for (const bool downstream_answers : {false, true}) {
    if (downstream_answers) {
      gst_harness_set_propose_allocator(harness.get(), nullptr, nullptr);
      gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
    }
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    ASSERT_TRUE(gst_pad_peer_query(harness.get()->srcpad, query));
    ASSERT_GE(gst_query_get_n_allocation_pools(query), 1u);
    guint min = 0;
    gst_query_parse_nth_allocation_pool(query, 0, nullptr, nullptr, &min, nullptr);
    EXPECT_GE(min, 10u);
    gst_query_unref(query);
  }
  gst_caps_unref(caps);
}

// What a sink with an overlay and a crop of its own accepts.
void accept_metas(GstQuery* query) {
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
}

// Fails when an element offers a meta in the name of downstream that it does not evaluate itself.
TEST(Caps, OnlyTheVideoMetaIsProposed) {
  for (const char* element : kElements) {
    Harness harness("", {}, element);
    harness.start();
    gst_pad_set_query_function(harness.get()->sinkpad,
                               [](GstPad* pad, GstObject* parent, GstQuery* query) -> gboolean {
                                 if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
                                   return gst_pad_query_default(pad, parent, query);
                                 accept_metas(query);
                                 return TRUE;
                               });
    GstCaps* caps = caps_of(harness.video());
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    ASSERT_TRUE(gst_pad_peer_query(harness.get()->srcpad, query)) << element;
    EXPECT_EQ(gst_query_get_n_allocation_metas(query), 1u) << element;
    EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) << element;
    gst_query_unref(query);
    gst_caps_unref(caps);
  }
}

// Fails when an element upstream leaves a crop to the sink, because the element in between has
// offered that. The pictures then have another size than the caps.
TEST(Caps, CropsUpstreamAreMadeBeforeTheElement) {
  for (const char* element : kElements) {
    for (const char* source :
         {"video/x-raw,width=64,height=48 ! videocrop left=3 top=5",
          // Theora codes whole blocks of 16x16 pixels, and its decoder crops.
          "video/x-raw,format=I420,width=50,height=38 ! theoraenc ! theoradec"}) {
      Pipeline pipeline(std::string("videotestsrc num-buffers=4 ! ") + source + " ! " + element +
                        " ! fakesink name=sink");
      GstPad* pad = gst_element_get_static_pad(pipeline.by_name("sink"), "sink");
      gst_pad_add_probe(
          pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
          [](GstPad*, GstPadProbeInfo* info, gpointer) {
            GstQuery* const query = GST_PAD_PROBE_INFO_QUERY(info);
            if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
            accept_metas(query);
            return GST_PAD_PROBE_HANDLED;
          },
          nullptr, nullptr);
      gst_object_unref(pad);
      EXPECT_EQ(pipeline.run_to_end(), "") << element << " after " << source;
    }
  }
}

}  // namespace
}  // namespace ocellus::gst_test
