// ocellusdigits: the characters of a picture in its metas.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "neocognitron/digit_video.h"
#include "support/files.h"

namespace ocellus::gst_test {
namespace {

class DigitsFormat : public testing::TestWithParam<GstVideoFormat> {};
INSTANTIATE_TEST_SUITE_P(All, DigitsFormat,
                         testing::Values(GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE,
                                         GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_I420,
                                         GST_VIDEO_FORMAT_NV12));

// Fails when a format is refused, a pixel changes or is copied, or a value of the operator's record
// is missing or wrong in the meta or in the regions.
TEST_P(DigitsFormat, PictureHasTheOperatorsResult) {
  const Video video{GetParam(), kSize.width, kSize.height};
  Harness harness("name=reader", video, kElement);
  harness.start();
  for (int number = 0; number < 4; ++number) {
    const app::DigitScene scene = make_scene(easy_scene(kSize, 5), number);
    const NeocognitronRecord record = read_frame({}, scene.image);
    ASSERT_GT(record.count, 0);
    GstBuffer* sent = buffer_of(scene.image, video, harness.pts(number));
    const std::vector<guint8> bytes = bytes_of(sent);
    GstMemory* const memory = gst_buffer_peek_memory(sent, 0);
    ASSERT_EQ(harness.push(sent), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(bytes_of(out[0]), bytes);
    EXPECT_EQ(gst_buffer_peek_memory(out[0], 0), memory) << "the picture was copied";

    const GstOcellusMeta* meta = digits_of(out[0]);
    ASSERT_NE(meta, nullptr);
    EXPECT_STREQ(g_quark_to_string(meta->source), "reader");
    EXPECT_EQ(meta->flags, guint{GST_OCELLUS_META_FLAG_NONE});
    EXPECT_EQ(meta->pts, harness.pts(number));
    EXPECT_GT(meta->compute_time, 0u);
    EXPECT_EQ(meta->string, names_of(record));
    EXPECT_EQ(value_of(meta, "truncated"), record.truncated ? 1.0 : 0.0);
    ASSERT_EQ(meta->n_items, static_cast<guint>(record.count));
    const auto regions = regions_of(out[0]);
    ASSERT_EQ(regions.size(), meta->n_items);
    for (std::size_t i = 0; i < meta->n_items; ++i) {
      const gchar* name = gst_ocellus_meta_get_name(meta, static_cast<guint>(i));
      EXPECT_EQ(value_of(meta, "label", i), record.label[i]);
      EXPECT_EQ(name, std::to_string(record.label[i]));
      // Backends may round differently.
      EXPECT_NEAR(value_of(meta, "confidence", i), record.confidence[i], 1e-2);
      EXPECT_NEAR(value_of(meta, "similarity", i), record.similarity[i], 1e-3);
      EXPECT_NEAR(value_of(meta, "margin", i), record.margin[i], 1e-3);
      const std::array<gint, 4> box = box_of(meta, i);
      EXPECT_EQ(box,
                (std::array<gint, 4>{record.x[i], record.y[i], record.width[i], record.height[i]}));
      EXPECT_EQ(value_of(meta, "line", i), record.line[i]);
      EXPECT_EQ(value_of(meta, "field", i), record.field[i]);
      EXPECT_EQ(value_of(meta, "flags", i), record.flags[i]);

      EXPECT_STREQ(g_quark_to_string(regions[i]->roi_type), "digit");
      EXPECT_EQ(regions[i]->x, static_cast<guint>(box[0]));
      EXPECT_EQ(regions[i]->y, static_cast<guint>(box[1]));
      EXPECT_EQ(regions[i]->w, static_cast<guint>(box[2]));
      EXPECT_EQ(regions[i]->h, static_cast<guint>(box[3]));
      const GstStructure* params = gst_video_region_of_interest_meta_get_param(regions[i], "digit");
      ASSERT_NE(params, nullptr);
      gint label = -2;
      gint line = -1;
      gint field = -1;
      gdouble confidence = -1;
      gdouble margin = -1;
      gboolean rejected = TRUE;
      EXPECT_TRUE(gst_structure_get(params, "class", G_TYPE_INT, &label, "confidence",
                                    G_TYPE_DOUBLE, &confidence, "margin", G_TYPE_DOUBLE, &margin,
                                    "line", G_TYPE_INT, &line, "field", G_TYPE_INT, &field,
                                    "rejected", G_TYPE_BOOLEAN, &rejected, nullptr));
      EXPECT_EQ(label, record.label[i]);
      EXPECT_STREQ(gst_structure_get_string(params, "name"), name);
      EXPECT_EQ(confidence, value_of(meta, "confidence", i));
      EXPECT_EQ(margin, value_of(meta, "margin", i));
      EXPECT_EQ(line, record.line[i]);
      EXPECT_EQ(field, record.field[i]);
      EXPECT_EQ(rejected, gst_ocellus_meta_has_flag(meta, static_cast<guint>(i), "rejected"));
    }
    unref_all(out);
  }
  EXPECT_EQ(harness.stat("copies"), 0u);
}

// Fails when digits are read from a wrong place, in a wrong order or with wrong names. The strokes
// are not those that a model has learned, so some digits may be wrong.
TEST(Digits, StringsAreThoseOfTheScenes) {
  constexpr int kScenes = 20;
  constexpr std::size_t kDigits = 5;
  Harness harness("min-confidence=0", kVideo, kElement);
  harness.start();
  int right = 0;
  for (int number = 0; number < kScenes; ++number) {
    const app::DigitScene scene = make_scene(easy_scene(kSize, kDigits), number);
    const std::string string = string_of(harness, scene.image, number);
    if (string != scene.string)
      g_print("scene %d: %s, read %s\n", number, scene.string.c_str(), string.c_str());
    for (std::size_t i = 0; i < kDigits && string.size() == kDigits; ++i)
      right += string[i] == scene.string[i] ? 1 : 0;
  }
  EXPECT_GE(right, 80) << "of " << kScenes * kDigits << " digits";
}

// Fails when an element that knows GstAnalytics and nothing of Ocellus does not draw the digits.
TEST(Digits, OtherElementsDrawThem) {
  GstElementFactory* const overlay = gst_element_factory_find("objectdetectionoverlay");
  if (overlay == nullptr) GTEST_SKIP() << "objectdetectionoverlay is in GStreamer 1.24 and later";
  gst_object_unref(overlay);
  const Video video{GST_VIDEO_FORMAT_BGRA, kSize.width, kSize.height};
  GstElement* const chain = gst_parse_bin_from_description(
      "ocellusdigits name=reader ! objectdetectionoverlay draw-labels=false", TRUE, nullptr);
  ASSERT_NE(chain, nullptr);
  Harness harness(chain, "", video);
  harness.start();
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  const NeocognitronRecord record = read_frame({}, scene.image);
  ASSERT_GT(record.count, 0);
  GstBuffer* const sent = gst_buffer_new_allocate(nullptr, 4 * scene.image.pixels.size(), nullptr);
  for (std::size_t i = 0; i < scene.image.pixels.size(); ++i)
    gst_buffer_memset(sent, 4 * i, scene.image.pixels[i], 4);
  GST_BUFFER_PTS(sent) = 0;
  const std::vector<guint8> before = bytes_of(sent);
  ASSERT_EQ(harness.push(sent), GST_FLOW_OK) << harness.last_error();
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 1u);
  const std::vector<guint8> after = bytes_of(out[0]);
  ASSERT_EQ(after.size(), before.size());
  const auto drawn = [&](int x, int y) {
    const auto at = 4 * static_cast<std::size_t>(x + y * kSize.width);
    return !std::equal(&before[at], &before[at] + 3, &after[at]);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(record.count); ++i) {
    int edge = 0;
    for (int x = record.x[i]; x < record.x[i] + record.width[i]; ++x)
      edge += drawn(x, record.y[i]) ? 1 : 0;
    EXPECT_GT(edge, record.width[i] / 2) << "the upper edge of digit " << i;
  }
  EXPECT_FALSE(drawn(0, 0));
  unref_all(out);
}

// Fails when the smallest and odd sizes are refused.
TEST(Digits, EverySizeIsRead) {
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{7, 5}, ImageSize{33, 17}}) {
    Harness harness("", {GST_VIDEO_FORMAT_I420, size.width, size.height}, kElement);
    harness.start();
    EXPECT_EQ(string_of(harness, flat_image(size)), "");
  }
}

