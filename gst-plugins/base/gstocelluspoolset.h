// The pools of an element: empty output buffers, memory for results, and pictures.
#pragma once

#include <gst/gst.h>

#include "base/gstocelluscontext.h"
#include "base/gstocelluspool.h"
#include "base/gstocellusvideo.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

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
