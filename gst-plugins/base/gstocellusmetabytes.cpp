// GstOcellusMeta as bytes, in the order and the types of the host: a magic number, the description
// of the result, its values, the record, and the planes without padding.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>

#include "base/gstocellusmeta.h"
#include "ocellus/memory.h"

using namespace ocellus;

namespace gst_ocellus {
namespace {

// Read in the other byte order, it is another number.
constexpr guint32 kMagic = 0x4f636c31;
constexpr guint32 kMostText = 1 << 16;
constexpr guint kMostNames = 4096;  // of fields, flags or classes

gsize bytes_of(GstOcellusType type) {
  switch (type) {
    case GST_OCELLUS_TYPE_UINT8:
    case GST_OCELLUS_TYPE_BOOL:
      return 1;
    case GST_OCELLUS_TYPE_UINT16:
      return 2;
    case GST_OCELLUS_TYPE_INT32:
    case GST_OCELLUS_TYPE_UINT32:
    case GST_OCELLUS_TYPE_FLOAT:
      return 4;
  }
  return 0;
}

class Writer {
 public:
  std::vector<guint8> bytes;

  void add(const void* data, gsize size) {
    const auto* begin = static_cast<const guint8*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  template <typename Value>
  void number(Value value) {
    add(&value, sizeof(value));
  }
  void text(const gchar* text) {
    const auto length = static_cast<guint32>(std::strlen(text));
    number(length);
    add(text, length);
  }
};

// After bytes that are wrong, it is bad and all values are 0.
class Reader {
 public:
  /// Keeps the names that it reads in `texts`.
  Reader(std::span<const guint8> bytes, std::deque<std::string>& texts)
      : rest_(bytes), texts_(texts) {}

  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }
  bool require(bool condition) { return good_ = good_ && condition; }

  /// Null if there are fewer bytes.
  const guint8* take(gsize size) {
    if (!require(size <= rest_.size())) return nullptr;
    const guint8* data = rest_.data();
    rest_ = rest_.subspan(size);
    return data;
  }
  template <typename Value>
  Value number() {
    Value value{};
    if (const guint8* data = take(sizeof(value))) std::memcpy(&value, data, sizeof(value));
    return value;
  }
  template <typename Value>
  Value number(Value low, Value high) {
    const auto value = number<Value>();
    return require(value >= low && value <= high) ? value : low;
  }
  template <typename Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(number<guint32>(0, static_cast<guint32>(last)));
  }
  std::string text() {
    const auto length = number<guint32>(0, kMostText);
    const guint8* data = take(length);
    if (data == nullptr || !require(std::memchr(data, 0, length) == nullptr)) return {};
    return {reinterpret_cast<const gchar*>(data), length};
  }
  const gchar* name() { return texts_.emplace_back(text()).c_str(); }

