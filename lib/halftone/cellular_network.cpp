#include "ocellus/cellular_network.h"

#include "core/operator_creation.h"
#include "halftone/backend.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<CellularNetworkConfig> : NetworkTraits<CellularNetworkConfig> {
  static Expected<PlannedNetwork> make_plan_for(const CellularNetworkConfig& config) noexcept {
    OCELLUS_TRY_ASSIGN(plan, make_plan(config));
    return PlannedNetwork{*plan, sources_of(config)};
  }
  static OperatorInfo info(const PlannedNetwork& planned) noexcept { return info_of(planned.plan); }
};

template class Operator<CellularNetwork, CellularNetworkConfig, CellularNetworkRecord>;

int CellularNetwork::fraction_bits(const CellularNetworkConfig& config, int stage) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan || stage < 0 || stage >= plan->stage_count) return 0;
  return plan->stages[static_cast<std::size_t>(stage)].fraction_bits;
}

}  // namespace ocellus
