// GstOcellusCuda in builds without GStreamer's CUDA library: CUDA memory is not supported.
#include "base/gstocelluscuda.h"

gpointer GstOcellusCuda::handle_of(GstContext*) {
  return nullptr;
}

ocellus::Expected<std::shared_ptr<GstOcellusCuda>> GstOcellusCuda::open(int) {
  return tl::unexpected(
      ocellus::make_error(ocellus::Status::kUnsupported,
                          "this build does not support " GST_OCELLUS_CUDA_FEATURE
                          ": it was built without GStreamer's CUDA library (OCELLUS_GST_CUDA)"));
}
