#include "ocellus/window_flow.h"

#include "core/operator_creation.h"
#include "image/separable_filter.h"
#include "optical_flow/backend.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<WindowFlowConfig> {
  static Expected<OpticalFlowPlan> make_plan_for(const WindowFlowConfig& config) noexcept {
    return make_plan(config);
  }
  static OperatorInfo info(const OpticalFlowPlan& plan) noexcept { return window_info_of(plan); }
  static std::unique_ptr<OperatorInstance> cpu(const OpticalFlowPlan& plan, int workers,
                                               const WindowFlowConfig&) noexcept {
    return make_window_flow_cpu(plan, workers);
  }
  static std::unique_ptr<OperatorInstance> cuda(const OpticalFlowPlan& plan,
                                                const WindowFlowConfig&) noexcept {
    return make_window_flow_cuda(plan);
  }
};

template class Operator<WindowFlow, WindowFlowConfig>;

WindowFlowConfig WindowFlowConfig::of(const OpticalFlowConfig& flow, ImageSize size,
                                      const Rect& roi) noexcept {
  WindowFlowConfig config;
  config.size = size;
  config.roi = roi;
  config.depth = flow.depth;
  config.window = flow.window;
  config.window_weight = flow.window_weight;
  config.window_sigma = flow.window_sigma;
  config.confidence_threshold = flow.confidence_threshold;
  config.invalid = flow.invalid;
  return config;
}

int WindowFlow::row_floats(int width) noexcept {
  return static_cast<int>(detail::row_stride(width));
}

}  // namespace ocellus
