// The pools of an element: empty output buffers, memory for results, and pictures.
#pragma once

#include <gst/gst.h>

#include "base/gstocelluscontext.h"
#include "base/gstocellusvideo.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/status.h"

// GstOcellusPool: buffers without memory, whose GstOcellusMeta is created only once. An element
// gives such a buffer the memory of an input picture. The new buffer keeps a reference to the
// picture's own buffer. So that buffer returns to its pool complete, and only when nobody reads the
// pixels any more.

/// Returns an active pool. The meta of a buffer is empty until the element fills it in.
GstBufferPool* gst_ocellus_pool_new(GstCaps* caps, guint min_buffers);

/// Gives `buffer`, which is from such a pool, the memory, timestamps, flags and metas of `picture`.
/// Takes ownership of `picture`. Returns whether pixels were copied because their memory cannot be
/// shared.
gboolean gst_ocellus_pool_wrap(GstBuffer* buffer, GstBuffer* picture);

/// Replaces the timestamps, flags and metas of `buffer` by those of `picture`, except metas that
/// describe the memory of `picture`.
void gst_ocellus_pool_describe(GstBuffer* buffer, GstBuffer* picture);

/// Returns an active pool of memory for results of `bytes` bytes. The first `pinned` buffers are in
/// the pinned memory of the engine, which they keep alive. Further buffers are in ordinary memory,
/// which costs an additional copy in the library. Returns null if there is not enough memory.
GstBufferPool* gst_ocellus_result_pool_new(ocellus::Engine& engine, GstCaps* caps, gsize bytes,
                                           guint pinned);

/// Returns the kind of memory of a buffer from such a pool.
ocellus::MemorySpace gst_ocellus_result_space(GstBuffer* result);

namespace gst_ocellus {

class PoolSet {
 public:
  /// Describes the contents of the pools.
  struct Config {
    bool produces_video = false;  ///< results are pictures with the caps of the input
    gsize result_bytes = 0;       ///< size of a result that is not a picture
    guint pinned_results = 0;     ///< how many of these are in the engine's pinned memory
    guint depth = 1;              ///< frames that the operator has at the same time
  };

  PoolSet(const VideoCaps& caps, const CudaContext& context) : caps_(caps), context_(context) {}
  ~PoolSet() { clear(); }
  PoolSet(const PoolSet&) = delete;
  PoolSet& operator=(const PoolSet&) = delete;

  /// Creates the pools for pictures of these caps. The object must have none. Errors:
  /// InvalidArgument (a result is larger than a buffer may be), OutOfMemory.
  ocellus::Expected<void> create(const Config& config, ocellus::Engine& engine, GstCaps* caps);
  /// Replaces the pools by those of `other`, which has none afterwards.
  void take(PoolSet& other);
  void clear();

  /// Makes the next `acquire_result` query downstream for its pool again.
  void forget_downstreams();

  /// Each returns a new reference, or null if there is no memory.
  GstBuffer* acquire_empty();                  ///< no memory, only the meta of the element
  GstBuffer* acquire_result(GstPad* src_pad);  ///< memory that the operator writes
  GstBuffer* acquire_picture();

  /// Bytes of one result.
  gsize result_bytes() const;

 private:
  GstBufferPool* new_picture_pool(GstCaps* caps) const;
  GstBufferPool* downstreams_pool(GstQuery* query, GstCaps* caps) const;
  GstBufferPool* choose_result_pool(GstPad* src_pad) const;

  const VideoCaps& caps_;
  const CudaContext& context_;
  Config config_;
  GstBufferPool* empty_ = nullptr;
  GstBufferPool* results_ = nullptr;   // for pictures: negotiated with downstream on first use
  GstBufferPool* pictures_ = nullptr;  // created when the first picture is copied
};

}  // namespace gst_ocellus
