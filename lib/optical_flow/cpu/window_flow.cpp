// The operator WindowFlow on the CPU.
#include <algorithm>
#include <array>
#include <new>

#include "core/cpu_operator.h"
#include "optical_flow/backend.h"
#include "optical_flow/cpu/window_solver.h"

namespace ocellus::detail {
namespace {

class WindowFlowCpu final : public CpuOperator {
 public:
  WindowFlowCpu(const OpticalFlowPlan& plan, int workers) noexcept
      : CpuOperator(window_info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.roi.height, workers, 6, std::max(16, 2 * plan.radius))) {}

 private:
  void layout(LayoutBuilder& builder) noexcept override {
    for (int w = 0; w < workers_; ++w)
      scratch_[static_cast<std::size_t>(w)].layout(builder, plan_.size.width, plan_.radius,
                                                   kProducts);
  }
  Expected<void> prepare() noexcept override { return {}; }
  int step_count() const noexcept override { return 1; }
  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[0] = {&WindowFlowCpu::run, &contexts[0], bands_.count()};
  }
  /// No frame is bad as a whole: a window without finite derivatives is invalid by itself.
  void write_bad(const FrameJob&) noexcept override {}

  static void run(void* context, int part, int worker) noexcept;

  OpticalFlowPlan plan_;
  Bands bands_;
  std::array<SweepScratch, kMaxWorkers> scratch_;
};

void WindowFlowCpu::run(void* context, int part, int worker) noexcept {
  FrameJob& frame = *static_cast<StepContext*>(context)->frame;
  const WindowFlowCpu& self = *static_cast<WindowFlowCpu*>(frame.owner);
  const auto* const planes = static_cast<const float*>(frame.in.data);
  const std::size_t stride = static_cast<std::size_t>(frame.in.stride) / sizeof(float);
  const std::size_t apart = stride * static_cast<std::size_t>(self.plan_.size.height);
  solve_planes(
      self.plan_,
      {{planes, planes + apart, planes + 2 * apart}, stride, self.plan_.size, self.plan_.roi},
      invalid_value(self.plan_), self.scratch_[static_cast<std::size_t>(worker)],
      self.bands_.begin(part), self.bands_.end(part), frame.out.planes.data());
}

}  // namespace

std::unique_ptr<OperatorInstance> make_window_flow_cpu(const OpticalFlowPlan& plan,
                                                       int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) WindowFlowCpu(plan, workers));
}

}  // namespace ocellus::detail
