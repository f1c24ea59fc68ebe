// GstOcellusMeta, and what an element makes of the tables of its operator alone: regions, messages
// and drawing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/gstocellusmeta.h"
#include "gst/fake_element.h"
#ifdef OCELLUS_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

namespace ocellus::gst_test {
namespace {

constexpr std::size_t kMost = 4;

struct Animals {
  std::int32_t count = 0;
  std::uint8_t crowded = 0;
  float light = 0.0f;
  std::int32_t label[kMost];
  float confidence[kMost];
  std::int32_t x[kMost], y[kMost], width[kMost], height[kMost];
  std::int32_t room[kMost], row[kMost];
  std::uint32_t marks[kMost];
  std::uint32_t legs[kMost];
};

constexpr RecordFlag kMarks[] = {{"asleep"}, {"unsure", "?"}};

template <typename T>
constexpr RecordField each(const char* name, FieldType type, T offset, FieldRole role,
                           std::span<const RecordFlag> flags = {}) {
  return {name, type, kMost, static_cast<std::uint32_t>(offset), "", role, flags};
}

constexpr RecordField kFields[] = {
    {"count", FieldType::kInt32, 1, offsetof(Animals, count), "", FieldRole::kCount},
    {"crowded", FieldType::kBool, 1, offsetof(Animals, crowded), "", FieldRole::kFlag},
    {"light", FieldType::kFloat, 1, offsetof(Animals, light), "lux"},
    each("label", FieldType::kInt32, offsetof(Animals, label), FieldRole::kLabel),
    each("confidence", FieldType::kFloat, offsetof(Animals, confidence), FieldRole::kConfidence),
    each("x", FieldType::kInt32, offsetof(Animals, x), FieldRole::kBox),
    each("y", FieldType::kInt32, offsetof(Animals, y), FieldRole::kBox),
    each("width", FieldType::kInt32, offsetof(Animals, width), FieldRole::kBox),
    each("height", FieldType::kInt32, offsetof(Animals, height), FieldRole::kBox),
    each("room", FieldType::kInt32, offsetof(Animals, room), FieldRole::kText),
    each("row", FieldType::kInt32, offsetof(Animals, row), FieldRole::kText),
    each("marks", FieldType::kUint32, offsetof(Animals, marks), FieldRole::kFlag, kMarks),
    each("legs", FieldType::kUint32, offsetof(Animals, legs), FieldRole::kValue),
};
constexpr RecordInfo kRecord = {
    "animals", sizeof(Animals), kFields, static_cast<int>(std::size(kFields)), "animals", "animal"};
constexpr ClassName kNames[] = {"cat", "dog"};

/// A cat in room 0; in room 1 a dog that may be none, and an empty place.
constexpr Animals kAnimals = {3,
                              1,
                              2.5f,
                              {0, 1, -1},
                              {0.75f, 0.5f, 0.0f},
                              {10, 40, 60},
                              {20, 30, 30},
                              {16, 20, 8},
                              {24, 10, 8},
                              {0, 1, 1},
                              {0, 0, 0},
                              {1, 2, 0},
                              {4, 3, 0}};

/// A plane of scores, and one with a value for each pixel.
Script animals() {
  Script told;
  told.frames = 1;
  told.describe = [](OperatorInfo& info) {
    info.record = &kRecord;
    info.classes = 2;
    info.text_parts = 2;
    info.plane_count = 3;
    info.planes[0] = {"scores", {2, 4}, PixelFormat::kFloat32, false};
    info.planes[1] = {"heat", info.size, PixelFormat::kGray8, false};
    info.planes[2] = {"depth", info.size, PixelFormat::kGray16, true};
  };
  told.class_names = kNames;
  told.write = [](const OperatorOutput& out) {
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 2; ++x)
        out.planes[0].row<float>(y)[x] = x == 0 ? NAN : static_cast<float>(y);
    for (const ImageView& plane : {out.planes[1], out.planes[2]})
      for (int y = 0; y < plane.size.height; ++y)
        std::memset(plane.row<guint8>(y), y, static_cast<std::size_t>(plane.stride));
    std::memcpy(out.record, &kAnimals, sizeof(kAnimals));
  };
  return told;
}

/// A value for each frame, which has no place in the picture.
Script plain() {
  Script told;
  told.frames = 1;
  return told;
}

GstBuffer* one_buffer(Fake& fake) {
  fake->start();
  EXPECT_EQ(fake.push(5), GST_FLOW_OK) << fake->last_error();
  std::vector<GstBuffer*> out = fake->pull();
  EXPECT_EQ(out.size(), 1u);
  return out.empty() ? nullptr : out[0];
}

/// Copies the metas of a buffer as an element does that scales its picture.
GstBuffer* scaled(GstBuffer* from, const Video& before, const Video& after) {
  GstVideoInfo in = video_info(before);
  GstVideoInfo out = video_info(after);
  GstVideoMetaTransform scale{&in, &out};
  GstBuffer* to = gst_buffer_new();
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             from, &state, g_type_from_name(GST_OCELLUS_META_API_NAME)))
    meta->info->transform_func(to, meta, from, gst_video_meta_transform_scale_get_quark(), &scale);
  return to;
}

