// GstOcellusPool: buffers without memory, whose GstOcellusMeta is created only once.
//
// An element gives such a buffer the memory of an input picture. The new buffer keeps a reference
// to the picture's own buffer. So that buffer returns to its pool complete, and only when nobody
// reads the pixels any more.
#pragma once

#include <gst/gst.h>

#include "ocellus/engine.h"
#include "ocellus/frame.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_POOL (gst_ocellus_pool_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusPool, gst_ocellus_pool, GST, OCELLUS_POOL, GstBufferPool)

/// Returns an active pool. The meta of a buffer is empty until the element fills it in.
GstBufferPool* gst_ocellus_pool_new(GstCaps* caps, guint min_buffers);

/// Gives `buffer`, which is from such a pool, the memory, timestamps, flags and metas of `picture`.
/// Takes ownership of `picture`. Returns whether pixels were copied because their memory cannot be
/// shared.
gboolean gst_ocellus_pool_wrap(GstBuffer* buffer, GstBuffer* picture);

/// Replaces the timestamps, flags and metas of `buffer` by those of `picture`, except metas that
/// describe the memory of `picture`.
void gst_ocellus_pool_describe(GstBuffer* buffer, GstBuffer* picture);

G_END_DECLS

/// Returns an active pool of memory for results of `bytes` bytes. The first `pinned` buffers are in
/// the pinned memory of the engine, which they keep alive. Further buffers are in ordinary memory,
/// which costs an additional copy in the library. Returns null if there is not enough memory.
GstBufferPool* gst_ocellus_result_pool_new(ocellus::Engine& engine, GstCaps* caps, gsize bytes,
                                           guint pinned);

/// Returns the kind of memory of a buffer from such a pool.
ocellus::MemorySpace gst_ocellus_result_space(GstBuffer* result);
