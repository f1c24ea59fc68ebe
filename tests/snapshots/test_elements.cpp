// What each element attaches to buffers, posts as messages and offers as properties is that of the
// snapshots.
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neocognitron/digit_video.h"
#include "ocellus/gst/meta.h"
#include "snapshots/snapshot.h"

namespace ocellus::gst_test {
namespace {

using test::Json;

// ---- Values and structures of GStreamer

Json json_of(const GValue* value);

Json json_of(const GstStructure* structure) {
  Json fields = Json::object();
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar* name = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    fields[name] = json_of(gst_structure_get_value(structure, name));
  }
  return {{gst_structure_get_name(structure), fields}};
}

Json json_of(const GValue* value) {
  if (GST_VALUE_HOLDS_STRUCTURE(value)) return json_of(gst_value_get_structure(value));
  if (GST_VALUE_HOLDS_ARRAY(value)) {
    Json array = Json::array();
    for (guint i = 0; i < gst_value_array_get_size(value); ++i)
      array.push_back(json_of(gst_value_array_get_value(value, i)));
    return array;
  }
  if (G_VALUE_HOLDS_ENUM(value)) {
    auto* const type = static_cast<GEnumClass*>(g_type_class_ref(G_VALUE_TYPE(value)));
    const GEnumValue* const found = g_enum_get_value(type, g_value_get_enum(value));
    const Json word = found != nullptr ? Json(found->value_nick) : Json();
    g_type_class_unref(type);
    return word;
  }
  switch (G_VALUE_TYPE(value)) {
    case G_TYPE_BOOLEAN:
      return g_value_get_boolean(value) != FALSE;
    case G_TYPE_INT:
      return g_value_get_int(value);
    case G_TYPE_UINT:
      return g_value_get_uint(value);
    case G_TYPE_INT64:
      return g_value_get_int64(value);
    case G_TYPE_UINT64:
      return g_value_get_uint64(value);
    case G_TYPE_FLOAT:
      return g_value_get_float(value);
    case G_TYPE_DOUBLE:
      return g_value_get_double(value);
    case G_TYPE_STRING:
      return g_value_get_string(value) != nullptr ? Json(g_value_get_string(value)) : Json();
    default:
      break;
  }
  ADD_FAILURE() << "a value of type " << G_VALUE_TYPE_NAME(value);
  return nullptr;
}

Json time_of(GstClockTime time) {
  return GST_CLOCK_TIME_IS_VALID(time) ? Json(time) : Json();
}

Json quark_of(GQuark quark) {
  return quark != 0 ? Json(g_quark_to_string(quark)) : Json();
}

/// The words of the flags that are set.
Json flags_of(guint flags, const std::vector<const char*>& words) {
  Json set = Json::array();
  for (std::size_t i = 0; i < words.size(); ++i)
    if ((flags >> i & 1) != 0) set.push_back(words[i]);
  EXPECT_EQ(flags >> words.size(), 0u) << "a flag without a word";
  return set;
}

// ---- Results

/// A plane by its place, the share of its finite values, their mean, and some values.
Json plane_json(const GstOcellusPlane& plane) {
  if (plane.data == nullptr) return nullptr;
  double sum = 0.0;
  int count = 0;
  for (int y = plane.y; y < plane.y + plane.height; ++y) {
    for (int x = plane.x; x < plane.x + plane.width; ++x) {
      gdouble value = 0.0;
      if (gst_ocellus_plane_get_value(&plane, x, y, &value) && std::isfinite(value))
        sum += value, ++count;
    }
  }
  Json values = Json::array();
  for (int i = 1; i < 4; ++i) {
    gdouble value = 0.0;
    const bool valid = gst_ocellus_plane_get_value(&plane, plane.x + plane.width * i / 4,
                                                   plane.y + plane.height * (4 - i) / 4, &value);
    values.push_back(valid ? Json(value) : Json());
  }
  return {{"picture", plane.is_picture != FALSE},
          {"region", {plane.x, plane.y, plane.width, plane.height}},
          {"mean", count > 0 ? sum / count : 0.0},
          {"finite", static_cast<double>(count) / plane.width / plane.height},
          {"values", values}};
}

Json value_json(const GstOcellusMeta* meta, const GstOcellusField& field, guint item) {
  gdouble value = 0.0;
  EXPECT_TRUE(gst_ocellus_meta_get_value(meta, field.name, item, &value)) << field.name;
  if (field.type == GST_OCELLUS_TYPE_BOOL) return value != 0.0;
  if (field.type == GST_OCELLUS_TYPE_FLOAT) return value;
  return static_cast<gint64>(value);
}

Json item_json(const GstOcellusMeta* meta, guint item) {
  Json json = {{"name", gst_ocellus_meta_get_name(meta, item)}};
  for (guint f = 0; f < meta->info->n_fields; ++f) {
    const GstOcellusField& field = meta->info->fields[f];
    if (field.capacity == 1 || field.role == GST_OCELLUS_ROLE_BOX) continue;
    json[field.name] =
        field.role == GST_OCELLUS_ROLE_FLAG ? Json::array() : value_json(meta, field, item);
    for (guint bit = 0; bit < field.n_flags; ++bit)
      if (gst_ocellus_meta_has_flag(meta, item, field.flags[bit]))
        json[field.name].push_back(field.flags[bit]);
  }
  gint x = 0, y = 0, width = 0, height = 0;
  if (gst_ocellus_meta_get_box(meta, item, &x, &y, &width, &height))
    json["box"] = {x, y, width, height};
  return json;
}

/// Null if the buffer has no result.
Json result_json(GstBuffer* buffer) {
  const GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(buffer, nullptr);
  if (meta == nullptr) return nullptr;
  Json json = {
      {"operator", meta->info->operator_name},
      {"source", quark_of(meta->source)},
      {"flags", flags_of(meta->flags, {"warming-up", "bad-pixels", "repeated", "reused", "late"})},
      {"size", {meta->width, meta->height}}};
  for (guint p = 0; p < meta->n_planes; ++p)
    json["planes"][meta->planes[p].name] = plane_json(meta->planes[p]);
  for (guint f = 0; f < meta->info->n_fields; ++f)
    if (const GstOcellusField& field = meta->info->fields[f]; field.capacity == 1)
      json["record"][field.name] = value_json(meta, field, 0);
  if (meta->string != nullptr) {
    json["string"] = meta->string;
    for (guint part = 0; part < meta->n_parts; ++part) json["parts"].push_back(meta->parts[part]);
  }
  if (meta->info->items[0] != '\0') {
    Json& items = json[meta->info->items] = Json::array();
    for (guint i = 0; i < meta->n_items; ++i) items.push_back(item_json(meta, i));
  }
  json["pts"] = time_of(meta->pts);
  json["described-pts"] = time_of(meta->described_pts);
  json["delay-frames"] = meta->delay_frames;
  json["compute-time"] = time_of(meta->compute_time);
  return json;
}

// ---- Streams

Json regions_json(GstBuffer* buffer) {
  Json regions = Json::array();
  for (const GstVideoRegionOfInterestMeta* region : regions_of(buffer)) {
    Json params = Json::array();
    for (GList* at = region->params; at != nullptr; at = at->next)
      params.push_back(json_of(static_cast<const GstStructure*>(at->data)));
    regions.push_back({{"type", quark_of(region->roi_type)},
                       {"box", {region->x, region->y, region->w, region->h}},
                       {"params", params}});
  }
  return regions;
}

/// `exact`: the picture is the same bit for bit on every machine.
Json picture_json(GstBuffer* buffer, const std::vector<guint8>& sent, bool exact) {
  const std::vector<guint8> bytes = bytes_of(buffer);
  if (bytes == sent) return "unchanged";
  double sum = 0.0;
  for (const guint8 byte : bytes) sum += byte;
  Json picture = {{"bytes", bytes.size()}, {"mean", sum / static_cast<double>(bytes.size())}};
  if (exact) {
    gchar* const text = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes.data(), bytes.size());
    picture["sha256"] = text;
    g_free(text);
  }
  return picture;
}