using Box = std::array<gint, 4>;

// Fails when a value of the record, a plane or a text is missing or wrong in the meta.
// Promises: GST-006.
TEST(Meta, HasTheValuesOfTheTables) {
  Fake fake("", animals());
  gst_object_set_name(GST_OBJECT(fake->element()), "zoo");
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  const GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(buffer, "fake");
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(meta, gst_buffer_get_ocellus_meta(buffer, nullptr));
  EXPECT_EQ(gst_buffer_get_ocellus_meta(buffer, "flow"), nullptr);
  EXPECT_STREQ(g_quark_to_string(meta->source), "zoo");
  EXPECT_EQ(meta->pts, fake->pts(5));
  EXPECT_EQ(meta->width, 96);
  EXPECT_EQ(meta->height, 64);
  EXPECT_STREQ(meta->info->items, "animals");
  EXPECT_STREQ(meta->info->item, "animal");
  ASSERT_EQ(meta->info->n_classes, 2u);
  EXPECT_STREQ(meta->info->class_names[1], "dog");
  EXPECT_EQ(meta->info->record_bytes, sizeof(Animals));
  EXPECT_EQ(std::memcmp(meta->record, &kAnimals, sizeof(Animals)), 0);

  const GstOcellusField* const light = gst_ocellus_meta_get_field(meta, "light");
  ASSERT_NE(light, nullptr);
  EXPECT_STREQ(light->help, "lux");
  EXPECT_EQ(light->type, GST_OCELLUS_TYPE_FLOAT);
  EXPECT_EQ(light->role, GST_OCELLUS_ROLE_VALUE);
  EXPECT_EQ(value_of(meta, "light"), 2.5);
  EXPECT_EQ(value_of(meta, "crowded"), 1.0);
  ASSERT_EQ(meta->n_items, 3u);
  EXPECT_STREQ(gst_ocellus_meta_get_name(meta, 0), "cat");
  EXPECT_STREQ(gst_ocellus_meta_get_name(meta, 2), "");
  EXPECT_EQ(value_of(meta, "label", 2), -1.0);
  EXPECT_EQ(value_of(meta, "confidence", 1), 0.5);
  EXPECT_EQ(value_of(meta, "legs", 1), 3.0);
  EXPECT_TRUE(gst_ocellus_meta_has_flag(meta, 0, "asleep"));
  EXPECT_FALSE(gst_ocellus_meta_has_flag(meta, 0, "unsure"));
  EXPECT_TRUE(gst_ocellus_meta_has_flag(meta, 1, "unsure"));
  EXPECT_EQ(box_of(meta, 1), (Box{40, 30, 20, 10}));
  EXPECT_STREQ(meta->string, "cat\n? ");
  ASSERT_EQ(meta->n_parts, 2u);
  EXPECT_STREQ(meta->parts[0], "cat");
  EXPECT_STREQ(meta->parts[1], "? ");

  ASSERT_EQ(meta->n_planes, 3u);
  const GstOcellusPlane& scores = plane_of(meta, "scores");
  EXPECT_FALSE(scores.is_picture);
  EXPECT_EQ(scores.type, GST_OCELLUS_TYPE_FLOAT);
  gdouble value = 0.0;
  EXPECT_TRUE(gst_ocellus_plane_get_value(&scores, 1, 3, &value));
  EXPECT_EQ(value, 3.0);
  EXPECT_FALSE(gst_ocellus_plane_get_value(&scores, 0, 3, &value)) << "it is NaN";
  EXPECT_FALSE(gst_ocellus_plane_get_value(&scores, 1, 4, &value));
  EXPECT_TRUE(plane_of(meta, "heat").is_picture);
  EXPECT_TRUE(gst_ocellus_plane_get_value(&plane_of(meta, "heat"), 95, 63, &value));
  EXPECT_EQ(value, 63.0);
  EXPECT_EQ(plane_of(meta, "depth").type, GST_OCELLUS_TYPE_UINT16);
  EXPECT_TRUE(gst_ocellus_plane_get_value(&plane_of(meta, "depth"), 95, 2, &value));
  EXPECT_EQ(value, 0x202);
  gst_buffer_unref(buffer);
}

