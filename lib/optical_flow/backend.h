// The instances of optical flow and of the spatio-temporal filter on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// The method that the plan asks for, without memory; null when the system has none. `kernels` are
/// read by `start` and must live until then; without them an instance can only tell its footprint.
std::unique_ptr<OperatorInstance> make_flow_cpu(const OpticalFlowPlan& plan, int workers,
                                                const KernelConfig* kernels) noexcept;
/// In builds with CUDA.
std::unique_ptr<OperatorInstance> make_flow_cuda(const OpticalFlowPlan& plan,
                                                 const KernelConfig* kernels) noexcept;
/// On the engine's backend.
std::unique_ptr<OperatorInstance> make_flow(const EngineInfo& engine, const OpticalFlowPlan& plan,
                                            const KernelConfig* kernels) noexcept;

}  // namespace ocellus::detail