Json buffer_json(GstBuffer* buffer, const std::vector<guint8>& sent, bool exact) {
  Json seen = {{"pts", time_of(GST_BUFFER_PTS(buffer))},
               {"duration", time_of(GST_BUFFER_DURATION(buffer))},
               {"picture", picture_json(buffer, sent, exact)}};
  seen["result"] = result_json(buffer);
  seen["regions"] = regions_json(buffer);
  return seen;
}

constexpr Video kTexture{GST_VIDEO_FORMAT_GRAY8, 96, 64};
constexpr Video kWide{GST_VIDEO_FORMAT_GRAY8, 160, 120};
constexpr Video kTiles{GST_VIDEO_FORMAT_GRAY8, 192, 64};
constexpr Video kColor{GST_VIDEO_FORMAT_BGR, 48, 32};

using MakeFrame = std::function<GstBuffer*(const Harness&, int)>;

GstBuffer* moving(const Harness& harness, int index) {
  return harness.frame(index, 2.0, -1.0);
}
GstBuffer* digits(const Harness& harness, int index) {
  // The same picture twice, then another one: messages=changes posts two.
  const app::DigitScene scene = make_scene(easy_scene(kSize, 3), index / 2);
  return buffer_of(scene.image, harness.video(), harness.pts(index));
}
/// Two tiles with digits, an empty one between them.
GstBuffer* tiles(const Harness& harness, int index) {
  const app::DigitImages digits = app::draw_digits(2, 3);
  app::GrayImage image({3 * digits.width, digits.height}, PixelFormat::kGray8);
  const std::ptrdiff_t side = digits.width;
  for (std::ptrdiff_t y = 0; y < digits.height; ++y)
    for (const std::ptrdiff_t i : {0, 1})
      std::copy_n(digits.ink.begin() + (i * digits.height + y) * side, side,
                  image.pixels.begin() + (3 * y + 2 * i) * side);
  return buffer_of(image, harness.video(), harness.pts(index));
}
GstBuffer* steps(const Harness& harness, int index) {
  GstBuffer* const frame = harness.frame(index / 2, 9.0, 5.0);
  GST_BUFFER_PTS(frame) = harness.pts(index);
  return frame;
}

