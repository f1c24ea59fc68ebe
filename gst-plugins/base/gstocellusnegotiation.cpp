#include "base/gstocellusnegotiation.h"

#include "apps/common/interlaced.h"
#include "base/gstocellusmessages.h"
#include "base/gstocellusstream.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::EngineConfig;
using ocellus::Expected;

namespace gst_ocellus {

// ---- caps

// Creates context, engine, operator and pools for these caps.
static Expected<void> create_operator(GstOcellusBase* self, const VideoCaps& caps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const Expected<EngineConfig> config = engine_config(self);
  if (!config) return tl::unexpected(config.error());
  if (caps.cuda) {
    if (const auto cuda = priv->context.open(*config); !cuda) return tl::unexpected(cuda.error());
  }
  // When downstream renegotiates, the same caps arrive again. The temporal state is kept.
  if (priv->op.exists() && is_same_picture(caps, priv->caps)) return {};
  reset_stream(self);
  return priv->op.create(*config, caps);
}

gboolean set_caps(GstOcellusBase* self, GstCaps* incaps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  VideoCaps caps;
  caps.caps.reset(gst_caps_ref(incaps), gst_caps_unref);
  if (!gst_video_info_from_caps(&caps.video, incaps)) {
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("The element does not support these caps."),
                      ("%" GST_PTR_FORMAT, static_cast<gpointer>(incaps)));
    return FALSE;
  }
  if (ocellus::app::is_interlaced(caps.video, nullptr)) {
    post_bad_buffer(self, make_interlaced_error(caps.video));
    return FALSE;
  }
  caps.cuda = GstOcellusCuda::is_feature_of(incaps);
  if (const Expected<void> made = create_operator(self, caps); !made) {
    post_error(self, made.error());
    return FALSE;
  }
  priv->caps = caps;
  priv->pools.forget_downstreams();
  GST_OBJECT_LOCK(self);
  priv->hold = priv->align ? static_cast<guint>(priv->op.info().delay_frames) : 0;
  GST_OBJECT_UNLOCK(self);
  priv->held.reserve(priv->hold + 1);
  // Without a frame rate the latency is measured as frames arrive.
  const guint kept = frames_kept(priv);
  if (kept == 0 || GST_VIDEO_INFO_FPS_N(&caps.video) > 0)
    set_latency(self, frames_time(caps.video, kept));
  return TRUE;
}

void prepare_for_caps(GstOcellusBase* self, GstCaps* caps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstCaps* before = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
  const bool same = before != nullptr && gst_caps_is_equal(before, caps);
  gst_clear_caps(&before);
  if (same) return;
  GstVideoInfo video;
  if (gst_video_info_from_caps(&video, caps) &&
      gst_video_info_is_equal(&video, &priv->caps.video) &&
      GstOcellusCuda::is_feature_of(caps) == priv->caps.cuda)
    release_pictures(self);
  else
    drain(self);
}

// ---- queries

gboolean answer_latency(GstOcellusBase* self, GstQuery* query) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(self), query)) return FALSE;
  gboolean live = FALSE;
  GstClockTime min = 0;
  GstClockTime max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  GST_OBJECT_LOCK(self);
  priv->live = live;
  const GstClockTime latency = priv->latency;
  GST_OBJECT_UNLOCK(self);
  GST_DEBUG_OBJECT(self, "latency: upstream %" GST_TIME_FORMAT ", own %" GST_TIME_FORMAT,
                   GST_TIME_ARGS(min), GST_TIME_ARGS(latency));
  min = add_times(min, latency);
  if (GST_CLOCK_TIME_IS_VALID(max)) max = add_times(max, latency);
  gst_query_set_latency(query, live, min, max);
  return TRUE;
}

// ---- allocation

static void remove_pools(GstQuery* query) {
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
}

// Proposes downstream's pool if its pictures are in the primary context. Otherwise proposes a pool
// of this element.
static gboolean propose_cuda_pool(GstOcellusBase* self, GstQuery* query, GstCaps* caps,
                                  guint extra) {
  const Expected<EngineConfig> config = engine_config(self);
  if (!config) return FALSE;
  const auto cuda = gst_ocellus_base_get_private(self)->context.open(*config);
  if (!cuda) return FALSE;
  GstBufferPool* pool = nullptr;
  guint bytes = 0;
  guint min = 1;
  guint max = 0;
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &min, &max);
  if (pool == nullptr || !(*cuda)->is_pool_ours(pool)) {
    gst_clear_object(&pool);
    max = 0;
    pool = (*cuda)->new_pool(caps, min + extra, max, &bytes);
  }
  if (pool == nullptr) {
    GST_WARNING_OBJECT(self, "cuda:%d has no memory for a pool", (*cuda)->device());
    return FALSE;
  }
  remove_pools(query);
  gst_query_add_allocation_pool(query, pool, bytes, min + extra, max == 0 ? 0 : max + extra);
  gst_object_unref(pool);
  if (!gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

// Removes the metas that the element does not evaluate. A crop would change the size of the
// picture, and an overlay would be missing in its pixels.
static void keep_video_meta(GstQuery* query) {
  for (guint i = gst_query_get_n_allocation_metas(query); i-- > 0;)
    if (gst_query_parse_nth_allocation_meta(query, i, nullptr) != GST_VIDEO_META_API_TYPE)
      gst_query_remove_nth_allocation_meta(query, i);
}

// The input pictures are pushed downstream, so upstream gets the requirements of downstream. The
// frames that are held back, in flight or being submitted need additional buffers. If the results
// are pushed instead, downstream's pool is used for them.
gboolean propose_allocation(GstOcellusBase* self, GstQuery* query) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const guint extra = frames_kept(priv) + 1;
  gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(self), query);
  keep_video_meta(query);
  if (GST_OCELLUS_BASE_GET_CLASS(self)->produces_video) remove_pools(query);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (caps != nullptr && GstOcellusCuda::is_feature_of(caps))
    return propose_cuda_pool(self, query, caps, extra);
  const guint pools = gst_query_get_n_allocation_pools(query);
  for (guint i = 0; i < pools; ++i) {
    GstBufferPool* pool = nullptr;
    guint size = 0;
    guint min = 0;
    guint max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, min + extra,
                                      max == 0 ? 0 : max + extra);
    if (pool != nullptr) gst_object_unref(pool);
  }
  if (pools == 0)
    gst_query_add_allocation_pool(
        query, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&priv->caps.video)), extra + 1, 0);
  return TRUE;
}

void decide_allocation(GstQuery* query) {
  remove_pools(query);
}

}  // namespace gst_ocellus