// Fails when a name that does not exist, an item behind the last one or a plane that was left out
// is read.
TEST(Meta, UnknownNamesAreRefused) {
  Fake fake("", animals());
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(buffer, "fake");
  ASSERT_NE(meta, nullptr);
  gdouble value = 0.0;
  EXPECT_EQ(gst_ocellus_meta_get_plane(meta, "u"), nullptr);
  EXPECT_FALSE(gst_ocellus_plane_get_value(nullptr, 0, 0, &value));
  EXPECT_EQ(gst_ocellus_meta_get_field(meta, "Label"), nullptr);
  EXPECT_FALSE(gst_ocellus_meta_get_value(meta, "wings", 0, &value));
  EXPECT_FALSE(gst_ocellus_meta_get_value(meta, "label", 3, &value));
  EXPECT_FALSE(gst_ocellus_meta_get_value(meta, "light", 1, &value));
  EXPECT_STREQ(gst_ocellus_meta_get_name(meta, 3), "");
  EXPECT_FALSE(gst_ocellus_meta_has_flag(meta, 0, "awake"));
  EXPECT_FALSE(gst_ocellus_meta_has_flag(meta, 3, "asleep"));
  Box box{};
  EXPECT_FALSE(gst_ocellus_meta_get_box(meta, 3, &box[0], &box[1], &box[2], &box[3]));
  meta->planes[2].data = nullptr;
  EXPECT_EQ(gst_ocellus_meta_get_plane(meta, "depth"), nullptr);
  gst_buffer_unref(buffer);
}

// Fails when a reader takes the struct of another version for its own, or says nothing.
TEST(Meta, AnotherVersionIsNotRead) {
  Fake fake("", animals());
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(buffer, nullptr);
  ASSERT_NE(meta, nullptr);
  std::string warning;
  const guint handler = g_log_set_handler(
      nullptr, G_LOG_LEVEL_WARNING,
      [](const gchar*, GLogLevelFlags, const gchar* text, gpointer to) {
        *static_cast<std::string*>(to) += text;
      },
      &warning);
  meta->version = GST_OCELLUS_META_VERSION + 1;
  EXPECT_EQ(gst_buffer_get_ocellus_meta(buffer, nullptr), nullptr);
  meta->version = GST_OCELLUS_META_VERSION;
  g_log_remove_handler(nullptr, handler);
  EXPECT_NE(warning.find("has version 2 of GstOcellusMeta"), std::string::npos) << warning;
  gst_buffer_unref(buffer);
}

