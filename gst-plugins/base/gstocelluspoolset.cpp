#include "base/gstocelluspoolset.h"

#include <utility>

#include "ocellus/memory.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace gst_ocellus {
namespace {

void clear_pool(GstBufferPool** pool) {
  if (*pool == nullptr) return;
  gst_buffer_pool_set_active(*pool, FALSE);
  gst_clear_object(pool);
}

GstBuffer* acquire(GstBufferPool* pool) {
  GstBuffer* buffer = nullptr;
  if (pool == nullptr || gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK)
    return nullptr;
  return buffer;
}

}  // namespace

Expected<void> PoolSet::create(const Config& config, Engine& engine, GstCaps* caps) {
  config_ = config;
  if (config.result_bytes > G_MAXUINT) {
    return tl::unexpected(make_error(
        Status::kInvalidArgument,
        "a result of this size has %zu bytes, but GStreamer's pools support at most %u bytes: set "
        "a smaller roi",
        config.result_bytes, G_MAXUINT));
  }
  empty_ = gst_ocellus_pool_new(caps, 2);
  if (!config.produces_video)
    results_ =
        gst_ocellus_result_pool_new(engine, caps, config.result_bytes, config.pinned_results);
  if (empty_ == nullptr || (results_ == nullptr && !config.produces_video)) {
    return tl::unexpected(make_error(
        Status::kOutOfMemory, "there is no memory for the pools of results of %zu bytes each",
        config.result_bytes));
  }
  return {};
}

void PoolSet::take(PoolSet& other) {
  clear();
  config_ = other.config_;
  empty_ = std::exchange(other.empty_, nullptr);
  results_ = std::exchange(other.results_, nullptr);
  pictures_ = std::exchange(other.pictures_, nullptr);
}

void PoolSet::clear() {
  clear_pool(&empty_);
  clear_pool(&results_);
  clear_pool(&pictures_);
}

void PoolSet::forget_downstreams() {
  if (config_.produces_video) clear_pool(&results_);
}

GstBufferPool* PoolSet::new_picture_pool(GstCaps* caps) const {
  GstBufferPool* pool = nullptr;
  if (caps_.cuda) {
    guint bytes = 0;
    pool = context_.get()->new_pool(caps, 2, 0, &bytes);
    if (pool != nullptr && !gst_buffer_pool_set_active(pool, TRUE)) gst_clear_object(&pool);
    return pool;
  }
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = kMemoryAlignment - 1;
  pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps,
                                    static_cast<guint>(GST_VIDEO_INFO_SIZE(&caps_.video)), 2, 0);
  gst_buffer_pool_config_set_allocator(config, nullptr, &params);
  if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE))
    gst_clear_object(&pool);
  return pool;
}

// Returns downstream's pool, active. Returns null if its number of buffers is limited, because a
// buffer that is kept for reuse could then block the stream. Also returns null if the operator
// cannot write its memory.
GstBufferPool* PoolSet::downstreams_pool(GstQuery* query, GstCaps* caps) const {
  if (gst_query_get_n_allocation_pools(query) == 0) return nullptr;
  GstBufferPool* pool = nullptr;
  guint bytes = 0;
  guint min = 0;
  guint max = 0;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &min, &max);
  if (pool == nullptr) return nullptr;
  bool usable = max == 0 && (!caps_.cuda || context_.get()->is_pool_ours(pool));
  if (usable) {
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(
        config, caps, MAX(bytes, static_cast<guint>(GST_VIDEO_INFO_SIZE(&caps_.video))),
        min + config_.depth + 1, 0);
    if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) &&
        gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
      gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    usable = gst_buffer_pool_set_config(pool, config) && gst_buffer_pool_set_active(pool, TRUE);
  }
  if (!usable) gst_clear_object(&pool);
  return pool;
}

// GstBaseTransform does not query downstream, because it regards this element as working in place.
GstBufferPool* PoolSet::choose_result_pool(GstPad* src_pad) const {
  GstCaps* caps = gst_pad_get_current_caps(src_pad);
  if (caps == nullptr) return nullptr;
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_pad_peer_query(src_pad, query);
  GstBufferPool* pool = downstreams_pool(query, caps);
  if (pool == nullptr) pool = new_picture_pool(caps);
  GST_DEBUG_OBJECT(src_pad, "result pictures come from %" GST_PTR_FORMAT,
                   static_cast<gpointer>(pool));
  gst_query_unref(query);
  gst_caps_unref(caps);
  return pool;
}

GstBuffer* PoolSet::acquire_empty() {
  return acquire(empty_);
}

GstBuffer* PoolSet::acquire_result(GstPad* src_pad) {
  if (results_ == nullptr) results_ = choose_result_pool(src_pad);
  GstBuffer* result = acquire(results_);
  if (result != nullptr || !config_.produces_video) return result;
  // The owner of the pool may have stopped it.
  clear_pool(&results_);
  results_ = choose_result_pool(src_pad);
  return acquire(results_);
}

GstBuffer* PoolSet::acquire_picture() {
  if (pictures_ == nullptr) pictures_ = new_picture_pool(caps_.caps.get());
  return acquire(pictures_);
}

gsize PoolSet::result_bytes() const {
  return config_.produces_video ? GST_VIDEO_INFO_SIZE(&caps_.video) : config_.result_bytes;
}

}  // namespace gst_ocellus