// Fails when a picture without digits has no meta, has a region, or keeps those of the picture
// before, whose buffer is used again.
TEST(Digits, PictureWithoutDigitsHasAnEmptyResult) {
  Harness harness("", kVideo, kElement);
  harness.start();
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(string_of(harness, scene.image, 2 * i), "");
    GstBuffer* const out = process(harness, flat_image(kSize), 2 * i + 1);
    ASSERT_NE(out, nullptr);
    const GstOcellusMeta* meta = digits_of(out);
    ASSERT_NE(meta, nullptr);
    EXPECT_EQ(meta->n_items, 0u);
    EXPECT_STREQ(meta->string, "");
    EXPECT_EQ(value_of(meta, "truncated"), 0.0);
    EXPECT_TRUE(regions_of(out).empty());
    gst_buffer_unref(out);
  }
}

// Fails when a rejected character stands in the string, or its region does not say so.
TEST(Digits, RejectedCharactersAreQuestionMarks) {
  Harness harness("min-confidence=1", kVideo, kElement);
  harness.start();
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  GstBuffer* const out = process(harness, scene.image);
  ASSERT_NE(out, nullptr);
  const GstOcellusMeta* meta = digits_of(out);
  ASSERT_NE(meta, nullptr);
  ASSERT_GT(meta->n_items, 0u);
  EXPECT_EQ(meta->string, std::string(meta->n_items, '?'));
  for (const GstVideoRegionOfInterestMeta* region : regions_of(out)) {
    gboolean rejected = FALSE;
    EXPECT_TRUE(
        gst_structure_get_boolean(gst_video_region_of_interest_meta_get_param(
                                      const_cast<GstVideoRegionOfInterestMeta*>(region), "digit"),
                                  "rejected", &rejected));
    EXPECT_TRUE(rejected);
  }
  gst_buffer_unref(out);
}

