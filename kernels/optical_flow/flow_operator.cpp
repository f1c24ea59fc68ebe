#include "kernels/optical_flow/flow_operator.h"

#include <limits>
#include <new>
#include <utility>

#include "kernels/optical_flow/kernel_flow.h"
#include "kernels/optical_flow/pyramid_flow.h"
#include "optical_flow/backend.h"

namespace ocellus::cuda {

FlowOperator::FlowOperator(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept
    : CudaOperator(shape_of(plan)), plan_(plan), kernels_(kernels) {}

std::unique_ptr<FlowOperator> FlowOperator::make(const OpticalFlowPlan& plan,
                                                 const KernelConfig* kernels) noexcept {
  std::unique_ptr<FlowOperator> made;
  if (plan.method == FlowMethod::kPyramid) {
    made.reset(new (std::nothrow) PyramidFlow(plan, kernels));
  } else {
    made.reset(new (std::nothrow) KernelFlow(plan, kernels));
  }
  return made;
}

Expected<void> FlowOperator::prepare(Scope& cuda) noexcept {
  return load(cuda, *std::exchange(kernels_, nullptr));
}

float FlowOperator::invalid_value() const noexcept {
  return plan_.invalid == InvalidFlow::kNan ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
}

}  // namespace ocellus::cuda

namespace ocellus::detail {

extern const OpticalFlowBackend kOpticalFlowCuda;

const OpticalFlowBackend kOpticalFlowCuda = {
    .calls = &cuda::CudaOperator::kCalls,
    .footprint =
        [](const EngineInfo&, const OpticalFlowPlan& plan) noexcept {
          return cuda::CudaOperator::footprint(cuda::FlowOperator::make(plan, nullptr));
        },
    .create =
        [](EngineState& engine, const OpticalFlowPlan& plan, const KernelConfig& kernels) noexcept {
          return cuda::CudaOperator::create(engine, cuda::FlowOperator::make(plan, &kernels));
        },
};

}  // namespace ocellus::detail
