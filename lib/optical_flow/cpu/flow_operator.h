// FlowOperator: the base class of the CPU methods of optical flow.
#pragma once

#include "core/cpu_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/moving_objects.h"

namespace ocellus::detail {

class FlowOperator : public CpuOperator {
 protected:
  FlowOperator(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

  /// The arrays and steps of the method. The search for moving objects, if the plan has it, is one
  /// more step.
  virtual void layout_method(LayoutBuilder& builder) noexcept = 0;
  virtual int method_steps() const noexcept = 0;
  virtual void build_method(JobStep* steps, StepContext* contexts) noexcept = 0;
  /// Called after `layout` with memory: reads the kernels, if the method has any.
  virtual Expected<void> load(const KernelConfig& /*kernels*/) noexcept { return {}; }
  /// Writes the invalid value to all planes.
  void write_bad(const FrameJob& frame) noexcept final;

  OpticalFlowPlan plan_;

 private:
  void layout(LayoutBuilder& builder) noexcept final;
  Expected<void> prepare() noexcept final;
  int step_count() const noexcept final { return method_steps() + (plan_.objects > 0 ? 1 : 0); }
  void build_steps(JobStep* steps, StepContext* contexts) noexcept final;
  static void find_objects(void* context, int part, int worker) noexcept;

  const KernelConfig* kernels_;
  MovingObjects objects_;
};

}  // namespace ocellus::detail
