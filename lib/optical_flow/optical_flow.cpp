#include "ocellus/optical_flow.h"

#include "core/operator_creation.h"
#include "optical_flow/backend.h"

namespace ocellus {
namespace detail {

/// The traits of flow and of the filter, whose convolutions are the result.
template <typename Config>
struct FlowTraits {
  static Expected<OpticalFlowPlan> make_plan_for(const Config& config) noexcept {
    return make_plan(config);
  }
  static OperatorInfo info(const OpticalFlowPlan& plan) noexcept { return info_of(plan); }
  static std::unique_ptr<OperatorInstance> cpu(const OpticalFlowPlan& plan, int workers,
                                               const Config& config) noexcept {
    return make_flow_cpu(plan, workers, &config.kernels);
  }
  static std::unique_ptr<OperatorInstance> cuda(const OpticalFlowPlan& plan,
                                                const Config& config) noexcept {
    return make_flow_cuda(plan, &config.kernels);
  }
};

template <>
struct OperatorTraits<OpticalFlowConfig> : FlowTraits<OpticalFlowConfig> {};
template <>
struct OperatorTraits<SpatioTemporalFilterConfig> : FlowTraits<SpatioTemporalFilterConfig> {};

}  // namespace detail

template class Operator<OpticalFlow, OpticalFlowConfig>;
template class Operator<SpatioTemporalFilter, SpatioTemporalFilterConfig>;

}  // namespace ocellus