// Fails when a copy shares its strings, copies the planes, or depends on the buffer or the element.
// Promises: GST-006.
TEST(Meta, CopiesOutliveTheElement) {
  GstBuffer* copy = nullptr;
  {
    Fake fake("", animals());
    GstBuffer* const buffer = one_buffer(fake);
    ASSERT_NE(buffer, nullptr);
    copy = gst_buffer_copy(buffer);
    const GstOcellusMeta* const original = gst_buffer_get_ocellus_meta(buffer, nullptr);
    const GstOcellusMeta* const copied = gst_buffer_get_ocellus_meta(copy, nullptr);
    ASSERT_NE(copied, nullptr);
    EXPECT_NE(copied->string, original->string);
    EXPECT_EQ(plane_of(copied, "heat").data, plane_of(original, "heat").data);
    gst_buffer_unref(buffer);
  }
  const GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(copy, "fake");
  ASSERT_NE(meta, nullptr);
  EXPECT_STREQ(meta->string, "cat\n? ");
  EXPECT_STREQ(meta->parts[1], "? ");
  EXPECT_STREQ(gst_ocellus_meta_get_name(meta, 1), "dog");
  EXPECT_EQ(value_of(meta, "legs", 0), 4.0);
  gdouble value = 0.0;
  EXPECT_TRUE(gst_ocellus_plane_get_value(&plane_of(meta, "heat"), 0, 7, &value));
  EXPECT_EQ(value, 7.0);
  gst_buffer_unref(copy);
}

// Fails when boxes are not scaled with the picture, a plane stays that no longer fits, or one goes
// that has no place in the picture.
// Promises: GST-006.
TEST(Meta, FollowsTheScaleOfThePicture) {
  Fake fake("", animals());
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  const Video before;
  const Video half{before.format, before.width / 2, before.height / 2};
  const Video wide{before.format, 4 * before.width, before.height};
  GstBuffer* const same = scaled(buffer, before, before);
  EXPECT_EQ(box_of(gst_buffer_get_ocellus_meta(same, nullptr), 0), (Box{10, 20, 16, 24}));
  EXPECT_NE(plane_of(gst_buffer_get_ocellus_meta(same, nullptr), "heat").data, nullptr);
  GstBuffer* const smaller = scaled(buffer, before, half);
  const GstOcellusMeta* const in_half = gst_buffer_get_ocellus_meta(smaller, nullptr);
  ASSERT_NE(in_half, nullptr);
  EXPECT_EQ(box_of(in_half, 0), (Box{5, 10, 8, 12}));
  EXPECT_EQ(gst_ocellus_meta_get_plane(in_half, "heat"), nullptr);
  EXPECT_EQ(plane_of(in_half, "scores").height, 4);
  GstBuffer* const twice = scaled(smaller, half, wide);
  EXPECT_EQ(box_of(gst_buffer_get_ocellus_meta(twice, nullptr), 0), (Box{40, 20, 64, 24}));
  for (GstBuffer* one : {twice, smaller, same, buffer}) gst_buffer_unref(one);
}

// Fails when a region of the picture keeps boxes and planes of the whole one, or loses a result
// that has no place in the picture.
TEST(Meta, ARegionKeepsWhatHasNoPlace) {
  for (const bool placed : {true, false}) {
    Fake fake("", placed ? animals() : plain());
    GstBuffer* const buffer = one_buffer(fake);
    ASSERT_NE(buffer, nullptr);
    GstBuffer* const part = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 0, 100);
    EXPECT_EQ(gst_buffer_get_ocellus_meta(part, nullptr) == nullptr, placed);
    gst_buffer_unref(part);
    gst_buffer_unref(buffer);
  }
}

