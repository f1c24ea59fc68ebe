// The operator WindowFlow on the CPU.
#pragma once

#include <array>

#include "optical_flow/cpu/flow_operator.h"
#include "optical_flow/cpu/window_solver.h"

namespace ocellus::detail {

class WindowFlowCpu final : public CpuOperator {
 public:
  WindowFlowCpu(const OpticalFlowPlan& plan, int workers) noexcept;

 private:
  void layout(LayoutBuilder& builder) noexcept override;
  Expected<void> prepare() noexcept override { return {}; }
  int step_count() const noexcept override { return 1; }
  void build_steps(JobStep* steps, StepContext* contexts) noexcept override;
  /// No frame is bad as a whole: a window without finite derivatives is invalid by itself.
  void write_bad(const FrameJob&) noexcept override {}

  static void run(void* context, int part, int worker) noexcept;

  OpticalFlowPlan plan_;
  Bands bands_;
  std::array<WindowScratch, kMaxWorkers> scratch_;
};

}  // namespace ocellus::detail