struct Case {
  const char* name;
  const char* factory;
  const char* properties;
  Video video;
  MakeFrame frame = moving;
  int frames = 2;
  bool exact = false;

  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"ocellusflow", "ocellusflow", "post-messages=true", kTexture, moving, 4},
      {"ocellusflow_objects", "ocellusflow",
       "preset=quality align=false objects=8 post-messages=true", kWide, moving, 3},
      {"ocellusflow_draw", "ocellusflow", "preset=quality align=false draw=true legend=true", kWide,
       moving, 3},
      {"ocellusflow_region", "ocellusflow",
       "align=false roi=8,8,40,30 deviation=true invalid=zero post-messages=true", kTexture},
      {"ocellusflow_kernels", "ocellusflow", "method=kernels taps=5x5x4 post-messages=true",
       kTexture, moving, 5},
      {"ocellusfilter", "ocellusfilter", "taps=5x5x4 post-messages=true", kTexture, moving, 5},
      {"ocellushalftone", "ocellushalftone", "post-messages=true", kTexture, moving, 2, true},
      {"ocellushalftone_color", "ocellushalftone", "chroma=keep", kColor, moving, 1, true},
      {"ocellushalftone_neutral", "ocellushalftone", "", kColor, moving, 1, true},
      {"ocelluscnn", "ocelluscnn", "template=erosion|edge post-messages=true", kTexture, moving, 2,
       true},
      {"ocellusrestore", "ocellusrestore", "post-messages=true", kTexture},
      {"ocellusrestore_color", "ocellusrestore", "filter=gaussian-1.5", kColor, moving, 1},
      {"ocellusdigits", "ocellusdigits", "", kVideo, digits, 4},
      {"ocellusdigits_all", "ocellusdigits",
       "messages=all draw=true min-confidence=1 fields=0,0,160,80;160,0,160,80", kVideo, digits, 1},
      {"ocellusdigits_none", "ocellusdigits", "messages=none", kVideo, digits, 1},
      {"ocellusdigits_tiles", "ocellusdigits",
       "layout=tiles ink=light tile-width=64 tile-height=64", kTiles, tiles, 1},
      {"ocellusdigits_boxes", "ocellusdigits",
       "layout=boxes fields=72,21,28,39;114,24,24,35 post-messages=true", kVideo, digits, 1},
      {"ocelluscortex", "ocelluscortex", "", kTexture, steps, 4},
      {"ocelluscortex_tiles", "ocelluscortex",
       "layout=tiles tile-width=28 tile-height=28 messages=all", kTexture, steps, 2},
      {"ocelluscortex_none", "ocelluscortex", "learn=true messages=none post-messages=true",
       kTexture, moving, 2},
      {"ocellusnetwork", "ocellusnetwork", "learn=true post-messages=true", kTexture, moving, 2},
  };
  return all;
}

