#include "ocellus/spatio_temporal_filter.h"

#include "optical_flow/backend.h"

namespace ocellus {

Expected<OperatorInfo> SpatioTemporalFilter::info_for(
    const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::info_of(*plan);
}

Expected<Footprint> SpatioTemporalFilter::footprint(
    const EngineInfo& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::footprint_of(detail::make_flow(engine, *plan, nullptr));
}

Expected<SpatioTemporalFilter> SpatioTemporalFilter::create(
    Engine& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  Expected<OperatorHandle> made = detail::make_operator(
      engine, detail::info_of(*plan), detail::make_flow(engine.info(), *plan, &config.kernels));
  if (!made) return tl::unexpected(made.error());
  return SpatioTemporalFilter(std::move(*made), config);
}

}  // namespace ocellus
