// WindowFlow on CUDA: the window kernel of KernelFlow, on derivatives that the frame holds.
#pragma once

#include "kernels/core/cuda_operator.h"
#include "optical_flow/plan.h"

namespace ocellus::cuda {

class WindowFlowCuda final : public CudaOperator {
 public:
  explicit WindowFlowCuda(const detail::OpticalFlowPlan& plan) noexcept;

 private:
  void layout(LayoutBuilder&) noexcept override {}  // the kernel reads the frame itself
  Expected<void> prepare(Scope& cuda) noexcept override;
  /// No frame is bad as a whole, so no kernel checks it: a window without finite derivatives is
  /// invalid by itself.
  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  detail::OpticalFlowPlan plan_;
};

}  // namespace ocellus::cuda