// ---- Properties

template <typename Number>
Json range_of(Number low, Number high) {
  return Json{low, high};
}

Json range_of(GParamSpec* spec) {
  if (G_IS_PARAM_SPEC_INT(spec))
    return range_of(G_PARAM_SPEC_INT(spec)->minimum, G_PARAM_SPEC_INT(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT(spec))
    return range_of(G_PARAM_SPEC_UINT(spec)->minimum, G_PARAM_SPEC_UINT(spec)->maximum);
  if (G_IS_PARAM_SPEC_INT64(spec))
    return range_of(G_PARAM_SPEC_INT64(spec)->minimum, G_PARAM_SPEC_INT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT64(spec))
    return range_of(G_PARAM_SPEC_UINT64(spec)->minimum, G_PARAM_SPEC_UINT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_FLOAT(spec))
    return range_of(G_PARAM_SPEC_FLOAT(spec)->minimum, G_PARAM_SPEC_FLOAT(spec)->maximum);
  if (G_IS_PARAM_SPEC_DOUBLE(spec))
    return range_of(G_PARAM_SPEC_DOUBLE(spec)->minimum, G_PARAM_SPEC_DOUBLE(spec)->maximum);
  if (!G_IS_PARAM_SPEC_ENUM(spec)) return nullptr;
  Json words = Json::object();
  const GEnumClass* const choices = G_PARAM_SPEC_ENUM(spec)->enum_class;
  for (guint i = 0; i < choices->n_values; ++i)
    words[choices->values[i].value_nick] = choices->values[i].value_name;
  return words;
}

Json property_json(GParamSpec* spec) {
  Json seen = {
      {"type",
       g_type_name(g_type_is_a(spec->value_type, G_TYPE_ENUM) ? G_TYPE_ENUM : spec->value_type)}};
  if ((spec->flags & G_PARAM_WRITABLE) != 0)
    seen["default"] = json_of(g_param_spec_get_default_value(spec));
  const Json range = range_of(spec);
  if (!range.is_null()) seen["range"] = range;
  Json flags = Json::array();
  for (const auto& [flag, word] :
       {std::pair{guint{G_PARAM_READABLE}, "readable"},
        std::pair{guint{G_PARAM_WRITABLE}, "writable"},
        std::pair{guint{GST_PARAM_CONTROLLABLE}, "controllable"},
        std::pair{guint{GST_PARAM_MUTABLE_READY}, "mutable in READY"},
        std::pair{guint{GST_PARAM_MUTABLE_PLAYING}, "mutable in PLAYING"}})
    if ((static_cast<guint>(spec->flags) & flag) != 0) flags.push_back(word);
  seen["flags"] = flags;
  seen["help"] = g_param_spec_get_blurb(spec);
  return seen;
}

constexpr const char* kFactories[] = {"ocellusflow",   "ocellusfilter",  "ocellushalftone",
                                      "ocelluscnn",    "ocellusrestore", "ocellusdigits",
                                      "ocelluscortex", "ocellusnetwork"};

// ---- Tests

const test::Snapshots kSnapshots(OCELLUS_SNAPSHOTS_OF_ELEMENTS);

class Elements : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(OCELLUS_SNAPSHOTS_OF_ELEMENTS))
      GTEST_SKIP() << "there is no source tree with the snapshots";
  }
};

