#include "optical_flow/cpu/flow_operator.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "optical_flow/backend.h"
#include "optical_flow/cpu/kernel_flow.h"
#include "optical_flow/cpu/pyramid_flow.h"

namespace ocellus::detail {

FlowOperator::FlowOperator(const OpticalFlowPlan& plan, int workers,
                           const KernelConfig* kernels) noexcept
    : CpuOperator(info_of(plan), workers), plan_(plan), kernels_(kernels), objects_(plan) {}

std::unique_ptr<OperatorInstance> make_flow_cpu(const OpticalFlowPlan& plan, int workers,
                                                const KernelConfig* kernels) noexcept {
  if (plan.method == FlowMethod::kPyramid)
    return std::unique_ptr<OperatorInstance>(new (std::nothrow)
                                                 PyramidFlow(plan, workers, kernels));
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) KernelFlow(plan, workers, kernels));
}

Expected<void> FlowOperator::prepare() noexcept {
  return load(*std::exchange(kernels_, nullptr));
}

void FlowOperator::layout(LayoutBuilder& builder) noexcept {
  layout_method(builder);
  if (plan_.objects > 0) objects_.layout(builder);
}

void FlowOperator::build_steps(JobStep* steps, StepContext* contexts) noexcept {
  build_method(steps, contexts);
  const int last = method_steps();
  if (plan_.objects > 0) steps[last] = {&FlowOperator::find_objects, &contexts[last], 1};
}

void FlowOperator::find_objects(void* context, int, int) noexcept {
  const FrameJob& frame = *static_cast<StepContext*>(context)->frame;
  FlowOperator& self = *static_cast<FlowOperator*>(frame.owner);
  if (frame.bad.load(std::memory_order_relaxed)) return;
  self.objects_.find(*static_cast<MovingObjectsRecord*>(frame.record));
}

void FlowOperator::write_bad(const FrameJob& frame) noexcept {
  for (int p = 0; p < info_.plane_count; ++p) {
    if (!frame.wants(p)) continue;
    const float value = plan_.filter_only ? std::numeric_limits<float>::quiet_NaN()
                        : p == 2          ? 0.0f
                        : p == 3          ? kNoDeviation
                                          : invalid_value(plan_);
    for (int y = 0; y < plan_.roi.height; ++y) {
      float* const row = frame.out_row<float>(p, y);
      std::fill(row, row + plan_.roi.width, value);
    }
  }
}

}  // namespace ocellus::detail
