// RecursionOperator: what the instances of Restoration by recursion share: the continued image and
// the sum of the quadrants. The schedules of the paper use it, too.
#pragma once

#include <cstddef>

#include "core/failure.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/restoration/recursion_kernels.h"

namespace ocellus::cuda {

class RecursionOperator : public CudaOperator {
 protected:
  RecursionOperator(const detail::RestorationPlan& plan, const OperatorInfo& info) noexcept
      : CudaOperator(info), plan_(plan) {
    image_.margin_x = round_up_to_columns(plan.padding);
    image_.margin_y = plan.padding;
    image_.width = round_up_to_columns(plan.size.width) + 2 * image_.margin_x;
    image_.height = plan.size.height + 2 * image_.margin_y;
  }

  std::size_t image_pixels() const noexcept {
    return static_cast<std::size_t>(image_.width) * static_cast<std::size_t>(image_.height);
  }
  void place_image(LayoutBuilder& device) noexcept {
    image_.pixels = device.take<float>(image_pixels());
  }
  Expected<void> load_image_kernels(Scope& cuda) noexcept {
    OCELLUS_TRY(load_check_kernel(cuda));
    OCELLUS_TRY(load_kernel(cuda, continue_kernel(plan_.format), 0));
    return load_kernel(cuda, add_quadrants_kernel(plan_.format), 0);
  }
  /// The first kernels of a frame.
  Expected<void> launch_continue(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    const ContinueArguments arguments{params(slot), plan_.size, plan_.border, image_};
    return launch(cuda, stream, continue_kernel(plan_.format),
                  dim3(static_cast<unsigned>(image_.height)), dim3(kContinueThreads), 0, arguments);
  }
  /// The last kernel of a frame.
  Expected<void> launch_add(Scope& cuda, int slot, cudaStream_t stream, const float* planes,
                            std::size_t plane_pixels, int pitch) noexcept {
    const AddQuadrantsArguments arguments{params(slot), state(),      outcome(slot), plan_.size,
                                          planes,       plane_pixels, pitch};
    return launch(cuda, stream, add_quadrants_kernel(plan_.format),
                  dim3(static_cast<unsigned>(plan_.size.height)), dim3(kAddThreads), 0, arguments);
  }

  detail::RestorationPlan plan_;
  ContinuedImage image_{};
};

}  // namespace ocellus::cuda
