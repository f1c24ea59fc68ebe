// KernelFlow on CUDA: derivatives by spatio-temporal kernels, then one Lucas-Kanade solution.
// SpatioTemporalFilter uses it as well, without the solution.
#pragma once

#include "kernels/optical_flow/flow_operator.h"
#include "kernels/optical_flow/window_launch.h"
#include "optical_flow/uniform_kernels.h"

namespace ocellus::cuda {

class KernelFlow final : public FlowOperator {
 public:
  KernelFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

 private:
  void layout_method(LayoutBuilder& device) noexcept override;
  Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept override;
  Expected<void> record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  Expected<void> load_per_pixel(Scope& cuda, const KernelConfig& kernels,
                                detail::KernelNoise& noise) noexcept;
  Expected<void> load_uniform(Scope& cuda, const KernelConfig& kernels,
                              detail::KernelNoise& noise) noexcept;
  Expected<void> choose_ring_filter(Scope& cuda) noexcept;

  bool per_pixel() const noexcept { return plan_.form != KernelForm::kUniform; }
  bool full() const noexcept { return plan_.form == KernelForm::kFull; }
  std::size_t spatial_bytes() const noexcept {
    return spatial_shared_bytes(plan_.nx, plan_.ny, spatial_.horizontals, spatial_.kernels);
  }

  RingVariant ring_variant_;
  Kernel<RingArguments> ring_kernel_ = nullptr;
  int ring_warps_ = 0;
  unsigned ring_blocks_ = 0;
  std::size_t bank_tile_bytes_ = 0;
  char* bank_ = nullptr;

  // The arguments of the kernels, without those of a frame.
  RingArguments ring_{};
  FullArguments full_{};
  TemporalArguments temporal_{};
  SpatialArguments spatial_{};
  WindowLaunch window_;
  DeviationArguments deviation_{};

  FloatPlanes derivatives_{};  // over the support; without memory if the planes are the result
};

}  // namespace ocellus::cuda
