// ocelluscortex: the classes of a picture in its meta and in messages, errors, the meta in other
// elements.
#include <string>
#include <vector>

#include "gst/gst_support.h"
#include "ocellus/ocellus.h"
#include "support/run.h"

namespace ocellus::gst_test {
namespace {

constexpr const char* kElement = "ocelluscortex";
constexpr Video kVideo{GST_VIDEO_FORMAT_GRAY8, 90, 60};
constexpr const char* kTiles = "layout=tiles tile-width=28 tile-height=20";
constexpr int kTileCount = 3 * 3;

/// What the operator finds in the luma of a picture on the CPU.
CortexRecord classify(GstBuffer* buffer, const Video& video, CortexLayout layout) {
  CortexConfig config;
  config.size = {video.width, video.height};
  config.layout = layout;
  config.tile_height = 20;
  if (is_wide(video.format)) config.format = PixelFormat::kGray16;
  Engine engine = test::must(create_engine(test::engine_config(), {config}));
  Cortex op = test::must(Cortex::create(engine, config));
  GstVideoInfo info = video_info(video);
  GstVideoFrame mapped;
  EXPECT_TRUE(gst_video_frame_map(&mapped, &info, buffer, GST_MAP_READ));
  Frame frame;
  frame.data = GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0);
  frame.size = config.size;
  frame.stride = GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0);
  frame.format = config.format;
  const PlaneInfo& plane = op.info().planes[0];
  std::vector<float> evidence(static_cast<std::size_t>(plane.size.width) *
                              static_cast<std::size_t>(plane.size.height));
  const ImageView view{
      evidence.data(), plane.size,
      static_cast<std::ptrdiff_t>(plane.size.width) * static_cast<std::ptrdiff_t>(sizeof(float)),
      PixelFormat::kFloat32};
  CortexRecord record;
  test::must(op.wait(test::must(op.submit(frame, view, &record)), Deadline::never()));
  gst_video_frame_unmap(&mapped);
  return record;
}

GstBuffer* process(Harness& harness, GstBuffer* buffer) {
  EXPECT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
  std::vector<GstBuffer*> out = harness.pull();
  EXPECT_EQ(out.size(), 1u);
  return out.empty() ? nullptr : out[0];
}

class CortexFormat : public testing::TestWithParam<GstVideoFormat> {};
INSTANTIATE_TEST_SUITE_P(All, CortexFormat,
                         testing::Values(GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE,
                                         GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_I420,
                                         GST_VIDEO_FORMAT_NV12));

// Fails when a format is refused, a pixel changes or is copied, or a value of the operator's record
// is missing or wrong in the meta.
// Promises: RES-009.
TEST_P(CortexFormat, MetaHasTheOperatorsResult) {
  for (const bool tiles : {false, true}) {
    Video video = kVideo;
    video.format = GetParam();
    Harness harness(tiles ? kTiles : "", video, kElement);
    gst_object_set_name(GST_OBJECT(harness.element()), "classifier");
    harness.start();
    for (int number = 0; number < 3; ++number) {
      GstBuffer* const sent = harness.frame(number, 3.0, 1.0);
      const CortexRecord record =
          classify(sent, video, tiles ? CortexLayout::kTiles : CortexLayout::kFrame);
      ASSERT_EQ(record.count, tiles ? kTileCount : 1);
      const std::vector<guint8> bytes = bytes_of(sent);
      GstMemory* const memory = gst_buffer_peek_memory(sent, 0);
      GstBuffer* const out = process(harness, sent);
      ASSERT_NE(out, nullptr);
      EXPECT_EQ(bytes_of(out), bytes);
      EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory) << "the picture was copied";
      const GstOcellusMeta* meta = cortex_of(out);
      ASSERT_NE(meta, nullptr);
      EXPECT_STREQ(g_quark_to_string(meta->source), "classifier");
      EXPECT_EQ(meta->flags, guint{GST_OCELLUS_META_FLAG_NONE});
      EXPECT_EQ(meta->pts, harness.pts(number));
      EXPECT_GT(meta->compute_time, 0u);
      EXPECT_EQ(value_of(meta, "truncated"), 0.0);
      ASSERT_EQ(meta->n_items, static_cast<guint>(record.count));
      for (guint i = 0; i < meta->n_items; ++i) {
        EXPECT_EQ(value_of(meta, "label", i), record.label[i]);
        EXPECT_EQ(gst_ocellus_meta_get_name(meta, i), std::to_string(record.label[i]));
        // Backends may round differently.
        EXPECT_NEAR(value_of(meta, "confidence", i), record.confidence[i], 1e-6);
        const auto at = static_cast<gint>(i);
        const std::array<gint, 4> tile = {at % 3 * 28, at / 3 * 20, 28, 20};
        const std::array<gint, 4> whole = {0, 0, video.width, video.height};
        EXPECT_EQ(box_of(meta, i), tiles ? tile : whole);
      }
      gst_buffer_unref(out);
    }
    EXPECT_EQ(harness.stat("copies"), 0u);
  }
}