// Fails when planes of the picture alone survive another size.
TEST(Meta, PlanesAloneAreRemovedWithTheScale) {
  Script told = animals();
  told.describe = [](OperatorInfo& info) {
    info.planes[0] = {"heat", info.size, PixelFormat::kGray8, false};
    info.record = nullptr;
  };
  told.class_names = nullptr;
  told.write = [](const OperatorOutput&) {};
  Fake fake("", told);
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(gst_buffer_get_ocellus_meta(buffer, nullptr)->string, nullptr);
  GstBuffer* const same = scaled(buffer, {}, {});
  EXPECT_NE(gst_buffer_get_ocellus_meta(same, nullptr), nullptr);
  GstBuffer* const other = scaled(buffer, {}, {GST_VIDEO_FORMAT_GRAY8, 48, 64});
  EXPECT_EQ(gst_buffer_get_ocellus_meta(other, nullptr), nullptr);
  for (GstBuffer* one : {same, other, buffer}) gst_buffer_unref(one);
}

// Fails when an element hides or loses the result of the one before it.
// Promises: GST-006.
TEST(Meta, ElementsInSeriesKeepEachResult) {
  auto first = std::make_unique<Fake>("", animals());
  gst_object_set_name(GST_OBJECT((*first)->element()), "first");
  GstBuffer* const buffer = one_buffer(*first);
  ASSERT_NE(buffer, nullptr);
  first.reset();
  Fake second("", plain());
  gst_object_set_name(GST_OBJECT(second->element()), "second");
  second->start();
  ASSERT_EQ(second->push(buffer), GST_FLOW_OK);
  std::vector<GstBuffer*> out = second->pull();
  ASSERT_EQ(out.size(), 1u);
  std::vector<std::string> sources;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             out[0], &state, g_type_from_name(GST_OCELLUS_META_API_NAME)))
    sources.emplace_back(g_quark_to_string(reinterpret_cast<GstOcellusMeta*>(meta)->source));
  EXPECT_EQ(sources, (std::vector<std::string>{"second", "first"}));
  EXPECT_EQ(value_of(gst_buffer_get_ocellus_meta(out[0], nullptr), "first"), 5.0);
  unref_all(out);
}

/// Reads all that a meta says.
double walk(const GstOcellusMeta* meta) {
  double sum = 0.0;
  for (guint i = 0; i < meta->info->n_fields; ++i) {
    const GstOcellusField& field = meta->info->fields[i];
    gdouble value = 0.0;
    const guint count = field.capacity > 1 ? meta->n_items : 1;
    for (guint item = 0; item < count; ++item)
      if (gst_ocellus_meta_get_value(meta, field.name, item, &value)) sum += value;
    for (guint flag = 0; flag < field.n_flags; ++flag)
      sum += gst_ocellus_meta_has_flag(meta, 0, field.flags[flag]) ? 1.0 : 0.0;
  }
  for (guint item = 0; item < meta->n_items; ++item) {
    Box box{};
    sum += static_cast<double>(std::strlen(gst_ocellus_meta_get_name(meta, item)));
    if (gst_ocellus_meta_get_box(meta, item, &box[0], &box[1], &box[2], &box[3])) sum += box[3];
  }
  for (guint part = 0; part < meta->n_parts; ++part)
    sum += static_cast<double>(std::strlen(meta->parts[part]));
  for (guint i = 0; i < meta->n_planes; ++i) {
    const GstOcellusPlane& plane = meta->planes[i];
    for (int y = 0; plane.data != nullptr && y < plane.height; ++y) {
      const auto* row =
          static_cast<const guint8*>(plane.data) + static_cast<gsize>(y) * plane.stride;
      sum += plane.width > 0 ? row[plane.width - 1] : 0;
    }
  }
  return sum;
}

std::vector<guint8> whole_bytes(Script told) {
  Fake fake("", told);
  gst_object_set_name(GST_OBJECT(fake->element()), "zoo");
  GstBuffer* const buffer = one_buffer(fake);
  const std::vector<guint8> bytes =
      gst_ocellus::to_bytes(*gst_buffer_get_ocellus_meta(buffer, nullptr));
  gst_buffer_unref(buffer);
  return bytes;
}