class Element : public Elements, public testing::WithParamInterface<Case> {};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Stream, Element, testing::ValuesIn(cases()), name_of);

// Fails when a buffer has another meta or region than before, a value of one is another, or when
// other messages are posted or have other fields.
TEST_P(Element, GivesTheSnapshot) {
  const Case& tested = GetParam();
  Harness harness(std::string("backend=cpu threads=2 ") + tested.properties, tested.video,
                  tested.factory);
  gst_object_set_name(GST_OBJECT(harness.element()), "tested");
  harness.start();
  std::vector<std::vector<guint8>> sent;
  for (int i = 0; i < tested.frames; ++i) {
    GstBuffer* const frame = tested.frame(harness, i);
    sent.push_back(bytes_of(frame));
    ASSERT_EQ(harness.push(frame), GST_FLOW_OK) << harness.last_error();
  }
  ASSERT_TRUE(harness.event(gst_event_new_eos()));
  Json buffers = Json::array();
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), sent.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    buffers.push_back(buffer_json(out[i], sent[i], tested.exact));
  unref_all(out);
  Json messages = Json::array();
  while (GstMessage* const message = harness.message(GST_MESSAGE_ELEMENT)) {
    messages.push_back(json_of(gst_message_get_structure(message)));
    gst_message_unref(message);
  }
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0);
  GstStructure* stats = nullptr;
  g_object_get(harness.element(), "stats", &stats, nullptr);
  const Json seen = {{"properties", tested.properties},
                     {"buffers", buffers},
                     {"messages", messages},
                     {"stats", json_of(stats)}};
  gst_structure_free(stats);
  kSnapshots.check(tested.name, test::neutral(seen, tested.name));
}

// Fails when an element has another property than before, or one with another type, default, range,
// access or help.
TEST_F(Elements, HaveTheProperties) {
  for (const char* const factory : kFactories) {
    GstElement* const element = gst_element_factory_make(factory, nullptr);
    ASSERT_NE(element, nullptr) << factory;
    Json properties = Json::object();
    guint count = 0;
    GParamSpec** const specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    std::vector<GParamSpec*> own;
    // GStreamer's own properties differ between its versions. The order of properties is that of
    // their registration, which users do not see: tools sort them by name.
    for (guint i = 0; i < count; ++i)
      if (g_str_has_prefix(g_type_name(specs[i]->owner_type), "GstOcellus"))
        own.push_back(specs[i]);
    std::sort(own.begin(), own.end(), [](const GParamSpec* a, const GParamSpec* b) {
      return std::strcmp(a->name, b->name) < 0;
    });
    for (GParamSpec* const spec : own) properties[spec->name] = property_json(spec);
    g_free(specs);
    gst_object_unref(element);
    const std::string name = std::string(factory) + "_properties";
    kSnapshots.check(name, test::neutral({{"properties", properties}}, ""));
  }
}

// Fails when a snapshot remains of a case that is gone.
TEST_F(Elements, HaveACaseForEachSnapshot) {
  std::set<std::string> names;
  for (const Case& one : cases()) names.insert(one.name);
  for (const char* const factory : kFactories) names.insert(std::string(factory) + "_properties");
  kSnapshots.check_names(names);
}

}  // namespace
}  // namespace ocellus::gst_test