// Fails when more characters than max-characters are reported, or the frame does not say so.
TEST(Digits, TruncatedFramesSaySo) {
  Harness harness("max-characters=2", kVideo, kElement);
  harness.start();
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  GstBuffer* const out = process(harness, scene.image);
  ASSERT_NE(out, nullptr);
  const GstOcellusMeta* meta = digits_of(out);
  ASSERT_NE(meta, nullptr);
  EXPECT_GE(meta->n_items, 1u);
  EXPECT_LE(meta->n_items, 2u);
  EXPECT_EQ(value_of(meta, "truncated"), 1.0);
  gst_buffer_unref(out);
}

// Fails when nothing is drawn around a character, or the picture far from the characters, its
// metas, or the picture of another owner changes.
TEST_P(DigitsFormat, DrawsBoxesAndCharacters) {
  const Video video{GetParam(), 2 * kSize.width, 2 * kSize.height};
  app::GrayImage image = flat_image({video.width, video.height});
  const app::DigitScene scene = make_scene(easy_scene(kSize, 3), 0);
  // The scene is in the lower right quarter.
  for (int y = 0; y < kSize.height; ++y) {
    const auto from = scene.image.pixels.begin() + static_cast<std::ptrdiff_t>(y) * kSize.width;
    std::copy_n(from, kSize.width,
                image.pixels.begin() + static_cast<std::ptrdiff_t>(y + kSize.height) * video.width +
                    kSize.width);
  }
  const std::string properties = "min-confidence=0 fields=320,80,320,80";
  Harness plain(properties, video, kElement);
  plain.start();
  const std::string string = string_of(plain, image);
  Harness harness(properties + " draw=true", video, kElement);
  harness.start();
  GstBuffer* const mine = buffer_of(image, video, 0);
  const std::vector<guint8> bytes = bytes_of(mine);
  ASSERT_EQ(harness.push(gst_buffer_ref(mine)), GST_FLOW_OK) << harness.last_error();
  EXPECT_EQ(bytes_of(mine), bytes) << "the picture of another owner was drawn on";
  gst_buffer_unref(mine);
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 1u);
  const GstOcellusMeta* meta = digits_of(out[0]);
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(meta->string, string);
  ASSERT_GT(meta->n_items, 0u);
  GstVideoInfo info = video_info(video);
  GstVideoFrame drawn;
  ASSERT_TRUE(gst_video_frame_map(&drawn, &info, out[0], GST_MAP_READ));
  const auto* const luma = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&drawn, 0));
  const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&drawn, 0);
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&drawn, 0);
  const auto changed = [&](int x, int y) {
    const int at = y * stride + x * step;
    return std::memcmp(luma + at, bytes.data() + at, static_cast<std::size_t>(step)) != 0;
  };
  for (guint i = 0; i < meta->n_items; ++i) {
    const auto [left, top, width, height] = box_of(meta, i);
    int count = 0;
    for (int y = std::max(0, top - 2); y < std::min(video.height, top + 2); ++y)
      for (int x = left; x < left + width; ++x) count += changed(x, y) ? 1 : 0;
    EXPECT_GE(count, width / 2) << "no upper edge of box " << i;
  }
  for (int y = 0; y < kSize.height / 2; ++y)
    for (int x = 0; x < kSize.width / 2; ++x) ASSERT_FALSE(changed(x, y)) << x << ", " << y;
  gst_video_frame_unmap(&drawn);
  unref_all(out);
  EXPECT_EQ(harness.stat("copies"), 1u);
}

