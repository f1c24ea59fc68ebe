#include "base/gstocelluscontext.h"

#include <utility>

#include "base/gstocellusbase.h"
#include "core/failure.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace gst_ocellus {

Expected<std::shared_ptr<GstOcellusCuda>> CudaContext::open(const EngineConfig& config) {
  const auto opened = [this](std::shared_ptr<GstOcellusCuda> made) {
    const GstOcellusLock lock(element_);
    if (!cuda_) cuda_ = std::move(made);
    return cuda_;
  };
  if (std::shared_ptr<GstOcellusCuda> cuda = opened(nullptr)) return cuda;
  OCELLUS_TRY_ASSIGN(info, Engine::probe(config));
  if (info->backend != BackendKind::kCuda) {
    return tl::unexpected(make_error(
        Status::kUnsupported,
        "the frames are in " GST_OCELLUS_CUDA_FEATURE
        ", which the backend %s cannot read: set backend to cuda, or put the element cudadownload "
        "before this element",
        backend_name(info->backend)));
  }
  OCELLUS_TRY_ASSIGN(made, GstOcellusCuda::open(info->device));
  std::shared_ptr<GstOcellusCuda> cuda = opened(*made);
  const gpointer other = neighbors_;
  if (cuda == *made && (other == nullptr || other == cuda->handle())) {
    GST_INFO_OBJECT(element_, "offering the primary context of cuda:%d", cuda->device());
    // Bins store the context for elements that are not adjacent to this one.
    gst_element_post_message(
        element_, gst_message_new_have_context(GST_OBJECT(element_), cuda->new_context()));
  }
  return cuda;
}

void CudaContext::close() {
  // Destroyed after the lock is released.
  std::shared_ptr<GstOcellusCuda> cuda;
  const GstOcellusLock lock(element_);
  cuda.swap(cuda_);
}

void CudaContext::set_neighbors(GstContext* context) {
  if (const gpointer handle = GstOcellusCuda::handle_of(context)) neighbors_ = handle;
}

bool CudaContext::answer(const EngineConfig& config, GstQuery* query) {
  const gchar* type = nullptr;
  gst_query_parse_context_type(query, &type);
  if (g_strcmp0(type, GST_OCELLUS_CUDA_CONTEXT) != 0) return false;
  const Expected<std::shared_ptr<GstOcellusCuda>> cuda = open(config);
  if (!cuda) {
    GST_DEBUG_OBJECT(element_, "there is no CUDA context to offer: %s", cuda.error().text);
    return false;
  }
  const gpointer other = neighbors_;
  // If the application set another context on this element, it wants all neighbors to use that one.
  if (other != nullptr && other != (*cuda)->handle()) return false;
  GstContext* context = (*cuda)->new_context();
  gst_query_set_context(query, context);
  gst_context_unref(context);
  return true;
}

}  // namespace gst_ocellus
