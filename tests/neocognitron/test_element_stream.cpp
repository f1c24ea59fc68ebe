// ocellusdigits: messages, errors, the stream, and the meta in other elements.
#include <utility>

#include "gst/meta_reader.h"
#include "neocognitron/digit_video.h"

namespace ocellus::gst_test {
namespace {

// ---- messages

// Fails when a message is missing or too many are posted.
TEST(DigitsMessages, ArePostedWhenThePropertySays) {
  const auto [a, b] = two_scenes();
  const app::GrayImage blank = flat_image(kSize);
  for (const auto& [properties, expected] :
       {std::pair{"", 5}, std::pair{"messages=changes", 5}, std::pair{"messages=none", 0},
        std::pair{"messages=all", 8}, std::pair{"messages=none post-messages=true", 8},
        std::pair{"post-messages=true", 8}}) {
    Harness harness(properties, kVideo, kElement);
    harness.start();
    int index = 0;
    for (const app::GrayImage* image :
         {&blank, &blank, &a.image, &a.image, &b.image, &b.image, &blank, &a.image})
      string_of(harness, *image, index++);
    EXPECT_EQ(harness.count_messages(GST_MESSAGE_ELEMENT), expected) << properties;
  }
}

// Fails when the string of a stream is compared with that of the stream before.
TEST(DigitsMessages, FirstFrameAfterAStartIsAChange) {
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  Harness harness("", kVideo, kElement);
  harness.start();
  string_of(harness, scene.image, 0);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_ELEMENT), 1);
  harness.set_video({GST_VIDEO_FORMAT_I420, kSize.width, kSize.height});
  string_of(harness, scene.image, 1);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_ELEMENT), 1);
}

// Fails when a value of the meta is missing or wrong in the message.
TEST(DigitsMessages, HaveTheValuesOfTheMeta) {
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  Harness harness("", kVideo, kElement);
  harness.start();
  GstBuffer* const out = process(harness, scene.image, 3);
  ASSERT_NE(out, nullptr);
  const GstOcellusMeta* meta = digits_of(out);
  ASSERT_NE(meta, nullptr);
  GstMessage* message = harness.message(GST_MESSAGE_ELEMENT);
  ASSERT_NE(message, nullptr);
  const GstStructure* structure = gst_message_get_structure(message);
  EXPECT_STREQ(gst_structure_get_name(structure), "ocellusdigits");
  EXPECT_STREQ(gst_structure_get_string(structure, "string"), meta->string);
  guint count = 0;
  gboolean truncated = TRUE;
  guint64 timestamp = 0;
  guint64 compute_time = 0;
  EXPECT_TRUE(gst_structure_get(structure, "count", G_TYPE_UINT, &count, "truncated",
                                G_TYPE_BOOLEAN, &truncated, "timestamp", G_TYPE_UINT64, &timestamp,
                                "compute-time", G_TYPE_UINT64, &compute_time, nullptr));
  EXPECT_EQ(count, meta->n_items);
  EXPECT_FALSE(truncated);
  EXPECT_EQ(timestamp, harness.pts(3));
  EXPECT_EQ(compute_time, meta->compute_time);
  const GValue* characters = gst_structure_get_value(structure, "digits");
  ASSERT_TRUE(characters != nullptr && GST_VALUE_HOLDS_ARRAY(characters));
  ASSERT_EQ(gst_value_array_get_size(characters), meta->n_items);
  for (guint i = 0; i < meta->n_items; ++i) {
    const GstStructure* character =
        gst_value_get_structure(gst_value_array_get_value(characters, i));
    gint label = -2;
    gint x = -1;
    gint y = -1;
    gint width = -1;
    gint height = -1;
    gdouble confidence = -1;
    EXPECT_TRUE(gst_structure_get(character, "class", G_TYPE_INT, &label, "x", G_TYPE_INT, &x, "y",
                                  G_TYPE_INT, &y, "width", G_TYPE_INT, &width, "height", G_TYPE_INT,
                                  &height, "confidence", G_TYPE_DOUBLE, &confidence, nullptr));
    EXPECT_EQ(label, value_of(meta, "label", i));
    EXPECT_STREQ(gst_structure_get_string(character, "name"), gst_ocellus_meta_get_name(meta, i));
    EXPECT_EQ(box_of(meta, i), (std::array<gint, 4>{x, y, width, height}));
    EXPECT_EQ(confidence, value_of(meta, "confidence", i));
  }
  gst_message_unref(message);
  gst_buffer_unref(out);
}

// ---- errors

// Runs a pipeline with pictures of 320x80; returns its error.
std::string error_of(const std::string& properties) {
  Pipeline pipeline(
      "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=320,height=80 ! "
      "ocellusdigits name=it ! fakesink");
  set_properties(pipeline.by_name("it"), properties);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  return pipeline.wait_for_end();
}

