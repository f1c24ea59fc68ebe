// FlowOperator: what the methods of optical flow on CUDA share.
#pragma once

#include <memory>

#include "kernels/core/cuda_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::cuda {

using detail::OpticalFlowPlan;

class FlowOperator : public CudaOperator {
 public:
  /// The method that the plan asks for, without memory. Null when the system has none. `kernels`
  /// is read when the operator is created; without it the operator can only tell its footprint.
  static std::unique_ptr<FlowOperator> make(const OpticalFlowPlan& plan,
                                            const KernelConfig* kernels) noexcept;

 protected:
  FlowOperator(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

  Expected<void> prepare(Scope& cuda) noexcept final;
  /// After `layout` with memory: loads the kernels' code and taps, asks for shared memory.
  virtual Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept = 0;
  float invalid_value() const noexcept;

  OpticalFlowPlan plan_;

 private:
  const KernelConfig* kernels_;
};

}  // namespace ocellus::cuda
