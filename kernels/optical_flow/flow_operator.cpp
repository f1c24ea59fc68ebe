#include "kernels/optical_flow/flow_operator.h"

#include <new>
#include <utility>

#include "kernels/optical_flow/kernel_flow.h"
#include "kernels/optical_flow/pyramid_flow.h"
#include "optical_flow/backend.h"

namespace ocellus::cuda {

FlowOperator::FlowOperator(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept
    : CudaOperator(info_of(plan)), plan_(plan), kernels_(kernels) {}

Expected<void> FlowOperator::prepare(Scope& cuda) noexcept {
  return load(cuda, *std::exchange(kernels_, nullptr));
}

}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_flow_cuda(const OpticalFlowPlan& plan,
                                                 const KernelConfig* kernels) noexcept {
  std::unique_ptr<OperatorInstance> made;
  if (plan.method == FlowMethod::kPyramid) {
    made.reset(new (std::nothrow) cuda::PyramidFlow(plan, kernels));
  } else {
    made.reset(new (std::nothrow) cuda::KernelFlow(plan, kernels));
  }
  return made;
}

}  // namespace ocellus::detail
