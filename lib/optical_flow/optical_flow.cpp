#include "ocellus/optical_flow.h"

#include "core/failure.h"
#include "optical_flow/backend.h"

namespace ocellus {

Expected<OperatorInfo> OpticalFlow::info_for(const OpticalFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::info_of(*plan);
}

Expected<Footprint> OpticalFlow::footprint(const EngineInfo& engine,
                                           const OpticalFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::footprint_of(detail::make_flow(engine, *plan, nullptr));
}

Expected<OpticalFlow> OpticalFlow::create(Engine& engine,
                                          const OpticalFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  OCELLUS_TRY_ASSIGN(
      made, detail::make_operator(engine, detail::info_of(*plan),
                                  detail::make_flow(engine.info(), *plan, &config.kernels)));
  return OpticalFlow(std::move(*made), config);
}

}  // namespace ocellus
