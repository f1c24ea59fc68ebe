#include "base/gstocellusresults.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/gstocellusanalytics.h"
#include "ocellus/character_draw.h"

using namespace ocellus;

namespace gst_ocellus {
namespace {

GstOcellusType type_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::kFloat32:
      return GST_OCELLUS_TYPE_FLOAT;
    case PixelFormat::kGray16:
      return GST_OCELLUS_TYPE_UINT16;
    default:
      return GST_OCELLUS_TYPE_UINT8;
  }
}

void set_value(GstStructure* structure, const RecordField& field, const void* record, int item) {
  const double value = field_value(field, record, item);
  std::string name(field.name);
  std::replace(name.begin(), name.end(), '_', '-');  // as in the other fields of messages
  if (field.type == FieldType::kBool)
    gst_structure_set(structure, name.c_str(), G_TYPE_BOOLEAN, value != 0.0, nullptr);
  else if (field.type == FieldType::kFloat)
    gst_structure_set(structure, name.c_str(), G_TYPE_DOUBLE, value, nullptr);
  else if (field.type == FieldType::kUint32 || field.role == FieldRole::kCount)
    gst_structure_set(structure, name.c_str(), G_TYPE_UINT, static_cast<guint>(value), nullptr);
  else
    gst_structure_set(structure, name.c_str(), G_TYPE_INT, static_cast<gint>(value), nullptr);
}

}  // namespace

void Results::clear() {
  if (described_ != nullptr) unref(described_);
  described_ = nullptr;
}

void Results::begin(const char* operator_name, const OperatorInfo& info, const Rect& region) {
  clear();
  described_ = new_result_info(operator_name, info);
  info_ = info;
  if (info.class_names != nullptr) {
    const auto classes = static_cast<gsize>(info.classes);
    class_names_ = std::make_unique<ClassName[]>(classes);
    std::copy_n(info.class_names[0], classes * sizeof(ClassName), class_names_[0]);
    info_.class_names = class_names_.get();
  }
  region_ = region.empty() ? Rect{0, 0, info.size.width, info.size.height} : region;
  has_text_ = false;
}

// Rows and planes begin at multiples of the library's alignment.
static gsize stride_of(const PlaneInfo& plane) {
  return GST_ROUND_UP_N(
      static_cast<gsize>(plane.size.width) * static_cast<gsize>(bytes_per_pixel(plane.format)),
      kMemoryAlignment);
}

static gsize bytes_before(const OperatorInfo& info, int plane) {
  gsize bytes = 0;
  for (int p = 0; p < plane; ++p) {
    const PlaneInfo& described = info.planes[static_cast<gsize>(p)];
    bytes += stride_of(described) * static_cast<gsize>(described.size.height);
  }
  return bytes;
}

gsize Results::plane_bytes(const OperatorInfo& info) {
  return bytes_before(info, info.plane_count);
}

ImageView Results::plane(guint8* data, int index) const {
  const PlaneInfo& described = info_.planes[static_cast<gsize>(index)];
  ImageView plane;
  plane.data = data + bytes_before(info_, index);
  plane.size = described.size;
  plane.stride = static_cast<std::ptrdiff_t>(stride_of(described));
  plane.format = described.format;
  return plane;
}

void Results::set_planes(GstOcellusMeta* meta, guint8* data) const {
  meta->n_planes = static_cast<guint>(info_.plane_count);
  for (int p = 0; p < info_.plane_count; ++p) {
    const PlaneInfo& described = info_.planes[static_cast<gsize>(p)];
    const ImageView view = plane(data, p);
    const bool is_picture = view.size.width == region_.width && view.size.height == region_.height;
    meta->planes[p] = {described.name,
                       type_of(described.format),
                       is_picture,
                       is_picture ? region_.x : 0,
                       is_picture ? region_.y : 0,
                       view.size.width,
                       view.size.height,
                       static_cast<gsize>(view.stride),
                       view.data};
  }
}

void Results::set_text(GstOcellusMeta* meta) const {
  if (info_.classes == 0) return;
  const auto n_parts = static_cast<guint>(MAX(info_.text_parts, 1));
  // The parts are the string without what stands between them.
  const gsize length = write_text(info_, meta->record, kAllParts, {});
  gchar* at = gst_ocellus_meta_reserve_text(meta, n_parts, 2 * length);
  const gchar* const end = meta->text + meta->text_bytes;
  const auto add = [&](int part) {
    const gchar* text = at;
    at += 1 + write_text(info_, meta->record, part, {at, static_cast<gsize>(end - at)});
    return text;
  };
  meta->string = add(kAllParts);
  for (guint part = 0; part < n_parts; ++part) meta->parts[part] = add(static_cast<int>(part));
}

bool Results::attach(GstOcellusBase* self, GstBuffer* buffer,
                     const GstOcellusResult& result) const {
  GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  gst_ocellus_meta_clear(meta);
  if (!info_.planes[0].follows_frame) {
    GstMapInfo map;
    if (!gst_buffer_map(result.data, &map, GST_MAP_READ)) return false;
    // Host memory, ordinary or pinned, keeps its address after unmapping.
    set_planes(meta, map.data);
    gst_buffer_unmap(result.data, &map);
    meta->data = gst_buffer_ref(result.data);
  }
  meta->source = g_quark_from_string(GST_OBJECT_NAME(self));
  meta->info = ref(described_);
  meta->width = info_.size.width;
  meta->height = info_.size.height;
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->described_pts = static_cast<GstClockTime>(result.info.described_timestamp_ns);
  meta->delay_frames = result.info.delay_frames;
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
  meta->flags = result.info.flags;
  if (result.repeated) meta->flags |= GST_OCELLUS_META_FLAG_REPEATED;
  if (result.reused) meta->flags |= GST_OCELLUS_META_FLAG_REUSED;
  if (result.late) meta->flags |= GST_OCELLUS_META_FLAG_LATE;
  if (info_.record == nullptr) return true;
  std::memcpy(meta->record, result.record.data(), info_.record->bytes);
  meta->n_items = static_cast<guint>(RecordItems(info_, meta->record).count());
  set_text(meta);
  return true;
}

