// The CUDA context of an element. It is created when a neighbor asks for it or the caps need it.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>

#include "base/gstocelluscuda.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace gst_ocellus {

class CudaContext {
 public:
  /// `element` posts the message that tells the pipeline about the context.
  explicit CudaContext(GstElement* element) : element_(element) {}

  /// Returns the context of the device that an engine of this configuration uses. The first call
  /// creates it. Any thread. Errors: Unsupported and BackendUnavailable, with the reason.
  ocellus::Expected<std::shared_ptr<GstOcellusCuda>> open(const ocellus::EngineConfig& config);
  void close();
  /// Null before `open`. Streaming thread, between `open` and `close`.
  const GstOcellusCuda* get() const { return cuda_.get(); }

  /// Notes the CUDA context in a GstContext that was set on the element. Ignores other context
  /// types.
  void set_neighbors(GstContext* context);
  /// Answers a CONTEXT query. Returns false if the query is not for a CUDA context, if there is
  /// none, or if another context was set on the element.
  bool answer(const ocellus::EngineConfig& config, GstQuery* query);

 private:
  GstElement* element_;
  std::shared_ptr<GstOcellusCuda> cuda_;      // guarded by the object lock
  std::atomic<gpointer> neighbors_{nullptr};  // context handle, only compared
};

}  // namespace gst_ocellus
