// The launch of the window kernel, for all operators whose frames end with it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/optical_flow/kernels.h"
#include "optical_flow/plan.h"

namespace ocellus::cuda {

struct WindowLaunch {
  Kernel<WindowArguments> kernel = nullptr;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  /// Those that follow from the plan. The caller adds those of the frame and, with
  /// WindowSource::kKernels, the derivatives.
  WindowArguments arguments{};
};

WindowLaunch window_launch(const detail::OpticalFlowPlan& plan, WindowSource source) noexcept;

}  // namespace ocellus::cuda
