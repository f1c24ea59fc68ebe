#include "base/gstocellusmeta.h"

#include <cstddef>
#include <cstring>
#include <vector>

using namespace ocellus;

static_assert(GST_OCELLUS_META_MAX_PLANES == kMaxOutputPlanes);
static_assert(GST_OCELLUS_META_MAX_RECORD == kMaxRecordBytes);
static_assert(guint{GST_OCELLUS_META_FLAG_WARMING_UP} == kWarmingUp);
static_assert(guint{GST_OCELLUS_META_FLAG_BAD_PIXELS} == kBadPixels);
static_assert(GST_OCELLUS_ROLE_VALUE == static_cast<int>(FieldRole::kValue) &&
              GST_OCELLUS_ROLE_COUNT == static_cast<int>(FieldRole::kCount) &&
              GST_OCELLUS_ROLE_LABEL == static_cast<int>(FieldRole::kLabel) &&
              GST_OCELLUS_ROLE_CONFIDENCE == static_cast<int>(FieldRole::kConfidence) &&
              GST_OCELLUS_ROLE_BOX == static_cast<int>(FieldRole::kBox) &&
              GST_OCELLUS_ROLE_TEXT == static_cast<int>(FieldRole::kText) &&
              GST_OCELLUS_ROLE_FLAG == static_cast<int>(FieldRole::kFlag));

namespace gst_ocellus {
namespace {

GstOcellusType type_of(FieldType type) {
  switch (type) {
    case FieldType::kInt32:
      return GST_OCELLUS_TYPE_INT32;
    case FieldType::kUint32:
      return GST_OCELLUS_TYPE_UINT32;
    case FieldType::kFloat:
      return GST_OCELLUS_TYPE_FLOAT;
    case FieldType::kBool:
      return GST_OCELLUS_TYPE_BOOL;
  }
  return GST_OCELLUS_TYPE_UINT8;
}

}  // namespace

const GstOcellusResultInfo* new_result_info(const char* operator_name, const OperatorInfo& info) {
  auto* made = new SharedInfo();
  made->operator_name = operator_name;
  made->items = made->item = "";
  made->width = info.size.width;
  made->height = info.size.height;
  made->tile_width = info.tile.width;
  made->tile_height = info.tile.height;
  made->tile_columns = info.tile_columns;
  for (int label = 0; label < info.classes; ++label)
    made->names.push_back(g_intern_string(info.class_name(label)));
  made->finish();
  if (info.record == nullptr) return made;
  made->items = info.record->items;
  made->item = info.record->item;
  made->record_bytes = static_cast<guint>(info.record->bytes);
  // The fields point to the names of their flags, which therefore must not move.
  made->flag_names.reserve(info.record->all().size());
  for (const RecordField& field : info.record->all()) {
    std::vector<const gchar*>& flags = made->flag_names.emplace_back();
    for (const RecordFlag& flag : field.flags) flags.push_back(flag.name);
    made->field_table.push_back({field.name, field.help, type_of(field.type),
                                 static_cast<GstOcellusRole>(field.role), field.capacity,
                                 field.offset, static_cast<guint>(flags.size()), flags.data()});
  }
  made->finish();
  return made;
}

const GstOcellusResultInfo* ref(const GstOcellusResultInfo* info) {
  static_cast<const SharedInfo*>(info)->references.fetch_add(1, std::memory_order_relaxed);
  return info;
}

void unref(const GstOcellusResultInfo* info) {
  const auto* shared = static_cast<const SharedInfo*>(info);
  if (shared->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
}

}  // namespace gst_ocellus

// ---- the meta

static gboolean gst_ocellus_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* result = reinterpret_cast<GstOcellusMeta*>(meta);
  result->info = nullptr;
  result->string = nullptr;
  result->parts = nullptr;
  result->data = nullptr;
  result->text = nullptr;
  result->text_bytes = 0;
  gst_ocellus_meta_clear(result);
  return TRUE;
}

