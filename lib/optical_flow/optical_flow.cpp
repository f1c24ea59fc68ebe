#include "ocellus/optical_flow.h"

#include "optical_flow/backend.h"

namespace ocellus {

Expected<OperatorInfo> OpticalFlow::info_for(const OpticalFlowConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::info_of(*plan);
}

Expected<Footprint> OpticalFlow::footprint(const EngineInfo& engine,
                                           const OpticalFlowConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::footprint_of(detail::make_flow(engine, *plan, nullptr));
}

Expected<OpticalFlow> OpticalFlow::create(Engine& engine,
                                          const OpticalFlowConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  Expected<OperatorHandle> made = detail::make_operator(
      engine, detail::info_of(*plan), detail::make_flow(engine.info(), *plan, &config.kernels));
  if (!made) return tl::unexpected(made.error());
  return OpticalFlow(std::move(*made), config);
}

}  // namespace ocellus
