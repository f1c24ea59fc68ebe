#include "gstocelluscortexmeta.h"

#include <gst/video/video.h>

#include "base/gstocelluslabels.h"

static gboolean gst_ocellus_cortex_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  gst_ocellus_cortex_meta_clear(reinterpret_cast<GstOcellusCortexMeta*>(meta));
  return TRUE;
}

// Boxes are scaled like those of a GstVideoRegionOfInterestMeta. An element that changes only the
// colors asks for a scale transform with equal sizes.
static gboolean gst_ocellus_cortex_meta_transform(GstBuffer* target, GstMeta* meta, GstBuffer*,
                                                  GQuark type, gpointer data) {
  const auto* from = reinterpret_cast<GstOcellusCortexMeta*>(meta);
  const GstVideoMetaTransform* scale = nullptr;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    scale = static_cast<GstVideoMetaTransform*>(data);
  } else {
    return FALSE;
  }
  if (from->source == 0) return TRUE;

  GstOcellusCortexMeta* to = gst_buffer_add_ocellus_cortex_meta(target);
  if (to == nullptr) return FALSE;
  const GstMeta header = to->meta;
  *to = *from;
  to->meta = header;
  for (guint i = 0; scale != nullptr && i < to->count; ++i) {
    GstOcellusCortexPatch* patch = &to->patches[i];
    gst_ocellus::scale_box(*scale, patch->x, patch->y, patch->width, patch->height);
  }
  return TRUE;
}

GType gst_ocellus_cortex_meta_api_get_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                  GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
    g_once_init_leave(&type, gst_meta_api_type_register(GST_OCELLUS_CORTEX_META_API_NAME, tags));
  }
  return type;
}

const GstMetaInfo* gst_ocellus_cortex_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      gst_ocellus_cortex_meta_api_get_type(), "GstOcellusCortexMeta", sizeof(GstOcellusCortexMeta),
      gst_ocellus_cortex_meta_init, nullptr, gst_ocellus_cortex_meta_transform);
  return info;
}

GstOcellusCortexMeta* gst_buffer_add_ocellus_cortex_meta(GstBuffer* buffer) {
  return reinterpret_cast<GstOcellusCortexMeta*>(
      gst_buffer_add_meta(buffer, gst_ocellus_cortex_meta_get_info(), nullptr));
}

void gst_ocellus_cortex_meta_clear(GstOcellusCortexMeta* meta) {
  const GstMeta header = meta->meta;
  *meta = {};
  meta->meta = header;
  meta->version = GST_OCELLUS_CORTEX_META_VERSION;
  meta->pts = GST_CLOCK_TIME_NONE;
}
