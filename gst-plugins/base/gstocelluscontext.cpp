#include "base/gstocelluscontext.h"

#include <utility>

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::Engine;
using ocellus::EngineConfig;
using ocellus::EngineInfo;
using ocellus::Expected;

namespace gst_ocellus {

Expected<std::shared_ptr<GstOcellusCuda>> CudaContext::open(const EngineConfig& config) {
  GST_OBJECT_LOCK(element_);
  std::shared_ptr<GstOcellusCuda> cuda = cuda_;
  GST_OBJECT_UNLOCK(element_);
  if (cuda) return cuda;
  const Expected<EngineInfo> info = Engine::probe(config);
  if (!info) return tl::unexpected(info.error());
  if (info->backend != ocellus::BackendKind::kCuda) {
    return tl::unexpected(ocellus::make_error(
        ocellus::Status::kUnsupported,
        "the frames come in " GST_OCELLUS_CUDA_FEATURE
        ", which the backend %s cannot read: set backend to cuda, or put the element cudadownload "
        "before this one",
        ocellus::backend_name(info->backend)));
  }
  Expected<std::shared_ptr<GstOcellusCuda>> made = GstOcellusCuda::open(info->device);
  if (!made) return made;
  GST_OBJECT_LOCK(element_);
  const bool first = cuda_ == nullptr;
  if (first) cuda_ = *made;
  cuda = cuda_;
  const gpointer other = neighbors_;
  GST_OBJECT_UNLOCK(element_);
  if (first && (other == nullptr || other == cuda->handle())) {
    GST_INFO_OBJECT(element_, "offering the primary context of cuda:%d", cuda->device());
    // Bins keep it for elements that are not next to this one.
    gst_element_post_message(
        element_, gst_message_new_have_context(GST_OBJECT(element_), cuda->new_context()));
  }
  return cuda;
}

void CudaContext::close() {
  GST_OBJECT_LOCK(element_);
  // Destroyed after the lock.
  const std::shared_ptr<GstOcellusCuda> cuda = std::exchange(cuda_, nullptr);
  GST_OBJECT_UNLOCK(element_);
}

void CudaContext::set_neighbors(GstContext* context) {
  const gpointer handle = GstOcellusCuda::handle_of(context);
  if (handle == nullptr) return;
  GST_OBJECT_LOCK(element_);
  neighbors_ = handle;
  GST_OBJECT_UNLOCK(element_);
}

bool CudaContext::answer(const EngineConfig& config, GstQuery* query) {
  const gchar* type = nullptr;
  gst_query_parse_context_type(query, &type);
  if (g_strcmp0(type, GST_OCELLUS_CUDA_CONTEXT) != 0) return false;
  const Expected<std::shared_ptr<GstOcellusCuda>> cuda = open(config);
  if (!cuda) {
    GST_DEBUG_OBJECT(element_, "no CUDA context to offer: %s", cuda.error().text);
    return false;
  }
  GST_OBJECT_LOCK(element_);
  const gpointer other = neighbors_;
  GST_OBJECT_UNLOCK(element_);
  // Whoever set another context on this element wants all neighbors to work there.
  if (other != nullptr && other != (*cuda)->handle()) return false;
  GstContext* context = (*cuda)->new_context();
  gst_query_set_context(query, context);
  gst_context_unref(context);
  return true;
}

}  // namespace gst_ocellus
