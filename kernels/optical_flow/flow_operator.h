// FlowOperator: the base class of the CUDA methods of optical flow.
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
  /// Called after `layout` with the memory. Loads the kernels and the taps, and sets the limits of
  /// shared memory.
  virtual Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept = 0;

  OpticalFlowPlan plan_;

 private:
  const KernelConfig* kernels_;
};

}  // namespace ocellus::cuda
