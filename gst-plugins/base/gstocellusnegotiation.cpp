// Negotiation of caps, latency and allocation with the neighbors of an element.
#include "apps/common/gst_video.h"
#include "base/gstocellusstream.h"
#include "core/failure.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::EngineConfig;
using ocellus::Expected;

namespace gst_ocellus {

// ---- caps

// Creates context, engine, operator and pools for these caps.
Expected<void> Stream::create_operator(const VideoCaps& caps) {
  OCELLUS_TRY_ASSIGN(config, state.engine_config());
  if (caps.cuda) {
    OCELLUS_TRY(state.context.open(*config));
  }
  // When downstream renegotiates, the same caps arrive again. The temporal state is kept.
  if (op_.exists() && is_same_picture(caps, caps_)) return {};
  reset();
  return op_.create(*config, caps);
}

gboolean Stream::set_caps(GstCaps* incaps) {
  VideoCaps caps;
  caps.caps.reset(gst_caps_ref(incaps), gst_caps_unref);
  if (!gst_video_info_from_caps(&caps.video, incaps)) {
    GST_ELEMENT_ERROR(element_, STREAM, FORMAT, ("The element does not support these caps."),
                      ("%" GST_PTR_FORMAT, static_cast<gpointer>(incaps)));
    return FALSE;
  }
  if (ocellus::app::is_interlaced(caps.video, nullptr)) {
    post_bad_buffer(element_, make_interlaced_error(caps.video));
    return FALSE;
  }
  caps.cuda = GstOcellusCuda::is_feature_of(incaps);
  if (const Expected<void> made = create_operator(caps); !made) {
    post_error(element_, made.error());
    return FALSE;
  }
  caps_ = caps;
  pools_.forget_downstreams();
  begin_operator();
  return TRUE;
}

// Sets what depends on the operator's delay.
void Stream::begin_operator() {
  hold_ = state.get(state.properties.align) ? static_cast<guint>(op_.info().delay_frames) : 0;
  held_.reserve(hold_ + 1);
  // Without a frame rate the latency is measured as frames arrive.
  const guint kept = frames_kept();
  if (kept == 0 || GST_VIDEO_INFO_FPS_N(&caps_.video) > 0)
    state.set_latency(frames_time(caps_.video, kept));
}

void Stream::prepare_for_caps(GstCaps* caps) {
  GstCaps* before = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_));
  const bool same = before != nullptr && gst_caps_is_equal(before, caps);
  gst_clear_caps(&before);
  if (same) return;
  GstVideoInfo video;
  if (gst_video_info_from_caps(&video, caps) && gst_video_info_is_equal(&video, &caps_.video) &&
      GstOcellusCuda::is_feature_of(caps) == caps_.cuda)
    release_pictures();
  else
    drain();
}

// ---- queries

gboolean Stream::answer_latency(GstQuery* query) {
  if (!gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(element_), query)) return FALSE;
  gboolean live = FALSE;
  GstClockTime min = 0;
  GstClockTime max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  state.set(state.live, live != FALSE);
  const GstClockTime latency = state.get(state.latency);
  GST_DEBUG_OBJECT(element_, "latency: upstream %" GST_TIME_FORMAT ", own %" GST_TIME_FORMAT,
                   GST_TIME_ARGS(min), GST_TIME_ARGS(latency));
  min = add_times(min, latency);
  if (GST_CLOCK_TIME_IS_VALID(max)) max = add_times(max, latency);
  gst_query_set_latency(query, live, min, max);
  return TRUE;
}

// ---- allocation

void remove_pools(GstQuery* query) {
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
}

// Proposes downstream's pool if its pictures are in the primary context. Otherwise proposes a pool
// of this element.
gboolean Stream::propose_cuda_pool(GstQuery* query, GstCaps* caps, guint extra) {
  const Expected<EngineConfig> config = state.engine_config();
  if (!config) return FALSE;
  const auto cuda = state.context.open(*config);
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
    GST_WARNING_OBJECT(element_, "cuda:%d has no memory for a pool", (*cuda)->device());
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
gboolean Stream::propose_allocation(GstQuery* query) {
  const guint extra = frames_kept() + 1;
  gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(element_), query);
  keep_video_meta(query);
  if (op_.produces_video()) remove_pools(query);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (caps != nullptr && GstOcellusCuda::is_feature_of(caps))
    return propose_cuda_pool(query, caps, extra);
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
        query, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&caps_.video)), extra + 1, 0);
  return TRUE;
}

}  // namespace gst_ocellus