// Fails when a message is missing, too many are posted, or a value of the meta is missing or wrong
// in it.
TEST(CortexMessages, AreThoseOfThePropertyAndTheMeta) {
  for (const auto& [properties, expected] :
       {std::pair{"", 2}, std::pair{"messages=none", 0}, std::pair{"messages=all", 4},
        std::pair{"messages=none post-messages=true", 4}}) {
    Harness harness(std::string(kTiles) + " " + properties, kVideo, kElement);
    harness.start();
    // Twice the same picture, then twice another one.
    std::vector<std::string> names;
    for (int number = 0; number < 4; ++number) {
      GstBuffer* const out = process(harness, harness.frame(number / 2, 9.0, 5.0));
      ASSERT_NE(out, nullptr);
      const GstOcellusMeta* meta = cortex_of(out);
      ASSERT_NE(meta, nullptr);
      names.push_back(meta->string);
      if (GstMessage* message = harness.message(GST_MESSAGE_ELEMENT)) {
        const GstStructure* structure = gst_message_get_structure(message);
        EXPECT_STREQ(gst_structure_get_name(structure), "ocelluscortex");
        guint count = 0;
        guint64 timestamp = 0;
        gboolean truncated = TRUE;
        EXPECT_TRUE(gst_structure_get(structure, "count", G_TYPE_UINT, &count, "truncated",
                                      G_TYPE_BOOLEAN, &truncated, "timestamp", G_TYPE_UINT64,
                                      &timestamp, nullptr));
        EXPECT_EQ(count, meta->n_items);
        EXPECT_FALSE(truncated);
        EXPECT_STREQ(gst_structure_get_string(structure, "string"), meta->string);
        const GValue* patches = gst_structure_get_value(structure, "patches");
        ASSERT_TRUE(patches != nullptr && GST_VALUE_HOLDS_ARRAY(patches));
        ASSERT_EQ(gst_value_array_get_size(patches), meta->n_items);
        for (guint i = 0; i < meta->n_items; ++i) {
          const GstStructure* patch =
              gst_value_get_structure(gst_value_array_get_value(patches, i));
          gint label = -1;
          gdouble confidence = -1;
          gint x = -1;
          gint y = -1;
          EXPECT_TRUE(gst_structure_get(patch, "class", G_TYPE_INT, &label, "confidence",
                                        G_TYPE_DOUBLE, &confidence, "x", G_TYPE_INT, &x, "y",
                                        G_TYPE_INT, &y, nullptr));
          EXPECT_EQ(label, value_of(meta, "label", i));
          EXPECT_EQ(confidence, value_of(meta, "confidence", i));
          EXPECT_EQ(x, box_of(meta, i)[0]);
          EXPECT_EQ(y, box_of(meta, i)[1]);
        }
        gst_message_unref(message);
        names.push_back("message");
      }
      gst_buffer_unref(out);
    }
    int messages = 0;
    std::vector<std::string> pictures;
    for (const std::string& name : names) {
      if (name == "message")
        ++messages;
      else
        pictures.push_back(name);
    }
    ASSERT_NE(pictures[1], pictures[2]) << "the pictures must have different classes";
    EXPECT_EQ(messages, expected) << properties;
  }
}

