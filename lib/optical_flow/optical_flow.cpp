// The operators OpticalFlow, SpatioTemporalFilter and WindowFlow.
#include "ocellus/optical_flow.h"

#include "core/operator_creation.h"
#include "image/separable_filter.h"
#include "optical_flow/backend.h"

namespace ocellus {
namespace detail {

template <typename Config>
struct FlowTraits {
  static constexpr bool kWindow = std::is_same_v<Config, WindowFlowConfig>;

  static Expected<OpticalFlowPlan> make_plan_for(const Config& config) noexcept {
    return make_plan(config);
  }
  static OperatorInfo info(const OpticalFlowPlan& plan) noexcept {
    return kWindow ? window_info_of(plan) : info_of(plan);
  }
  static std::unique_ptr<OperatorInstance> cpu(const OpticalFlowPlan& plan, int workers,
                                               const Config& config) noexcept {
    if constexpr (kWindow)
      return make_window_flow_cpu(plan, workers);
    else
      return make_flow_cpu(plan, workers, &config.kernels);
  }
  static std::unique_ptr<OperatorInstance> cuda(const OpticalFlowPlan& plan,
                                                const Config& config) noexcept {
    if constexpr (kWindow)
      return make_window_flow_cuda(plan);
    else
      return make_flow_cuda(plan, &config.kernels);
  }
};

template <>
struct OperatorTraits<OpticalFlowConfig> : FlowTraits<OpticalFlowConfig> {};
template <>
struct OperatorTraits<SpatioTemporalFilterConfig> : FlowTraits<SpatioTemporalFilterConfig> {};
template <>
struct OperatorTraits<WindowFlowConfig> : FlowTraits<WindowFlowConfig> {};

}  // namespace detail

template class Operator<OpticalFlow, OpticalFlowConfig>;
template class Operator<SpatioTemporalFilter, SpatioTemporalFilterConfig>;
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
