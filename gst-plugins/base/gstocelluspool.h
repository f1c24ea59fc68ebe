// GstOcellusPool: buffers without memory of their own, with metas that are made once.
//
// An element gives such a buffer the memory of a picture that came in. The picture's own buffer
// stays referenced as long as the new one lives, so that it goes back to its pool whole and only
// when nobody reads the pixels any more.
#pragma once

#include <gst/gst.h>

#include "ocellus/engine.h"
#include "ocellus/frame.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_POOL (gst_ocellus_pool_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusPool, gst_ocellus_pool, GST, OCELLUS_POOL, GstBufferPool)

typedef void (*GstOcellusMetaFunction)(GstBuffer* buffer);

/// `attach` adds the metas to a new buffer; `clear` empties them when the buffer comes back. The
/// pool is active.
GstBufferPool* gst_ocellus_pool_new(GstCaps* caps, guint min_buffers, GstOcellusMetaFunction attach,
                                    GstOcellusMetaFunction clear);

/// Gives `buffer`, which is of such a pool, the memory, times, flags and metas of `picture`, and
/// takes `picture`. Returns whether pixels were copied because their memory may not be shared.
gboolean gst_ocellus_pool_wrap(GstBuffer* buffer, GstBuffer* picture);

/// Gives `buffer` the times, flags and metas of `picture` instead of its own, but for what speaks
/// of the picture's memory.
void gst_ocellus_pool_describe(GstBuffer* buffer, GstBuffer* picture);

G_END_DECLS

/// A pool of memory for results of `bytes`, active. The first `pinned` buffers are pieces of the
/// engine's pinned block, which they keep alive; further ones are in ordinary memory, from which
/// and to which the library copies. Null when there is not as much memory.
GstBufferPool* gst_ocellus_result_pool_new(ocellus::Engine& engine, GstCaps* caps, gsize bytes,
                                           guint pinned);

/// In which memory a buffer of such a pool is.
ocellus::MemorySpace gst_ocellus_result_space(GstBuffer* result);
