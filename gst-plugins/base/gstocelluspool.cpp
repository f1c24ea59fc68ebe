#include <utility>
#include <vector>

#include "base/gstocellusmeta.h"
#include "base/gstocelluspoolset.h"
#include "ocellus/buffer.h"
#include "ocellus/memory.h"

// Before 1.20.4 no meta has this tag, so no meta of such a library is taken for one that has it.
#if !GST_CHECK_VERSION(1, 20, 4)
#define GST_META_TAG_MEMORY_REFERENCE_STR "memory-reference"
#endif

namespace {

// Keeps a reference to the buffer of the picture. A copy of the buffer keeps it, too, with
// GStreamer's parent buffer meta.
struct ParentMeta {
  GstMeta meta;
  GstBuffer* parent;
};

gboolean parent_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<ParentMeta*>(meta)->parent = nullptr;
  return TRUE;
}

void parent_meta_free(GstMeta* meta, GstBuffer*) {
  gst_clear_buffer(&reinterpret_cast<ParentMeta*>(meta)->parent);
}

gboolean parent_meta_transform(GstBuffer* target, GstMeta* meta, GstBuffer*, GQuark type,
                               gpointer) {
  GstBuffer* parent = reinterpret_cast<ParentMeta*>(meta)->parent;
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (parent != nullptr) gst_buffer_add_parent_buffer_meta(target, parent);
  return TRUE;
}

GType parent_meta_api() {
  static const gchar* tags[] = {"memory-reference", nullptr};
  static const GType type = gst_meta_api_type_register("GstOcellusParentMetaAPI", tags);
  return type;
}

const GstMetaInfo* parent_meta_info() {
  static const GstMetaInfo* const info =
      gst_meta_register(parent_meta_api(), "GstOcellusParentMeta", sizeof(ParentMeta),
                        parent_meta_init, parent_meta_free, parent_meta_transform);
  return info;
}

}  // namespace

#define GST_TYPE_OCELLUS_POOL (gst_ocellus_pool_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusPool, gst_ocellus_pool, GST, OCELLUS_POOL, GstBufferPool)

struct _GstOcellusPool {
  GstBufferPool parent_instance;
};

G_DEFINE_TYPE(GstOcellusPool, gst_ocellus_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn gst_ocellus_pool_alloc_buffer(GstBufferPool*, GstBuffer** buffer,
                                                   GstBufferPoolAcquireParams*) {
  *buffer = gst_buffer_new();
  gst_buffer_add_meta(*buffer, parent_meta_info(), nullptr);
  gst_buffer_add_ocellus_meta(*buffer);
  return GST_FLOW_OK;
}

static void gst_ocellus_pool_reset_buffer(GstBufferPool* pool, GstBuffer* buffer) {
  gst_ocellus_meta_clear(gst_ocellus_meta_of(buffer));
  gst_buffer_remove_all_memory(buffer);
  auto* meta = reinterpret_cast<ParentMeta*>(gst_buffer_get_meta(buffer, parent_meta_api()));
  // After the memory is released, because the parent's pool reuses only memory that nobody else
  // references.
  gst_clear_buffer(&meta->parent);
  // Buffers in this pool have no memory, so the pool must not discard them as modified.
  GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  GST_BUFFER_POOL_CLASS(gst_ocellus_pool_parent_class)->reset_buffer(pool, buffer);
}

static void gst_ocellus_pool_class_init(GstOcellusPoolClass* klass) {
  GstBufferPoolClass* pool_class = GST_BUFFER_POOL_CLASS(klass);
  pool_class->alloc_buffer = GST_DEBUG_FUNCPTR(gst_ocellus_pool_alloc_buffer);
  pool_class->reset_buffer = GST_DEBUG_FUNCPTR(gst_ocellus_pool_reset_buffer);
}

static void gst_ocellus_pool_init(GstOcellusPool*) {}

GstBufferPool* gst_ocellus_pool_new(GstCaps* caps, guint min_buffers) {
  auto* self = GST_OCELLUS_POOL(g_object_new(GST_TYPE_OCELLUS_POOL, nullptr));
  gst_object_ref_sink(self);
  GstBufferPool* pool = GST_BUFFER_POOL(self);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, 0, min_buffers, 0);
  if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE)) {
    gst_object_unref(pool);
    return nullptr;
  }
  return pool;
}

gboolean gst_ocellus_pool_wrap(GstBuffer* buffer, GstBuffer* picture) {
  gboolean copied = FALSE;
  for (guint i = 0; i < gst_buffer_n_memory(picture); ++i)
    copied |= GST_MEMORY_FLAG_IS_SET(gst_buffer_peek_memory(picture, i), GST_MEMORY_FLAG_NO_SHARE);
  const auto what =
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS |
                                      GST_BUFFER_COPY_META | GST_BUFFER_COPY_MEMORY);
  gst_buffer_copy_into(buffer, picture, what, 0, static_cast<gsize>(-1));
  auto* meta = reinterpret_cast<ParentMeta*>(gst_buffer_get_meta(buffer, parent_meta_api()));
  meta->parent = picture;
  return copied;
}

