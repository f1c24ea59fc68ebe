// FlowOperator: the base class of the CPU methods of optical flow.
#pragma once

#include "core/cpu_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

class FlowOperator : public CpuOperator {
 protected:
  FlowOperator(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

  Expected<void> prepare() noexcept final;
  /// Called after `layout` with memory: reads the kernels.
  virtual Expected<void> load(const KernelConfig& kernels) noexcept = 0;
  /// Writes the invalid value to all planes.
  void write_bad(const FrameJob& frame) noexcept final;

  OpticalFlowPlan plan_;

 private:
  const KernelConfig* kernels_;
};

}  // namespace ocellus::detail