// Fails when a value, a text or a plane is lost or changes on the way to another process, or when
// the result there needs the memory of the bytes.
TEST(Bytes, HaveAllThatTheMetaHas) {
  Fake fake("", animals());
  gst_object_set_name(GST_OBJECT(fake->element()), "zoo");
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  GstOcellusMeta* const sent = gst_buffer_get_ocellus_meta(buffer, nullptr);
  sent->planes[2].data = nullptr;  // as after a change of the size
  sent->flags = GST_OCELLUS_META_FLAG_LATE;
  GstBuffer* const other = gst_buffer_new();
#if GST_CHECK_VERSION(1, 24, 0)
  GByteArray* const bytes = g_byte_array_new();
  ASSERT_TRUE(gst_meta_serialize_simple(&sent->meta, bytes));
  guint32 consumed = 0;
  ASSERT_NE(gst_meta_deserialize(other, bytes->data, bytes->len, &consumed), nullptr);
  EXPECT_EQ(consumed, bytes->len);
  g_byte_array_unref(bytes);
#else
  std::vector<guint8> bytes = gst_ocellus::to_bytes(*sent);
  ASSERT_TRUE(gst_ocellus::from_bytes(bytes, *gst_buffer_add_ocellus_meta(other)));
  std::fill(bytes.begin(), bytes.end(), guint8{0});
#endif
  const GstOcellusMeta* const got = gst_buffer_get_ocellus_meta(other, "fake");
  ASSERT_NE(got, nullptr);
  EXPECT_STREQ(g_quark_to_string(got->source), "zoo");
  EXPECT_EQ(got->flags, guint{GST_OCELLUS_META_FLAG_LATE});
  EXPECT_EQ(got->pts, sent->pts);
  EXPECT_EQ(got->described_pts, sent->described_pts);
  EXPECT_EQ(got->compute_time, sent->compute_time);
  EXPECT_EQ(got->width, 96);
  EXPECT_EQ(got->n_items, 3u);
  EXPECT_STREQ(got->string, "cat\n? ");
  EXPECT_STREQ(got->parts[1], "? ");
  EXPECT_STREQ(gst_ocellus_meta_get_name(got, 1), "dog");
  EXPECT_TRUE(gst_ocellus_meta_has_flag(got, 0, "asleep"));
  EXPECT_STREQ(gst_ocellus_meta_get_field(got, "light")->help, "lux");
  EXPECT_EQ(box_of(got, 1), (Box{40, 30, 20, 10}));
  EXPECT_EQ(std::memcmp(got->record, &kAnimals, sizeof(Animals)), 0);
  EXPECT_EQ(walk(got), walk(sent));
  EXPECT_EQ(gst_ocellus_meta_get_plane(got, "depth"), nullptr);
  const GstOcellusPlane& heat = plane_of(got, "heat");
  EXPECT_NE(heat.data, plane_of(sent, "heat").data);
  gdouble value = 0.0;
  EXPECT_TRUE(gst_ocellus_plane_get_value(&heat, 95, 63, &value));
  EXPECT_EQ(value, 63.0);
  EXPECT_EQ(heat.is_picture, TRUE);
  EXPECT_EQ(gst_ocellus::to_bytes(*got), gst_ocellus::to_bytes(*sent));
  for (GstBuffer* one : {other, buffer}) gst_buffer_unref(one);
}