static void gst_ocellus_meta_free(GstMeta* meta, GstBuffer*) {
  auto* result = reinterpret_cast<GstOcellusMeta*>(meta);
  gst_ocellus_meta_clear(result);
  g_free(result->text);
}

static bool has_boxes(const GstOcellusMeta* meta) {
  return meta->info->tile_columns > 0 ||
         gst_ocellus_meta_find_role_(meta, GST_OCELLUS_ROLE_BOX, TRUE) != nullptr;
}

static bool has_pictures(const GstOcellusMeta* meta) {
  for (guint i = 0; i < meta->n_planes; ++i)
    if (meta->planes[i].is_picture && meta->planes[i].data != nullptr) return true;
  return false;
}

// Adds a copy, which shares the planes.
static GstOcellusMeta* add_copy(GstBuffer* target, const GstOcellusMeta* from) {
  GstOcellusMeta* to = gst_buffer_add_ocellus_meta(target);
  if (to == nullptr) return nullptr;
  const GstMeta header = to->meta;
  std::memcpy(static_cast<void*>(to), from, offsetof(GstOcellusMeta, record));
  to->meta = header;
  std::memcpy(to->record, from->record, from->info->record_bytes);
  gst_ocellus::ref(to->info);
  to->text = nullptr;
  to->text_bytes = 0;
  if (from->string != nullptr) {
    to->text_bytes = from->text_bytes;
    to->text = static_cast<gchar*>(g_memdup2(from->text, from->text_bytes));
    const auto moved = [from, to](const gchar* text) { return to->text + (text - from->text); };
    to->string = moved(from->string);
    to->parts = reinterpret_cast<const gchar**>(to->text);
    for (guint part = 0; part < to->n_parts; ++part) to->parts[part] = moved(from->parts[part]);
  }
  if (to->data != nullptr) gst_buffer_ref(to->data);
  return to;
}

// What has no place in the picture stays valid whatever is done to the picture. Boxes are scaled
// like those of a GstVideoRegionOfInterestMeta. Planes of the picture fit only its unchanged
// geometry. An element that changes only the colors asks for a scale transform with equal sizes.
static gboolean gst_ocellus_meta_transform(GstBuffer* target, GstMeta* meta, GstBuffer*,
                                           GQuark type, gpointer data) {
  const auto* from = reinterpret_cast<const GstOcellusMeta*>(meta);
  const GstVideoMetaTransform* scale = nullptr;
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type))
    scale = static_cast<GstVideoMetaTransform*>(data);
  else if (!GST_META_TRANSFORM_IS_COPY(type))
    return FALSE;
  if (from->source == 0) return TRUE;
  if (scale == nullptr) {
    const bool region = static_cast<GstMetaTransformCopy*>(data)->region != FALSE;
    if (region && (has_boxes(from) || has_pictures(from))) return FALSE;
    return add_copy(target, from) != nullptr;
  }

  const gint from_width = GST_VIDEO_INFO_WIDTH(scale->in_info);
  const gint from_height = GST_VIDEO_INFO_HEIGHT(scale->in_info);
  const gint to_width = GST_VIDEO_INFO_WIDTH(scale->out_info);
  const gint to_height = GST_VIDEO_INFO_HEIGHT(scale->out_info);
  const bool resized = from_width != to_width || from_height != to_height;
  if (resized && has_pictures(from) && from->info->record_bytes == 0) return FALSE;
  GstOcellusMeta* to = add_copy(target, from);
  if (to == nullptr) return FALSE;
  if (!resized) return TRUE;
  to->width = static_cast<gint>(gint64{to->width} * to_width / MAX(from_width, 1));
  to->height = static_cast<gint>(gint64{to->height} * to_height / MAX(from_height, 1));
  for (guint i = 0; i < to->n_planes; ++i)
    if (to->planes[i].is_picture) to->planes[i].data = nullptr;
  return TRUE;
}

