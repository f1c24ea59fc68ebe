// GstOcellusCuda in builds without GStreamer's CUDA library: CUDA memory is not supported.
#include "base/gstocelluscuda.h"

using ocellus::Expected;
using ocellus::make_error;
using ocellus::Status;

struct GstOcellusCuda::Handles {};

bool GstOcellusCuda::built() noexcept {
  return false;
}

GstMapFlags GstOcellusCuda::map_flag() noexcept {
  return static_cast<GstMapFlags>(0);
}

gpointer GstOcellusCuda::handle_of(GstContext*) {
  return nullptr;
}

Expected<std::shared_ptr<GstOcellusCuda>> GstOcellusCuda::open(int) {
  return tl::unexpected(make_error(
      Status::kUnsupported, "this build does not support " GST_OCELLUS_CUDA_FEATURE
                            ": it was built without GStreamer's CUDA library (OCELLUS_GST_CUDA)"));
}

GstOcellusCuda::GstOcellusCuda(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
GstOcellusCuda::~GstOcellusCuda() = default;

// These are never called, because `open` returns no object.
int GstOcellusCuda::device() const noexcept {
  return -1;
}
gpointer GstOcellusCuda::handle() const noexcept {
  return nullptr;
}
GstContext* GstOcellusCuda::new_context() const {
  return nullptr;
}
GstBufferPool* GstOcellusCuda::new_pool(GstCaps*, guint, guint, guint*) const {
  return nullptr;
}
bool GstOcellusCuda::is_pool_ours(GstBufferPool*) const {
  return false;
}
GstOcellusCuda::Place GstOcellusCuda::place_of(GstBuffer*) const {
  return {};
}
ocellus::StreamHandle GstOcellusCuda::ready_after(GstBuffer*) const {
  return nullptr;
}
ocellus::StreamHandle GstOcellusCuda::writable_after(GstBuffer*) const {
  return nullptr;
}
Expected<ocellus::StreamHandle> GstOcellusCuda::fetch(GstBuffer*, const void*, gsize, void*, gsize,
                                                      gsize, gsize) const {
  return nullptr;
}
Expected<void> GstOcellusCuda::fill(void*, gsize, gsize, gsize, guint8) const {
  return {};
}
Expected<void> GstOcellusCuda::finish() const {
  return {};
}
