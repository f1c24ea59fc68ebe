// KernelFlow on CUDA: derivatives by spatio-temporal kernels, then one Lucas-Kanade solution.
// SpatioTemporalFilter uses it as well, without the solution.
#pragma once

#include "kernels/optical_flow/flow_operator.h"
#include "kernels/optical_flow/kernels.h"
#include "optical_flow/uniform_kernels.h"

namespace ocellus::cuda {

class KernelFlow final : public FlowOperator {
 public:
  KernelFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

 private:
  void layout(LayoutBuilder& device) noexcept override;
  Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept override;
  Expected<void> record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  Expected<void> load_per_pixel(Scope& cuda, const KernelConfig& kernels,
                                detail::KernelNoise& noise) noexcept;
  Expected<void> load_uniform(Scope& cuda, const KernelConfig& kernels,
                              detail::KernelNoise& noise) noexcept;
  Expected<void> choose_ring_filter(Scope& cuda) noexcept;
  Expected<void> record_per_pixel(Scope& cuda, int slot, cudaStream_t stream) noexcept;
  Expected<void> record_uniform(Scope& cuda, int slot, cudaStream_t stream) noexcept;

  bool per_pixel() const noexcept { return plan_.form == KernelForm::kPerPixel; }
  Expected<void> record_deviation(Scope& cuda, int slot, cudaStream_t stream) noexcept;
  RingArguments ring_arguments(int slot) const noexcept;
  ResultPlanes result_planes() const noexcept;
  std::size_t spatial_bytes() const noexcept;
  /// Result flags for the convolution kernel, if it ends the frame (SpatioTemporalFilter only);
  /// else null.
  FrameOutcome* outcome_of_convolutions(int slot) const noexcept {
    return plan_.filter_only ? outcome(slot) : nullptr;
  }

  RingVariant ring_variant_;
  Kernel<RingArguments> ring_kernel_ = nullptr;
  int ring_warps_ = 0;
  unsigned ring_blocks_ = 0;
  int tiles_x_ = 0;
  int tiles_ = 0;
  std::size_t bank_tile_bytes_ = 0;
  char* bank_ = nullptr;
  char* ring_ = nullptr;

  detail::UniformKernels uniform_;
  detail::DeviationModel deviation_{};
  Rect reach_;  ///< pixels that the kernels of the support read, clipped to the image
  UniformTaps* taps_ = nullptr;
  char* kept_ = nullptr;
  std::size_t kept_stride_ = 0;  // pixels
  float* sums_ = nullptr;
  std::size_t sums_stride_ = 0;  // floats

  float* derivatives_ = nullptr;
  std::size_t derivative_stride_ = 0;  // floats
  std::size_t derivative_plane_ = 0;   // floats

  // With deviation: planes of u, v and confidence over plan_.flow. u and v are NaN where they are
  // invalid.
  float* solved_ = nullptr;
  std::size_t solved_stride_ = 0;  // floats
  std::size_t solved_plane_ = 0;   // floats
};

}  // namespace ocellus::cuda