GType gst_ocellus_meta_api_get_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                  GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
    g_once_init_leave(&type, gst_meta_api_type_register(GST_OCELLUS_META_API_NAME, tags));
  }
  return type;
}

#if GST_CHECK_VERSION(1, 24, 0)
static gboolean gst_ocellus_meta_serialize(const GstMeta* meta, GstByteArrayInterface* data,
                                           guint8* version) {
  const auto* result = reinterpret_cast<const GstOcellusMeta*>(meta);
  if (result->source == 0) return FALSE;
  *version = GST_OCELLUS_META_VERSION;
  const std::vector<guint8> bytes = gst_ocellus::to_bytes(*result);
  return gst_byte_array_interface_append_data(data, bytes.data(), bytes.size());
}

static GstMeta* gst_ocellus_meta_deserialize(const GstMetaInfo*, GstBuffer* buffer,
                                             const guint8* data, gsize size, guint8 version) {
  if (version != GST_OCELLUS_META_VERSION) return nullptr;
  GstOcellusMeta* meta = gst_buffer_add_ocellus_meta(buffer);
  if (meta == nullptr || gst_ocellus::from_bytes({data, size}, *meta)) return &meta->meta;
  gst_buffer_remove_meta(buffer, &meta->meta);
  return nullptr;
}
#endif

static const GstMetaInfo* register_meta() {
  const GType api = gst_ocellus_meta_api_get_type();
#if GST_CHECK_VERSION(1, 24, 0)
  auto* info =
      const_cast<GstMetaInfo*>(gst_meta_info_new(api, "GstOcellusMeta", sizeof(GstOcellusMeta)));
  info->init_func = gst_ocellus_meta_init;
  info->free_func = gst_ocellus_meta_free;
  info->transform_func = gst_ocellus_meta_transform;
  info->serialize_func = gst_ocellus_meta_serialize;
  info->deserialize_func = gst_ocellus_meta_deserialize;
  return gst_meta_info_register(info);
#else
  return gst_meta_register(api, "GstOcellusMeta", sizeof(GstOcellusMeta), gst_ocellus_meta_init,
                           gst_ocellus_meta_free, gst_ocellus_meta_transform);
#endif
}

const GstMetaInfo* gst_ocellus_meta_get_info(void) {
  static const GstMetaInfo* const info = register_meta();
  return info;
}

GstOcellusMeta* gst_buffer_add_ocellus_meta(GstBuffer* buffer) {
  return reinterpret_cast<GstOcellusMeta*>(
      gst_buffer_add_meta(buffer, gst_ocellus_meta_get_info(), nullptr));
}

GstOcellusMeta* gst_ocellus_meta_of(GstBuffer* buffer) {
  return reinterpret_cast<GstOcellusMeta*>(
      gst_buffer_get_meta(buffer, gst_ocellus_meta_api_get_type()));
}

void gst_ocellus_meta_clear(GstOcellusMeta* meta) {
  if (meta->info != nullptr) gst_ocellus::unref(meta->info);
  gst_clear_buffer(&meta->data);
  std::memset(reinterpret_cast<char*>(meta) + sizeof(meta->meta), 0,
              offsetof(GstOcellusMeta, data) - sizeof(meta->meta));
  meta->version = GST_OCELLUS_META_VERSION;
  meta->pts = meta->described_pts = GST_CLOCK_TIME_NONE;
}

gchar* gst_ocellus_meta_reserve_text(GstOcellusMeta* meta, guint n_parts, gsize bytes) {
  const gsize table = (n_parts + 1) * sizeof(gchar*);
  const gsize needed = table + bytes + n_parts + 1;
  if (needed > meta->text_bytes) {
    g_free(meta->text);
    // A longer text of a later frame finds room.
    meta->text_bytes = 2 * needed;
    meta->text = static_cast<gchar*>(g_malloc0(meta->text_bytes));
  }
  meta->parts = reinterpret_cast<const gchar**>(meta->text);
  meta->n_parts = n_parts;
  meta->parts[n_parts] = nullptr;
  return meta->text + table;
}