// ---- lines, fields, boxes, tiles

// Fails when lines are not apart, or fields are not read in their order, or the string of a field
// is not that of the field alone.
TEST(Digits, LinesAndFieldsAreApart) {
  const auto [top, bottom] = two_scenes();
  const app::GrayImage both = stack(top.image, bottom.image);
  const Video tall{GST_VIDEO_FORMAT_NV12, kSize.width, 2 * kSize.height};
  std::string first;
  std::string second;
  {
    Harness alone("min-confidence=0", kVideo, kElement);
    alone.start();
    first = string_of(alone, top.image, 0);
    second = string_of(alone, bottom.image, 1);
  }
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(second.size(), 4u);
  {
    Harness harness("min-confidence=0 fields=0,80,320,80;0,0,320,80", tall, kElement);
    harness.start();
    EXPECT_EQ(string_of(harness, both), second + "\n" + first);
    EXPECT_EQ(fields_of(harness), (std::vector<std::string>{second, first}));
  }
  Harness harness("min-confidence=0", tall, kElement);
  harness.start();
  const std::string string = string_of(harness, both);
  EXPECT_EQ(std::count(string.begin(), string.end(), '\n'), 1) << string;
  EXPECT_EQ(string.find('\n'), first.size()) << string;
  EXPECT_EQ(fields_of(harness), std::vector<std::string>{string});
}

// Fails when the characters of boxes stand on lines of their own in the string, or a box has no
// string of its own in the message.
TEST(Digits, BoxesAreOneString) {
  const app::DigitScene scene = make_scene(easy_scene(kSize, 5), 0);
  std::string fields;
  for (const Rect& box : scene.boxes) {
    fields += (fields.empty() ? "" : ";") + std::to_string(box.x) + "," + std::to_string(box.y) +
              "," + std::to_string(std::max(box.width, 8)) + "," +
              std::to_string(std::max(box.height, 8));
  }
  Harness harness("min-confidence=0 layout=boxes fields=" + fields, kVideo, kElement);
  harness.start();
  const std::string string = string_of(harness, scene.image);
  ASSERT_EQ(string.size(), 5u) << string;
  std::vector<std::string> characters;
  for (const char c : string) characters.emplace_back(1, c);
  EXPECT_EQ(fields_of(harness), characters);
}

