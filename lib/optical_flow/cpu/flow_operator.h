// FlowOperator: what the methods of optical flow on the CPU share.
#pragma once

#include "core/cpu_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

class FlowOperator : public CpuOperator {
 protected:
  FlowOperator(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

  Expected<void> prepare() noexcept final;
  /// After `layout` with memory: reads the kernels.
  virtual Expected<void> load(const KernelConfig& kernels) noexcept = 0;
  /// "Invalid" in all planes.
  void write_bad(const FrameJob& frame) noexcept final;
  float invalid_value() const noexcept;

  OpticalFlowPlan plan_;

 private:
  const KernelConfig* kernels_;
};

}  // namespace ocellus::detail
