// The CUDA context of an element: made when a neighbor asks for it, or when the caps need it.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "base/gstocelluscuda.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace gst_ocellus {

class CudaContext {
 public:
  /// `element` posts the message by which the pipeline learns of the context.
  explicit CudaContext(GstElement* element) : element_(element) {}

  /// The context of the device that this engine would use, made by the first call. Any thread.
  /// Errors: Unsupported and BackendUnavailable, with what is missing.
  ocellus::Expected<std::shared_ptr<GstOcellusCuda>> open(const ocellus::EngineConfig& config);
  void close();
  /// Null before `open`. Streaming thread, between `open` and `close`.
  const GstOcellusCuda* get() const { return cuda_.get(); }

  /// A context of GStreamer's that was set on the element. Others are ignored.
  void set_neighbors(GstContext* context);
  /// Answers a context query. False: the query is not for a CUDA context, there is none, or the
  /// neighbors use another one.
  bool answer(const ocellus::EngineConfig& config, GstQuery* query);

 private:
  GstElement* element_;
  std::shared_ptr<GstOcellusCuda> cuda_;  // under the object lock
  gpointer neighbors_ = nullptr;          // handle, under the object lock; only compared
};

}  // namespace gst_ocellus
