#include "optical_flow/cpu/window_flow.h"

#include <algorithm>
#include <new>

#include "optical_flow/backend.h"

namespace ocellus::detail {

WindowFlowCpu::WindowFlowCpu(const OpticalFlowPlan& plan, int workers) noexcept
    : CpuOperator(window_info_of(plan), workers),
      plan_(plan),
      bands_(Bands::cut(plan.roi.height, workers, 6, std::max(16, 2 * plan.radius))) {}

void WindowFlowCpu::layout(LayoutBuilder& builder) noexcept {
  for (int w = 0; w < workers_; ++w)
    layout_window_scratch(builder, plan_.size.width, 2 * plan_.radius + 1,
                          scratch_[static_cast<std::size_t>(w)]);
}

void WindowFlowCpu::build_steps(JobStep* steps, StepContext* contexts) noexcept {
  steps[0] = {&WindowFlowCpu::run, &contexts[0], bands_.count()};
}

void WindowFlowCpu::run(void* context, int part, int worker) noexcept {
  FrameJob& frame = *static_cast<StepContext*>(context)->frame;
  const WindowFlowCpu& self = *static_cast<WindowFlowCpu*>(frame.owner);
  const auto* const planes = static_cast<const float*>(frame.in.data);
  const std::size_t stride = static_cast<std::size_t>(frame.in.stride) / sizeof(float);
  const std::size_t apart = stride * static_cast<std::size_t>(self.plan_.size.height);
  const auto plane = [&frame](std::size_t p) {
    return static_cast<float*>(frame.out.planes[p].data);
  };
  solve_planes(self.plan_,
               {planes, planes + apart, planes + 2 * apart, stride, self.plan_.size.width,
                self.plan_.size.height, self.plan_.roi},
               invalid_value(self.plan_), self.scratch_[static_cast<std::size_t>(worker)],
               self.bands_.begin(part), self.bands_.end(part),
               {plane(0), plane(1), plane(2), frame.out.planes[0].stride});
}

std::unique_ptr<OperatorInstance> make_window_flow_cpu(const OpticalFlowPlan& plan,
                                                       int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) WindowFlowCpu(plan, workers));
}

}  // namespace ocellus::detail
