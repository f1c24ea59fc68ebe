#include "kernels/optical_flow/window_launch.h"

#include <algorithm>

#include "kernels/core/cuda_operator.h"

namespace ocellus::cuda {

WindowLaunch window_launch(const detail::OpticalFlowPlan& plan, WindowSource source) noexcept {
  const WindowShape shape = is_large(plan.flow) ? WindowShape::kHigh : WindowShape::kLow;
  WindowLaunch launch;
  launch.kernel = window_kernel(shape, plan.radius, source);
  launch.grid = dim3(block_count(plan.flow.width, kWindowWidth),
                     block_count(plan.flow.height, window_height(shape)));
  launch.block = dim3(static_cast<unsigned>(window_threads(plan.radius)));
  launch.shared_bytes = window_shared_bytes(shape, plan.radius);
  return launch;
}

WindowArguments window_arguments(const detail::OpticalFlowPlan& plan) noexcept {
  WindowArguments a{};
  a.support_width = plan.support.width;
  a.support_height = plan.support.height;
  a.x = plan.flow.x - plan.support.x;
  a.y = plan.flow.y - plan.support.y;
  a.width = plan.flow.width;
  a.height = plan.flow.height;
  a.radius = plan.radius;
  a.frames = plan.frames;
  std::copy(plan.weight.begin(), plan.weight.end(), a.weight);
  a.threshold = plan.confidence_threshold;
  a.invalid = detail::invalid_value(plan);
  return a;
}

}  // namespace ocellus::cuda
