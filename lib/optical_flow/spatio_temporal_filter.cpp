#include "ocellus/spatio_temporal_filter.h"

#include "core/failure.h"
#include "optical_flow/backend.h"

namespace ocellus {

Expected<OperatorInfo> SpatioTemporalFilter::info_for(
    const SpatioTemporalFilterConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::info_of(*plan);
}

Expected<Footprint> SpatioTemporalFilter::footprint(
    const EngineInfo& engine, const SpatioTemporalFilterConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::footprint_of(detail::make_flow(engine, *plan, nullptr));
}

Expected<SpatioTemporalFilter> SpatioTemporalFilter::create(
    Engine& engine, const SpatioTemporalFilterConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  OCELLUS_TRY_ASSIGN(
      made, detail::make_operator(engine, detail::info_of(*plan),
                                  detail::make_flow(engine.info(), *plan, &config.kernels)));
  return SpatioTemporalFilter(std::move(*made), config);
}

}  // namespace ocellus