// Fails when a bad option is accepted, or the error does not name the cause.
TEST(DigitsErrors, NameTheCause) {
  struct Case {
    const char* properties;
    std::vector<const char*> says;
  };
  for (const Case& bad : {
           Case{"fields=0,0,4,4", {"fields: number 1 is 0,0,4,4", "at least 8x8 pixels"}},
           Case{"fields=0,0,64,40;300,0,64,40", {"fields: number 2", "frame of 320x80"}},
           Case{"fields=1,2,3", {"field 1 is \"1,2,3\"", "x,y,width,height"}},
           Case{"layout=boxes", {"fields is empty"}},
           Case{"layout=tiles tile-height=100", {"tiles have 28x100 pixels", "320x80"}},
           Case{"min-height=30 max-height=20", {"max-height is 20", "min-height"}},
           Case{"layout=tiles min-height=20", {"min-height"}},
       }) {
    const std::string error = error_of(bad.properties);
    for (const char* says : bad.says)
      EXPECT_NE(error.find(says), std::string::npos) << bad.properties << " says: " << error;
  }
}

// Fails when a missing or a wrong model lets the element start, or the error is not the library's.
TEST(DigitsErrors, ModelThatCannotBeReadStopsTheStart) {
  for (const char* model : {"/nowhere/none.ocellus", "/dev/null", "digits-huge"}) {
    const auto expected = Neocognitron::read_model_info(model);
    ASSERT_FALSE(expected);
    EXPECT_EQ(error_of(std::string("model=") + model), expected.error().text);
  }
}

// Fails when caps without pixels are accepted.
TEST(DigitsErrors, CapsWithoutPixelsAreRefused) {
  GstElement* element = gst_element_factory_make(kElement, nullptr);
  ASSERT_NE(element, nullptr);
  gst_object_ref_sink(element);
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  for (const char* text : {"video/x-raw,format=GRAY8,width=0,height=0,framerate=25/1",
                           "video/x-raw,format=NV12,width=64,height=0,framerate=25/1"}) {
    GstCaps* caps = gst_caps_from_string(text);
    EXPECT_FALSE(gst_pad_query_accept_caps(pad, caps)) << text;
    gst_caps_unref(caps);
  }
  gst_object_unref(pad);
  gst_object_unref(element);
}

// ---- the stream

// Fails when the latency is not that of the frames in flight.
TEST(DigitsStream, LatencyIsThatOfTheFramesInFlight) {
  for (const int depth : {1, 3}) {
    Harness harness("depth=" + std::to_string(depth), kVideo, kElement);
    harness.start();
    EXPECT_EQ(gst_harness_query_latency(harness.get()), harness.pts(depth - 1));
  }
}

// Fails when frames in flight lose their order or their results: each has the string that it has
// alone.
TEST(DigitsStream, FramesInFlightKeepTheirStrings) {
  std::vector<std::string> alone;
  std::vector<app::DigitScene> scenes;
  Harness harness("", kVideo, kElement);
  harness.start();
  for (int i = 0; i < 8; ++i) {
    scenes.push_back(make_scene(easy_scene(kSize, 5), i));
    alone.push_back(string_of(harness, scenes.back().image, i));
  }
  Harness deep("depth=4", kVideo, kElement);
  deep.start();
  for (int i = 0; i < 8; ++i) {
    // The element has no temporal state, so a discontinuity changes nothing.
    const app::GrayImage& image = scenes[static_cast<std::size_t>(i)].image;
    GstBuffer* buffer = buffer_of(image, kVideo, deep.pts(i));
    if (i == 5) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    ASSERT_EQ(deep.push(buffer), GST_FLOW_OK);
  }
  deep.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = deep.pull();
  ASSERT_EQ(out.size(), 8u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const GstOcellusMeta* meta = digits_of(out[i]);
    ASSERT_NE(meta, nullptr);
    EXPECT_EQ(meta->string, alone[i]);
    EXPECT_EQ(meta->pts, deep.pts(static_cast<int>(i)));
  }
  unref_all(out);
}

// Fails when a frame that missed its budget has a result although it passes without one, or its
// late or reused result is not flagged, or a reused result is not that of the frame that it names.
TEST(DigitsStream, MissedBudgets) {
  std::vector<app::DigitScene> scenes;
  std::vector<std::string> strings;
  Harness reader("", kVideo, kElement);
  reader.start();
  for (int i = 0; i < 6; ++i) {
    scenes.push_back(make_scene(easy_scene(kSize, 5), i));
    strings.push_back(string_of(reader, scenes.back().image, i));
  }
  for (const char* on_miss : {"post", "passthrough", "reuse"}) {
    Harness harness(std::string("on-miss=") + on_miss, kVideo, kElement);
    harness.start();
    int without = 0;
    int late = 0;
    int reused = 0;
    for (int i = 0; i < 12; ++i) {
      if (i == 1) set_properties(harness.element(), "budget=1");
      GstBuffer* const out = process(harness, scenes[static_cast<std::size_t>(i % 6)].image, i);
      ASSERT_NE(out, nullptr);
      const GstOcellusMeta* meta = digits_of(out);
      if (meta == nullptr) {
        ++without;
        EXPECT_TRUE(regions_of(out).empty());
      } else {
        late += (meta->flags & GST_OCELLUS_META_FLAG_LATE) != 0 ? 1 : 0;
        const bool is_reused = (meta->flags & GST_OCELLUS_META_FLAG_REUSED) != 0;
        reused += is_reused ? 1 : 0;
        EXPECT_EQ(is_reused, meta->pts != harness.pts(i));
        const auto frame = static_cast<std::size_t>(meta->pts / harness.pts(1));
        EXPECT_EQ(meta->string, strings[frame % 6]);
      }
      gst_buffer_unref(out);
    }
    EXPECT_EQ(harness.stat("misses"), 11u);
    // On a busy machine, some frames are done when the element looks for them.
    const bool passes = on_miss == std::string("passthrough");
    EXPECT_EQ(without > 0, passes) << on_miss;
    EXPECT_EQ(reused > 0, on_miss == std::string("reuse")) << on_miss;
    if (on_miss == std::string("post")) {
      EXPECT_EQ(late, 11);
    }
  }
}