 private:
  std::span<const guint8> rest_;
  std::deque<std::string>& texts_;
  bool good_ = true;
};

void write_info(const GstOcellusResultInfo& info, Writer& to) {
  to.text(info.operator_name);
  to.text(info.items);
  to.text(info.item);
  for (const gint number :
       {info.width, info.height, info.tile_width, info.tile_height, info.tile_columns})
    to.number(number);
  to.number(info.record_bytes);
  to.number(info.n_fields);
  for (guint i = 0; i < info.n_fields; ++i) {
    const GstOcellusField& field = info.fields[i];
    to.text(field.name);
    to.text(field.help);
    to.number(static_cast<guint32>(field.type));
    to.number(static_cast<guint32>(field.role));
    to.number(field.capacity);
    to.number(field.offset);
    to.number(field.n_flags);
    for (guint flag = 0; flag < field.n_flags; ++flag) to.text(field.flags[flag]);
  }
  to.number(info.n_classes);
  for (guint label = 0; label < info.n_classes; ++label) to.text(info.class_names[label]);
}

// The four fields of a box are read as an array.
bool has_whole_boxes(const std::vector<GstOcellusField>& fields) {
  const auto is_box = [](const GstOcellusField& field) {
    return field.role == GST_OCELLUS_ROLE_BOX && field.capacity > 1;
  };
  const auto first = std::find_if(fields.begin(), fields.end(), is_box);
  return first == fields.end() ||
         (fields.end() - first >= 4 && std::all_of(first, first + 4, is_box));
}

void read_info(Reader& from, SharedInfo& info) {
  info.operator_name = from.name();
  info.items = from.name();
  info.item = from.name();
  info.width = from.number<gint>(1, kMaxImageSide);
  info.height = from.number<gint>(1, kMaxImageSide);
  info.tile_width = from.number<gint>(0, kMaxImageSide);
  info.tile_height = from.number<gint>(0, kMaxImageSide);
  info.tile_columns = from.number<gint>(0, kMaxImageSide);
  info.record_bytes = from.number<guint>(0, GST_OCELLUS_META_MAX_RECORD);
  const auto n_fields = from.number<guint>(0, kMostNames);
  info.flag_names.reserve(n_fields);
  for (guint i = 0; i < n_fields && from.good(); ++i) {
    GstOcellusField field{};
    field.name = from.name();
    field.help = from.name();
    field.type = from.choice(GST_OCELLUS_TYPE_BOOL);
    field.role = from.choice(GST_OCELLUS_ROLE_FLAG);
    field.capacity = from.number<guint>(1, GST_OCELLUS_META_MAX_RECORD);
    field.offset = from.number<guint>(0, GST_OCELLUS_META_MAX_RECORD);
    from.require(field.offset + field.capacity * bytes_of(field.type) <= info.record_bytes);
    from.require(field.offset % bytes_of(field.type) == 0);
    std::vector<const gchar*>& flags = info.flag_names.emplace_back();
    const auto n_flags = from.number<guint>(0, 32);
    for (guint flag = 0; flag < n_flags && from.good(); ++flag) flags.push_back(from.name());
    field.n_flags = static_cast<guint>(flags.size());
    field.flags = flags.data();
    info.field_table.push_back(field);
  }
  from.require(has_whole_boxes(info.field_table));
  const auto n_classes = from.number<guint>(0, kMostNames);
  for (guint label = 0; label < n_classes && from.good(); ++label)
    info.names.push_back(from.name());
  info.finish();
}

void write_planes(const GstOcellusMeta& meta, Writer& to) {
  to.number(meta.n_planes);
  for (guint i = 0; i < meta.n_planes; ++i) {
    const GstOcellusPlane& plane = meta.planes[i];
    to.text(plane.name);
    to.number(static_cast<guint32>(plane.type));
    to.number(static_cast<guint32>(plane.is_picture));
    for (const gint number : {plane.x, plane.y, plane.width, plane.height}) to.number(number);
    to.number(static_cast<guint32>(plane.data != nullptr));
    if (plane.data == nullptr) continue;
    const gsize row = static_cast<gsize>(plane.width) * bytes_of(plane.type);
    for (gint y = 0; y < plane.height; ++y)
      to.add(static_cast<const guint8*>(plane.data) + static_cast<gsize>(y) * plane.stride, row);
  }
}

// Copies the planes to memory of the meta.
void read_planes(Reader& from, GstOcellusMeta& meta) {
  meta.n_planes = from.number<guint>(0, GST_OCELLUS_META_MAX_PLANES);
  std::array<const guint8*, GST_OCELLUS_META_MAX_PLANES> data{};
  gsize total = 0;
  for (guint i = 0; i < meta.n_planes && from.good(); ++i) {
    GstOcellusPlane& plane = meta.planes[i];
    plane.name = from.name();
    plane.type = from.choice(GST_OCELLUS_TYPE_BOOL);
    plane.is_picture = from.number<guint32>(0, 1) != 0;
    plane.x = from.number<gint>(0, kMaxImageSide);
    plane.y = from.number<gint>(0, kMaxImageSide);
    plane.width = from.number<gint>(0, G_MAXINT / 8);
    plane.height = from.number<gint>(0, G_MAXINT / 8);
    const bool present = from.number<guint32>(0, 1) != 0;
    const gsize row = static_cast<gsize>(plane.width) * bytes_of(plane.type);
    plane.stride = GST_ROUND_UP_N(row, kMemoryAlignment);
    if (!present) continue;
    data[i] = from.take(row * static_cast<gsize>(plane.height));
    // Rows without bytes would need memory for their alignment only.
    from.require(row > 0);
    total += plane.stride * static_cast<gsize>(plane.height);
  }
  if (!from.good() || total == 0) return;
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = kMemoryAlignment - 1;
  meta.data = gst_buffer_new_allocate(nullptr, total, &params);
  GstMapInfo map;
  if (!from.require(meta.data != nullptr && gst_buffer_map(meta.data, &map, GST_MAP_WRITE))) return;
  guint8* at = map.data;
  for (guint i = 0; i < meta.n_planes; ++i) {
    GstOcellusPlane& plane = meta.planes[i];
    if (data[i] == nullptr) continue;
    plane.data = at;
    const gsize row = static_cast<gsize>(plane.width) * bytes_of(plane.type);
    for (gint y = 0; y < plane.height; ++y, at += plane.stride)
      std::memcpy(at, data[i] + static_cast<gsize>(y) * row, row);
  }
  // Host memory keeps its address after unmapping.
  gst_buffer_unmap(meta.data, &map);
}

void write_text(const GstOcellusMeta& meta, Writer& to) {
  to.number(static_cast<guint32>(meta.string != nullptr));
  if (meta.string == nullptr) return;
  to.number(meta.n_parts);
  to.text(meta.string);
  for (guint part = 0; part < meta.n_parts; ++part) to.text(meta.parts[part]);
}

void read_text(Reader& from, GstOcellusMeta& meta) {
  if (from.number<guint32>(0, 1) == 0) return;
  const auto n_parts = from.number<guint>(1, kMostNames);
  std::vector<std::string> texts;
  gsize length = 0;
  for (guint i = 0; i <= n_parts && from.good(); ++i)
    length += texts.emplace_back(from.text()).size();
  if (!from.good()) return;
  gchar* at = gst_ocellus_meta_reserve_text(&meta, n_parts, length);
  const auto add = [&at](const std::string& text) {
    const gchar* begin = at;
    std::memcpy(at, text.c_str(), text.size() + 1);
    at += text.size() + 1;
    return begin;
  };
  meta.string = add(texts[0]);
  for (guint part = 0; part < n_parts; ++part) meta.parts[part] = add(texts[part + 1]);
}

}  // namespace