// Runs a pipeline with pictures of 90x60; returns its error.
std::string error_of(const std::string& properties) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=90,height=60 ! "
      "ocelluscortex name=it ! fakesink");
  set_properties(pipeline.by_name("it"), properties);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  return pipeline.wait_for_end();
}

// Fails when a tile larger than the picture or a missing or wrong model is accepted, or the error
// is not the library's.
TEST(CortexErrors, NameTheCause) {
  EXPECT_NE(error_of("layout=tiles tile-height=61").find("tiles have 28x61 pixels"),
            std::string::npos);
  for (const char* model : {"/nowhere/none.ocellus", "/dev/null", "faces"}) {
    const auto expected = Cortex::read_model_info(model);
    ASSERT_FALSE(expected);
    EXPECT_EQ(error_of(std::string("model=") + model), expected.error().text);
  }
}

// Fails when a copy of the buffer loses the meta, a part of it keeps the meta, or boxes are not
// scaled with the picture.
TEST(CortexMeta, IsCopiedAndScaled) {
  Harness harness(kTiles, kVideo, kElement);
  harness.start();
  GstBuffer* const out = process(harness, harness.frame(0));
  ASSERT_NE(out, nullptr);
  GstBuffer* const part = gst_buffer_copy_region(out, GST_BUFFER_COPY_ALL, 0, 100);
  EXPECT_EQ(cortex_of(part), nullptr);
  gst_buffer_unref(part);
  GstBuffer* const copy = gst_buffer_copy(out);
  gst_buffer_unref(out);
  const GstOcellusMeta* meta = cortex_of(copy);
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(meta->n_items, guint{kTileCount});
  gst_buffer_unref(copy);

  Pipeline pipeline(
      std::string("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=90,height=60 ! "
                  "ocelluscortex layout=tiles tile-width=28 tile-height=20 ! videoscale ! "
                  "video/x-raw,width=180,height=30 ! ") +
      kSink);
  int frames = 0;
  Watch watch{[&](GstBuffer* buffer) {
    const GstOcellusMeta* scaled = cortex_of(buffer);
    ASSERT_NE(scaled, nullptr);
    ASSERT_EQ(scaled->n_items, guint{kTileCount});
    EXPECT_EQ(box_of(scaled, 4), (std::array<gint, 4>{56, 10, 56, 10}));
    ++frames;
  }};
  watch.attach(pipeline);
  EXPECT_EQ(pipeline.run_to_end(), "");
  EXPECT_EQ(frames, 3);
}

// Fails when frames in flight lose their order or their results.
TEST(CortexStream, FramesInFlightKeepTheirClasses) {
  Harness harness(std::string(kTiles) + " depth=4", kVideo, kElement);
  harness.start();
  std::vector<CortexRecord> expected;
  for (int i = 0; i < 8; ++i) {
    GstBuffer* const sent = harness.frame(i, 7.0, 3.0);
    expected.push_back(classify(sent, kVideo, CortexLayout::kTiles));
    ASSERT_EQ(harness.push(sent), GST_FLOW_OK);
  }
  harness.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 8u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const GstOcellusMeta* meta = cortex_of(out[i]);
    ASSERT_NE(meta, nullptr);
    EXPECT_EQ(meta->pts, harness.pts(static_cast<int>(i)));
    for (guint p = 0; p < meta->n_items; ++p)
      EXPECT_EQ(value_of(meta, "label", p), expected[i].label[p]);
  }
  unref_all(out);
}

}  // namespace
}  // namespace ocellus::gst_test
