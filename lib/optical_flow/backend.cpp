#include "optical_flow/backend.h"

#include "core/backend.h"

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_flow(const EngineInfo& engine, const OpticalFlowPlan& plan,
                                            const KernelConfig* kernels) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_flow_cuda(plan, kernels);
  return make_flow_cpu(plan, engine.workers, kernels);
}

std::unique_ptr<OperatorInstance> make_window_flow(const EngineInfo& engine,
                                                   const OpticalFlowPlan& plan) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_window_flow_cuda(plan);
  return make_window_flow_cpu(plan, engine.workers);
}

}  // namespace ocellus::detail