std::vector<guint8> to_bytes(const GstOcellusMeta& meta) {
  Writer to;
  to.number(kMagic);
  write_info(*meta.info, to);
  to.text(g_quark_to_string(meta.source));
  to.number(meta.flags);
  to.number(meta.width);
  to.number(meta.height);
  to.number(meta.pts);
  to.number(meta.described_pts);
  to.number(meta.delay_frames);
  to.number(meta.compute_time);
  to.number(meta.n_items);
  to.add(meta.record, meta.info->record_bytes);
  write_text(meta, to);
  write_planes(meta, to);
  return std::move(to.bytes);
}

bool from_bytes(std::span<const guint8> bytes, GstOcellusMeta& meta) {
  auto* info = new SharedInfo();
  meta.info = info;
  Reader from(bytes, info->texts);
  from.require(from.number<guint32>() == kMagic);
  read_info(from, *info);
  const gchar* source = from.name();
  meta.flags = from.number<guint>();
  meta.width = from.number<gint>(0, G_MAXINT);
  meta.height = from.number<gint>(0, G_MAXINT);
  meta.pts = from.number<GstClockTime>();
  meta.described_pts = from.number<GstClockTime>();
  meta.delay_frames = from.number<gfloat>();
  meta.compute_time = from.number<GstClockTime>();
  guint most = G_MAXUINT;
  for (const GstOcellusField& field : info->field_table)
    if (field.capacity > 1) most = std::min(most, field.capacity);
  if (most == G_MAXUINT) most = info->record_bytes > 0 ? 1 : 0;
  meta.n_items = from.number<guint>(0, most);
  if (const guint8* record = from.take(info->record_bytes))
    std::memcpy(meta.record, record, info->record_bytes);
  read_text(from, meta);
  read_planes(from, meta);
  if (from.require(from.at_end() && source[0] != '\0')) meta.source = g_quark_from_string(source);
  if (!from.good()) gst_ocellus_meta_clear(&meta);
  return from.good();
}

}  // namespace gst_ocellus
