#include "gstocellusflowmeta.h"

#include <gst/video/video.h>

static gboolean gst_ocellus_flow_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* flow = reinterpret_cast<GstOcellusFlowMeta*>(meta);
  flow->version = GST_OCELLUS_FLOW_META_VERSION;
  flow->planes = nullptr;
  gst_ocellus_flow_meta_clear(flow);
  return TRUE;
}

static void gst_ocellus_flow_meta_free(GstMeta* meta, GstBuffer*) {
  gst_ocellus_flow_meta_clear(reinterpret_cast<GstOcellusFlowMeta*>(meta));
}

// A copy shares the planes. A field fits only the unchanged geometry of the picture, so it is not
// copied to a region, a flipped picture or another size. An element that changes only the colors
// asks for a scale transform with equal sizes.
static gboolean gst_ocellus_flow_meta_transform(GstBuffer* target, GstMeta* meta, GstBuffer*,
                                                GQuark type, gpointer data) {
  const auto* from = reinterpret_cast<GstOcellusFlowMeta*>(meta);
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    const auto* scale = static_cast<GstVideoMetaTransform*>(data);
    if (GST_VIDEO_INFO_WIDTH(scale->in_info) != GST_VIDEO_INFO_WIDTH(scale->out_info) ||
        GST_VIDEO_INFO_HEIGHT(scale->in_info) != GST_VIDEO_INFO_HEIGHT(scale->out_info))
      return FALSE;
  } else {
    return FALSE;
  }
  if (from->planes == nullptr) return TRUE;

  GstOcellusFlowMeta* to = gst_buffer_add_ocellus_flow_meta(target);
  if (to == nullptr) return FALSE;
  const GstMeta header = to->meta;
  *to = *from;
  to->meta = header;
  gst_buffer_ref(to->planes);
  return TRUE;
}

GType gst_ocellus_flow_meta_api_get_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                  GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
    g_once_init_leave(&type, gst_meta_api_type_register(GST_OCELLUS_FLOW_META_API_NAME, tags));
  }
  return type;
}

const GstMetaInfo* gst_ocellus_flow_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      gst_ocellus_flow_meta_api_get_type(), "GstOcellusFlowMeta", sizeof(GstOcellusFlowMeta),
      gst_ocellus_flow_meta_init, gst_ocellus_flow_meta_free, gst_ocellus_flow_meta_transform);
  return info;
}

GstOcellusFlowMeta* gst_buffer_add_ocellus_flow_meta(GstBuffer* buffer) {
  return reinterpret_cast<GstOcellusFlowMeta*>(
      gst_buffer_add_meta(buffer, gst_ocellus_flow_meta_get_info(), nullptr));
}

void gst_ocellus_flow_meta_clear(GstOcellusFlowMeta* meta) {
  gst_clear_buffer(&meta->planes);
  meta->flags = GST_OCELLUS_FLOW_FLAG_NONE;
  meta->source = 0;
  meta->x = meta->y = meta->width = meta->height = 0;
  meta->stride = 0;
  meta->u = meta->v = meta->confidence = meta->deviation = nullptr;
  meta->pts = meta->described_pts = GST_CLOCK_TIME_NONE;
  meta->delay_frames = 0.0f;
  meta->compute_time = 0;
}