// Fails when bytes that end early or too late are a meta, or changed bytes are one that reads
// memory which it does not have (seen by the address sanitizer).
TEST(Bytes, DamagedOnesAreRefused) {
  for (const Script& told : {animals(), plain()}) {
    const std::vector<guint8> whole = whole_bytes(told);
    GstBuffer* const buffer = gst_buffer_new();
    GstOcellusMeta* const meta = gst_buffer_add_ocellus_meta(buffer);
    std::vector<guint8> longer = whole;
    longer.push_back(0);
    EXPECT_FALSE(gst_ocellus::from_bytes(longer, *meta));
    for (std::size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 997) {
      // Memory of its own, so that a read behind it is seen.
      const std::vector<guint8> part(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(gst_ocellus::from_bytes(part, *meta)) << size;
      ASSERT_EQ(gst_buffer_get_ocellus_meta(buffer, nullptr), nullptr);
    }
    constexpr guint8 kValues[] = {0, 1, 127, 255};
    std::vector<guint8> changed = whole;
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 2000); ++at) {
      changed[at] = kValues[at % 4];
      if (gst_ocellus::from_bytes(changed, *meta)) walk(meta);
      gst_ocellus_meta_clear(meta);
      changed[at] = whole[at];
    }
    EXPECT_TRUE(gst_ocellus::from_bytes(whole, *meta));
    gst_buffer_unref(buffer);
  }
}

#ifdef OCELLUS_GST_ANALYTICS
std::string analytics_of(GstBuffer* buffer) {
  GstAnalyticsRelationMeta* const meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return "none";
  std::string text;
  gpointer state = nullptr;
  GstAnalyticsODMtd found;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &found)) {
    gint x = 0, y = 0, width = 0, height = 0;
    gfloat confidence = 0.0f;
    gst_analytics_od_mtd_get_location(&found, &x, &y, &width, &height, &confidence);
    text += std::string(g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&found))) + " " +
            std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(width) + "," +
            std::to_string(height) + " " + std::to_string(confidence).substr(0, 4);
    gpointer related = nullptr;
    GstAnalyticsClsMtd label;
    while (gst_analytics_relation_meta_get_direct_related(
        meta, found.id, GST_ANALYTICS_REL_TYPE_CONTAIN, gst_analytics_cls_mtd_get_mtd_type(),
        &related, &label))
      text += std::string(" is ") + g_quark_to_string(gst_analytics_cls_mtd_get_quark(&label, 0)) +
              " " + std::to_string(gst_analytics_cls_mtd_get_level(&label, 0)).substr(0, 4);
    text += "; ";
  }
  return text + std::to_string(gst_analytics_relation_get_length(meta));
}

// Fails when an item with a box is no detection, its class no classification of it, or an element
// downstream hides the detections of the one before it.
TEST(Table, ItemsAreDetectionsAndClassifications) {
  const std::string animal = "cat 10,20,16,24 0.75 is cat 0.75; dog 40,30,20,10 0.50 is dog 0.50; ";
  auto first = std::make_unique<Fake>("", animals());
  GstBuffer* const buffer = one_buffer(*first);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(analytics_of(buffer), animal + "4");
  first.reset();
  auto second = std::make_unique<Fake>("", animals());
  (*second)->start();
  ASSERT_EQ((*second)->push(buffer), GST_FLOW_OK);
  std::vector<GstBuffer*> out = (*second)->pull();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(analytics_of(out[0]), animal + animal + "8");
  unref_all(out);
  second.reset();
  Fake none("", plain());
  GstBuffer* const without = one_buffer(none);
  EXPECT_EQ(analytics_of(without), "none");
  gst_buffer_unref(without);
}

// Fails when items without a box in the record have none of their tile, or the class of a whole
// picture is said to be somewhere in it.
TEST(Table, TilesAreDetectionsAndPicturesAreNot) {
  static constexpr RecordField kTileFields[] = {
      {"count", FieldType::kInt32, 1, offsetof(Animals, count), "", FieldRole::kCount},
      each("label", FieldType::kInt32, offsetof(Animals, label), FieldRole::kLabel)};
  static constexpr RecordInfo kTiles = {"tiles", sizeof(Animals), kTileFields, 2, "tiles", "tile"};
  for (const bool whole : {false, true}) {
    Script told = animals();
    told.describe = [whole, describe = told.describe](OperatorInfo& info) {
      describe(info);
      info.record = &kTiles;
      info.tile = whole ? info.size : ImageSize{32, 32};
      info.tile_columns = whole ? 1 : 3;
    };
    told.write = [whole](const OperatorOutput& out) {
      Animals tiles = kAnimals;
      tiles.count = whole ? 1 : 2;
      std::memcpy(out.record, &tiles, sizeof(tiles));
    };
    Fake fake("", told);
    GstBuffer* const buffer = one_buffer(fake);
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(analytics_of(buffer),
              whole ? "1" : "cat 0,0,32,32 1.00 is cat 1.00; dog 32,0,32,32 1.00 is dog 1.00; 4");
    gst_buffer_unref(buffer);
  }
}
#endif

