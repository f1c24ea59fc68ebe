// FlowOperator: what the methods of optical flow on the CPU share.
#pragma once

#include <memory>

#include "core/cpu_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

class FlowOperator : public CpuOperator {
 public:
  /// The method that the plan asks for, without memory. Null when the system has none. `kernels`
  /// is read when the operator is created; without it the operator can only tell its footprint.
  static std::unique_ptr<FlowOperator> make(const OpticalFlowPlan& plan, int workers,
                                            const KernelConfig* kernels) noexcept;

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
