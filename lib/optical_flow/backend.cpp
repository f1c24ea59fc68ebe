#include "optical_flow/backend.h"

#include "core/backend.h"

namespace ocellus::detail {
namespace {

Expected<const OpticalFlowBackend*> find_flow_backend(const EngineInfo& engine) noexcept {
  const Backend* backend = find_backend(engine.backend);
  if (backend == nullptr || backend->optical_flow == nullptr) {
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "optical flow is not built for the backend %s",
                                     backend_name(engine.backend)));
  }
  return backend->optical_flow;
}

}  // namespace

Expected<Footprint> flow_footprint(const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept {
  const auto backend = find_flow_backend(engine);
  if (!backend) return tl::unexpected(backend.error());
  return (*backend)->footprint(engine, plan);
}

Expected<void> create_flow(OperatorHandle& handle, const OpticalFlowPlan& plan,
                           const KernelConfig& kernels) noexcept {
  const auto backend = find_flow_backend(handle.engine().info());
  if (!backend) return tl::unexpected(backend.error());
  const Expected<void*> instance = (*backend)->create(handle.engine(), plan, kernels);
  if (!instance) return tl::unexpected(instance.error());
  handle.adopt(*(*backend)->calls, *instance);
  return {};
}

}  // namespace ocellus::detail