void gst_ocellus_pool_describe(GstBuffer* buffer, GstBuffer* picture) {
  constexpr auto kWhat =
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS);
  gst_buffer_copy_into(buffer, picture, kWhat, 0, static_cast<gsize>(-1));
  gst_buffer_foreach_meta(
      picture,
      [](GstBuffer* from, GstMeta** meta, gpointer to) -> gboolean {
        const GstMetaInfo* info = (*meta)->info;
        if (info->transform_func == nullptr ||
            gst_meta_api_type_has_tag(info->api,
                                      g_quark_from_static_string(GST_META_TAG_MEMORY_STR)) ||
            gst_meta_api_type_has_tag(
                info->api, g_quark_from_static_string(GST_META_TAG_MEMORY_REFERENCE_STR)))
          return TRUE;
        GstMetaTransformCopy whole{FALSE, 0, static_cast<gsize>(-1)};
        info->transform_func(static_cast<GstBuffer*>(to), *meta, from, _gst_meta_transform_copy,
                             &whole);
        return TRUE;
      },
      buffer);
}

// ---- results

namespace {

GQuark pinned_quark() {
  static const GQuark quark = g_quark_from_static_string("ocellus-pinned");
  return quark;
}

void delete_piece(gpointer piece) {
  delete static_cast<ocellus::Buffer*>(piece);
}

}  // namespace

#define GST_TYPE_OCELLUS_RESULT_POOL (gst_ocellus_result_pool_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusResultPool, gst_ocellus_result_pool, GST, OCELLUS_RESULT_POOL,
                     GstBufferPool)

struct _GstOcellusResultPool {
  GstBufferPool parent_instance;

  gsize bytes;
  std::vector<ocellus::Buffer>* pinned;  // not yet in a buffer
};

G_DEFINE_TYPE(GstOcellusResultPool, gst_ocellus_result_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn gst_ocellus_result_pool_alloc_buffer(GstBufferPool* pool, GstBuffer** buffer,
                                                          GstBufferPoolAcquireParams*) {
  GstOcellusResultPool* self = GST_OCELLUS_RESULT_POOL(pool);
  GstMemory* memory = nullptr;
  if (!self->pinned->empty()) {
    auto* piece = new ocellus::Buffer(std::move(self->pinned->back()));
    self->pinned->pop_back();
    memory = gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), piece->data(), self->bytes, 0,
                                    self->bytes, piece, delete_piece);
    gst_mini_object_set_qdata(GST_MINI_OBJECT(memory), pinned_quark(), piece, nullptr);
  } else {
    GstAllocationParams params;
    gst_allocation_params_init(&params);
    params.align = ocellus::kMemoryAlignment - 1;
    memory = gst_allocator_alloc(nullptr, self->bytes, &params);
    if (memory == nullptr) return GST_FLOW_ERROR;
  }
  *buffer = gst_buffer_new();
  gst_buffer_append_memory(*buffer, memory);
  return GST_FLOW_OK;
}

static void gst_ocellus_result_pool_finalize(GObject* object) {
  delete GST_OCELLUS_RESULT_POOL(object)->pinned;
  G_OBJECT_CLASS(gst_ocellus_result_pool_parent_class)->finalize(object);
}

static void gst_ocellus_result_pool_class_init(GstOcellusResultPoolClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = gst_ocellus_result_pool_finalize;
  GST_BUFFER_POOL_CLASS(klass)->alloc_buffer =
      GST_DEBUG_FUNCPTR(gst_ocellus_result_pool_alloc_buffer);
}

static void gst_ocellus_result_pool_init(GstOcellusResultPool* self) {
  self->pinned = new std::vector<ocellus::Buffer>;
}

GstBufferPool* gst_ocellus_result_pool_new(ocellus::Engine& engine, GstCaps* caps, gsize bytes,
                                           guint pinned) {
  auto* self = GST_OCELLUS_RESULT_POOL(g_object_new(GST_TYPE_OCELLUS_RESULT_POOL, nullptr));
  gst_object_ref_sink(self);
  self->bytes = bytes;
  GstBufferPool* pool = GST_BUFFER_POOL(self);
  bool ready = true;
  self->pinned->reserve(pinned);
  for (guint i = 0; i < pinned && ready; ++i) {
    ocellus::Expected<ocellus::Buffer> piece =
        ocellus::Buffer::create(engine, ocellus::MemorySpace::kPinned, bytes);
    ready = piece.has_value();
    if (ready) self->pinned->push_back(std::move(*piece));
  }
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), 2, 0);
  if (!gst_buffer_pool_set_config(pool, config) || !ready ||
      !gst_buffer_pool_set_active(pool, TRUE)) {
    gst_object_unref(pool);
    return nullptr;
  }
  return pool;
}

ocellus::MemorySpace gst_ocellus_result_space(GstBuffer* result) {
  GstMemory* const memory = gst_buffer_peek_memory(result, 0);
  return gst_mini_object_get_qdata(GST_MINI_OBJECT(memory), pinned_quark()) != nullptr
             ? ocellus::MemorySpace::kPinned
             : ocellus::MemorySpace::kHost;
}
