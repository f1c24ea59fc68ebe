// Creates instances of optical flow, of the spatio-temporal filter and of window flow on the
// backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Creates an instance of the plan's method without memory; null if the system has none. `start`
/// reads `kernels`, which must exist until then.
std::unique_ptr<OperatorInstance> make_flow_cpu(const OpticalFlowPlan& plan, int workers,
                                                const KernelConfig* kernels) noexcept;
/// Defined only in builds with CUDA.
std::unique_ptr<OperatorInstance> make_flow_cuda(const OpticalFlowPlan& plan,
                                                 const KernelConfig* kernels) noexcept;

/// The same for WindowFlow, which has no kernels.
std::unique_ptr<OperatorInstance> make_window_flow_cpu(const OpticalFlowPlan& plan,
                                                       int workers) noexcept;
/// Defined only in builds with CUDA.
std::unique_ptr<OperatorInstance> make_window_flow_cuda(const OpticalFlowPlan& plan) noexcept;

}  // namespace ocellus::detail
