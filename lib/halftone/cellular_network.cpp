#include "ocellus/cellular_network.h"

#include <new>

#include "core/failure.h"
#include "halftone/backend.h"
#include "halftone/plan.h"

namespace ocellus {

Expected<OperatorInfo> CellularNetwork::info_for(const CellularNetworkConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::info_of(*plan);
}

Expected<Footprint> CellularNetwork::footprint(const EngineInfo& engine,
                                               const CellularNetworkConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::footprint_of(detail::make_network(engine, *plan, nullptr));
}

Expected<CellularNetwork> CellularNetwork::create(Engine& engine,
                                                  const CellularNetworkConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  std::unique_ptr<CellularNetworkConfig> kept(new (std::nothrow) CellularNetworkConfig(config));
  if (!kept) return detail::no_memory_for_operator();
  for (CellStage& stage : kept->stages) stage.threshold_plane = stage.start_plane = nullptr;
  const detail::CellSources sources = detail::sources_of(config);
  OCELLUS_TRY_ASSIGN(made,
                     detail::make_operator(engine, detail::info_of(*plan),
                                           detail::make_network(engine.info(), *plan, &sources)));
  CellularNetwork network(std::move(*made), std::move(kept));
  for (std::size_t s = 0; s < static_cast<std::size_t>(plan->stage_count); ++s)
    network.fraction_bits_[s] = plan->stages[s].fraction_bits;
  return network;
}

}  // namespace ocellus