// Without the box, for which a region has members of its own.
GstStructure* Results::structure_of(const RecordItems& items, const void* record, int item) const {
  GstStructure* values = gst_structure_new_empty(info_.record->item);
  for (const RecordField& field : info_.record->all()) {
    if (field.capacity == 1 || field.role == FieldRole::kBox) continue;
    if (field.role == FieldRole::kLabel) {
      gst_structure_set(values, "class", G_TYPE_INT, items.label(item), "name", G_TYPE_STRING,
                        items.name(item), nullptr);
    } else if (field.role == FieldRole::kFlag) {
      const auto bits = static_cast<guint>(field_value(field, record, item));
      for (gsize bit = 0; bit < field.flags.size(); ++bit)
        gst_structure_set(values, field.flags[bit].name, G_TYPE_BOOLEAN, (bits >> bit & 1U) != 0,
                          nullptr);
    } else {
      set_value(values, field, record, item);
    }
  }
  return values;
}

void Results::add_items(GstBuffer* buffer) const {
  if (info_.record == nullptr) return;
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  const bool has_boxes = info_.record->find(FieldRole::kBox) != nullptr;
  if (!has_boxes && info_.classes == 0) return;
  const RecordField* confidence = info_.record->find(FieldRole::kConfidence);
  // The meta has no negative numbers. No box leaves the picture.
  const auto number = [](gint value) { return static_cast<guint>(MAX(value, 0)); };
  const RecordItems items(info_, meta->record);
  for (int i = 0; i < items.count(); ++i) {
    if (info_.classes > 0 && items.label(i) < 0) continue;
    const Rect box = items.box(i);
    const bool is_whole = box.width >= info_.size.width && box.height >= info_.size.height;
    AnalyticsItem item{info_.record->item, has_boxes || !is_whole ? box : Rect{}, items.name(i)};
    if (confidence != nullptr)
      item.confidence = static_cast<gfloat>(field_value(*confidence, meta->record, i));
    add_analytics(buffer, item);
    if (!has_boxes) continue;
    GstVideoRegionOfInterestMeta* region = gst_buffer_add_video_region_of_interest_meta(
        buffer, info_.record->item, number(box.x), number(box.y), number(box.width),
        number(box.height));
    gst_video_region_of_interest_meta_add_param(region, structure_of(items, meta->record, i));
  }
}

void Results::draw(const GstOcellusMeta* meta, const OverlayImage& image) const {
  draw_items(info_, meta->record, image);
}

void Results::describe(const GstOcellusMeta* meta, GstStructure* message) const {
  if (info_.support_frames > 1) {
    gst_structure_set(message, "described-timestamp", G_TYPE_UINT64, meta->described_pts, "delay",
                      G_TYPE_DOUBLE, static_cast<gdouble>(meta->delay_frames), "warming-up",
                      G_TYPE_BOOLEAN, (meta->flags & GST_OCELLUS_META_FLAG_WARMING_UP) != 0,
                      nullptr);
  }
  if (meta->string != nullptr)
    gst_structure_set(message, "string", G_TYPE_STRING, meta->string, nullptr);
  if (info_.record != nullptr)
    for (const RecordField& field : info_.record->all())
      if (field.capacity == 1) set_value(message, field, meta->record, 0);
  gst_structure_set(message, "compute-time", G_TYPE_UINT64, meta->compute_time, nullptr);
  if (meta->string != nullptr) {
    GValue fields = G_VALUE_INIT;
    gst_value_array_init(&fields, meta->n_parts);
    for (guint part = 0; part < meta->n_parts; ++part) {
      GValue value = G_VALUE_INIT;
      g_value_init(&value, G_TYPE_STRING);
      g_value_set_string(&value, meta->parts[part]);
      gst_value_array_append_and_take_value(&fields, &value);
    }
    gst_structure_take_value(message, "fields", &fields);
  }
  if (info_.record == nullptr || info_.record->items[0] == '\0') return;
  const RecordItems items(info_, meta->record);
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, meta->n_items);
  for (int i = 0; i < items.count(); ++i) {
    GstStructure* values = structure_of(items, meta->record, i);
    const Rect box = items.box(i);
    gst_structure_set(values, "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT,
                      box.width, "height", G_TYPE_INT, box.height, nullptr);
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, values);
    gst_value_array_append_and_take_value(&array, &value);
  }
  gst_structure_take_value(message, info_.record->items, &array);
}

void Results::remember(const GstOcellusResult& result) {
  GstBuffer* data = newest_.data;
  gst_buffer_replace(&data, result.data);
  newest_ = result;
  newest_.data = data;
}

GstOcellusResult Results::newest() const {
  GstOcellusResult result = newest_;
  result.reused = true;
  return result;
}

bool Results::wants_message(const GstOcellusMeta* meta, GstOcellusMessages messages) {
  if (meta->string == nullptr) return false;
  const bool changed = !has_text_ || text_ != meta->string;
  has_text_ = true;
  if (changed) text_ = meta->string;
  return messages == GST_OCELLUS_MESSAGES_ALL ||
         (messages == GST_OCELLUS_MESSAGES_CHANGES && changed);
}

}  // namespace gst_ocellus