// Fails when the fields of a file are not read, or a frame has room for fewer digits than a form.
TEST(Digits, FormsAreRead) {
  app::DigitSceneConfig config;
  config.size = {1280, 960};
  const app::DigitScene scene = app::make_form_scene(config, app::draw_digits(400, 2), 0);
  const test::TemporaryFolder folder;
  const std::string file = folder / "fields.txt";
  {
    std::ofstream out(file);
    for (const Rect& box : scene.fields)
      out << box.x << ',' << box.y << ',' << box.width << ',' << box.height << '\n';
  }
  Harness harness("min-confidence=0 fields=@" + file, {GST_VIDEO_FORMAT_GRAY8, 1280, 960},
                  kElement);
  harness.start();
  GstBuffer* const out = process(harness, scene.image);
  ASSERT_NE(out, nullptr);
  const GstOcellusMeta* meta = digits_of(out);
  ASSERT_NE(meta, nullptr);
  EXPECT_GE(meta->n_items, 145u);
  ASSERT_EQ(meta->n_parts, 28u);
  std::istringstream lines(scene.string);
  int right = 0;
  for (guint part = 0; part < meta->n_parts; ++part) {
    std::string expected;
    std::getline(lines, expected);
    right += expected == meta->parts[part] ? 1 : 0;
  }
  EXPECT_GE(right, 22);
  EXPECT_EQ(fields_of(harness).size(), 28u);
  gst_buffer_unref(out);
}

// Fails when an empty tile has a region or a class, or moves the characters behind it.
TEST(Digits, EmptyTilesAreSpaces) {
  const app::DigitImages digits = app::draw_digits(2, 3);
  app::GrayImage image({3 * digits.width, digits.height}, PixelFormat::kGray8);
  const auto side = static_cast<std::size_t>(digits.width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(digits.height); ++y) {
    for (std::size_t x = 0; x < side; ++x) {
      image.pixels[y * 3 * side + x] = digits.ink[y * side + x];
      const std::size_t second = side * static_cast<std::size_t>(digits.height) + y * side + x;
      image.pixels[y * 3 * side + 2 * side + x] = digits.ink[second];
    }
  }
  const std::string tile = std::to_string(digits.width);
  Harness harness("layout=tiles ink=light min-confidence=0 tile-width=" + tile +
                      " tile-height=" + std::to_string(digits.height),
                  {GST_VIDEO_FORMAT_GRAY8, image.size.width, image.size.height}, kElement);
  harness.start();
  GstBuffer* const out = process(harness, image);
  ASSERT_NE(out, nullptr);
  const GstOcellusMeta* meta = digits_of(out);
  ASSERT_NE(meta, nullptr);
  ASSERT_EQ(meta->n_items, 3u);
  const std::string string = meta->string;
  ASSERT_EQ(string.size(), 3u) << string;
  EXPECT_EQ(string[1], ' ');
  EXPECT_EQ(string[0], gst_ocellus_meta_get_name(meta, 0)[0]);
  EXPECT_EQ(string[2], gst_ocellus_meta_get_name(meta, 2)[0]);
  EXPECT_EQ(value_of(meta, "label", 1), -1.0);
  EXPECT_STREQ(gst_ocellus_meta_get_name(meta, 1), "");
  EXPECT_TRUE(gst_ocellus_meta_has_flag(meta, 1, "empty"));
  const auto regions = regions_of(out);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[1]->x, static_cast<guint>(2 * digits.width));
  EXPECT_EQ(fields_of(harness), std::vector<std::string>{string});
  gst_buffer_unref(out);
}

}  // namespace
}  // namespace ocellus::gst_test