// Fails when an item has no region, an empty one has, or a value is missing in it.
TEST(Table, ItemsAreRegions) {
  Fake fake("", animals());
  GstBuffer* const buffer = one_buffer(fake);
  ASSERT_NE(buffer, nullptr);
  std::vector<std::string> regions;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* region = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    gchar* text =
        gst_structure_to_string(gst_video_region_of_interest_meta_get_param(region, "animal"));
    regions.push_back(std::to_string(region->x) + "," + std::to_string(region->y) + "," +
                      std::to_string(region->w) + "," + std::to_string(region->h) + " " + text);
    g_free(text);
  }
  EXPECT_EQ(regions,
            (std::vector<std::string>{
                "10,20,16,24 animal, class=(int)0, name=(string)cat, confidence=(double)0.75, "
                "room=(int)0, row=(int)0, asleep=(boolean)true, unsure=(boolean)false, "
                "legs=(uint)4;",
                "40,30,20,10 animal, class=(int)1, name=(string)dog, confidence=(double)0.5, "
                "room=(int)1, row=(int)0, asleep=(boolean)false, unsure=(boolean)true, "
                "legs=(uint)3;"}));
  gst_buffer_unref(buffer);
}

// Fails when a message lacks a value, or is posted at another time than the property says.
TEST(Table, ValuesAreInMessages) {
  for (const auto& [properties, expected] :
       {std::pair{"", 1}, std::pair{"messages=all", 3}, std::pair{"messages=none", 0},
        std::pair{"messages=none post-messages=true", 3}}) {
    Fake fake(properties, animals());
    fake->start();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    fake->drop_output();
    int messages = 0;
    while (GstMessage* message = fake->message(GST_MESSAGE_ELEMENT)) {
      const GstStructure* values = gst_message_get_structure(message);
      EXPECT_TRUE(gst_structure_has_name(values, "ocellusfake"));
      gchar* text = gst_structure_to_string(values);
      for (const char* part :
           {R"x(string=(string)"cat\012\?\ ", count=(uint)3, crowded=(boolean)true, )x"
            "light=(double)2.5, compute-time=",
            R"x(fields=(string)< cat, "\?\ " >)x", "animals=(structure)< ",
            R"x(x\=\(int\)60\,\ y\=\(int\)30\,\ width\=\(int\)8\,\ height\=\(int\)8)x"})
        EXPECT_NE(std::string(text).find(part), std::string::npos) << part << " is not in " << text;
      g_free(text);
      gst_message_unref(message);
      ++messages;
    }
    EXPECT_EQ(messages, expected) << properties;
  }
}

// Fails when the boxes are not drawn.
TEST(Table, ItemsAreDrawn) {
  std::vector<std::vector<guint8>> pictures;
  for (const char* properties : {"draw=false", "draw=true"}) {
    Fake fake(properties, animals());
    GstBuffer* const buffer = one_buffer(fake);
    ASSERT_NE(buffer, nullptr);
    pictures.push_back(bytes_of(buffer));
    gst_buffer_unref(buffer);
  }
  const auto differ = [&](std::size_t x, std::size_t y) {
    return pictures[0][y * 96 + x] != pictures[1][y * 96 + x];
  };
  EXPECT_TRUE(differ(18, 17)) << "the upper edge of the cat's box";
  EXPECT_FALSE(differ(18, 32)) << "inside";
  EXPECT_FALSE(differ(64, 27)) << "the item without a class";
}

}  // namespace
}  // namespace ocellus::gst_test
