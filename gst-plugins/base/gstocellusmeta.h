// The plugin's side of GstOcellusMeta: registers the type, copies and scales the meta. Programs
// that read the meta use <ocellus/gst/meta.h>.
#pragma once

#include <atomic>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "ocellus/gst/meta.h"
#include "ocellus/operators.h"

GType gst_ocellus_meta_api_get_type(void);
const GstMetaInfo* gst_ocellus_meta_get_info(void);

/// Adds an empty meta. The public accessor does not return it until it has a source.
GstOcellusMeta* gst_buffer_add_ocellus_meta(GstBuffer* buffer);

/// The meta of a buffer from an element's pool. Those of elements upstream are copied after it.
GstOcellusMeta* gst_ocellus_meta_of(GstBuffer* buffer);

/// The meta is empty afterwards. It keeps the memory of its text.
void gst_ocellus_meta_clear(GstOcellusMeta* meta);

/// Makes room for texts of `bytes` bytes, without their NULs, and for `n_parts` parts. Takes memory
/// only if there is less. Returns where the first text begins, behind the table of the parts.
gchar* gst_ocellus_meta_reserve_text(GstOcellusMeta* meta, guint n_parts, gsize bytes);

namespace gst_ocellus {

/// The description of an element's results for its metas, with one reference. `info`: of the
/// created operator, whose classes have names.
const GstOcellusResultInfo* new_result_info(const char* operator_name,
                                            const ocellus::OperatorInfo& info);
/// With the memory of its tables. Many metas share it, and the last one frees it.
struct SharedInfo : GstOcellusResultInfo {
  SharedInfo() : GstOcellusResultInfo{} {}

  std::vector<GstOcellusField> field_table;
  std::vector<std::vector<const gchar*>> flag_names;
  std::vector<const gchar*> names;
  std::deque<std::string> texts;  // of names that are not static
  mutable std::atomic<int> references{1};

  /// Sets the pointers to the tables, which must not change afterwards.
  void finish() {
    n_fields = static_cast<guint>(field_table.size());
    fields = field_table.data();
    n_classes = static_cast<guint>(names.size());
    class_names = names.data();
  }
};

const GstOcellusResultInfo* ref(const GstOcellusResultInfo* info);
void unref(const GstOcellusResultInfo* info);

/// A result with a source, as bytes for a process on the same machine.
std::vector<guint8> to_bytes(const GstOcellusMeta& meta);
/// Fills in an empty meta. Returns false if the bytes are not those of a meta; it is empty then.
bool from_bytes(std::span<const guint8> bytes, GstOcellusMeta& meta);

}  // namespace gst_ocellus