// Fails when a C program cannot read the meta, a copy loses it or shares its string, or a region of
// the picture keeps it.
TEST(DigitsMeta, IsReadInCAndCopied) {
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  Harness harness("", kVideo, kElement);
  harness.start();
  GstBuffer* const out = process(harness, scene.image);
  ASSERT_NE(out, nullptr);
  const std::string string = digits_of(out)->string;
  const guint count = digits_of(out)->n_items;
  GstBuffer* const copy = gst_buffer_copy(out);
  GstBuffer* const part = gst_buffer_copy_region(out, GST_BUFFER_COPY_ALL, 0, 100);
  EXPECT_EQ(digits_of(part), nullptr);
  gst_buffer_unref(part);
  gst_buffer_unref(out);
  const DigitsReading reading = read_digits_in_c(copy);
  EXPECT_TRUE(reading.found);
  EXPECT_EQ(reading.count, count);
  EXPECT_STREQ(reading.string, string.c_str());
  EXPECT_EQ(reading.boxes_in_picture, count);
  gst_buffer_unref(copy);
}

// Fails when boxes do not follow the scale of the picture, or an element that changes only the
// colors loses the meta.
TEST(DigitsMeta, FollowsTheScaleOfThePicture) {
  for (const auto& [filter, scale] :
       {std::pair{"videoconvert ! video/x-raw,format=RGB", 1.0}, std::pair{"queue", 1.0},
        std::pair{"videoscale ! video/x-raw,width=160,height=120", 0.5},
        std::pair{"videoscale ! video/x-raw,width=640,height=480", 2.0}}) {
    Pipeline pipeline(std::string("videotestsrc num-buffers=1 ! "
                                  "video/x-raw,format=I420,width=320,height=240 ! "
                                  "ocellusdigits name=it layout=tiles tile-width=160 "
                                  "tile-height=120 ! ") +
                      filter + " ! " + kSink);
    int found = 0;
    Watch watch{[&, factor = scale](GstBuffer* buffer) {
      const GstOcellusMeta* meta = digits_of(buffer);
      ASSERT_NE(meta, nullptr);
      ASSERT_EQ(meta->n_items, 4u);
      const auto width = static_cast<gint>(160 * factor);
      const auto height = static_cast<gint>(120 * factor);
      EXPECT_EQ(box_of(meta, 3), (std::array<gint, 4>{width, height, width, height}));
      EXPECT_NE(meta->string, nullptr);
      ++found;
    }};
    watch.attach(pipeline);
    EXPECT_EQ(pipeline.run_to_end(), "") << filter;
    EXPECT_EQ(found, 1) << filter;
  }
}

// Fails when the second element hides or loses the result of the first.
TEST(DigitsMeta, TwoElementsInSeries) {
  Pipeline pipeline(std::string("videotestsrc num-buffers=2 ! "
                                "video/x-raw,format=NV12,width=320,height=240 ! "
                                "ocellusdigits name=first layout=tiles tile-width=160 "
                                "tile-height=240 ! ocellusdigits name=second layout=tiles "
                                "tile-width=160 tile-height=120 ! ") +
                    kSink);
  int frames = 0;
  Watch watch{[&](GstBuffer* buffer) {
    ++frames;
    const GstOcellusMeta* last = digits_of(buffer);
    ASSERT_NE(last, nullptr);
    EXPECT_STREQ(g_quark_to_string(last->source), "second");
    EXPECT_EQ(last->n_items, 4u);
    int other = 0;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, g_type_from_name(GST_OCELLUS_META_API_NAME))) {
      const auto* digits = reinterpret_cast<const GstOcellusMeta*>(meta);
      if (digits == last) continue;
      ++other;
      EXPECT_STREQ(g_quark_to_string(digits->source), "first");
      EXPECT_EQ(digits->n_items, 2u);
    }
    EXPECT_EQ(other, 1);
  }};
  watch.attach(pipeline);
  EXPECT_EQ(pipeline.run_to_end(), "");
  EXPECT_EQ(frames, 2);
}

}  // namespace
}  // namespace ocellus::gst_test
