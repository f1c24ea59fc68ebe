// The pools of an element: empty buffers for what goes out, memory for results, and pictures.
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
  /// What the pools hold.
  struct Config {
    GstOcellusMetaFunction attach_meta = nullptr;
    GstOcellusMetaFunction clear_meta = nullptr;
    bool produces_video = false;  ///< results are pictures like those that come
    gsize result_bytes = 0;       ///< of a result that is no picture
    guint pinned_results = 0;     ///< of these in the engine's pinned memory
    guint depth = 1;              ///< results that the operator has at the same time
  };

  PoolSet(const VideoCaps& caps, const CudaContext& context) : caps_(caps), context_(context) {}
  ~PoolSet() { clear(); }
  PoolSet(const PoolSet&) = delete;
  PoolSet& operator=(const PoolSet&) = delete;

  /// In place of those before. Errors: InvalidArgument (a result is larger than a buffer may be),
  /// OutOfMemory.
  ocellus::Expected<void> create(const Config& config, ocellus::Engine& engine, GstCaps* caps);
  void clear();

  /// Downstream is asked again for the pool that pictures come from.
  void forget_downstreams();

  /// Each gives a new reference, or null when there is no memory.
  GstBuffer* acquire_empty();                  ///< without memory, with the element's meta
  GstBuffer* acquire_result(GstPad* src_pad);  ///< for the operator to write
  GstBuffer* acquire_picture(GstPad* sink_pad);

  /// Of one result.
  gsize result_bytes() const;

 private:
  GstBufferPool* new_picture_pool(GstCaps* caps) const;
  GstBufferPool* downstreams_pool(GstQuery* query, GstCaps* caps) const;
  GstBufferPool* choose_result_pool(GstPad* src_pad) const;

  const VideoCaps& caps_;
  const CudaContext& context_;
  Config config_;
  GstBufferPool* empty_ = nullptr;
  GstBufferPool* results_ = nullptr;   // of pictures: chosen at the first one, with downstream
  GstBufferPool* pictures_ = nullptr;  // made when a picture is copied for the first time
};

}  // namespace gst_ocellus
