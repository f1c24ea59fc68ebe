// FlowOperator: what the methods of optical flow on CUDA share.
#pragma once

#include "kernels/core/cuda_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/plan.h"

namespace ocellus::cuda {

using detail::OpticalFlowPlan;

class FlowOperator : public CudaOperator {
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
