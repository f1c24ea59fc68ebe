// The instances of the cellular network on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "halftone/plan.h"

namespace ocellus::detail {

OperatorInfo info_of(const CellularNetworkPlan& plan) noexcept;

/// An instance without memory; null when the system has none. `sources` are read by `start` and
/// must live until then; without them an instance can only tell its footprint.
std::unique_ptr<OperatorInstance> make_network_cpu(const CellularNetworkPlan& plan, int workers,
                                                   const CellSources* sources) noexcept;
/// In builds with CUDA.
std::unique_ptr<OperatorInstance> make_network_cuda(const CellularNetworkPlan& plan,
                                                    const CellSources* sources) noexcept;
/// On the engine's backend.
std::unique_ptr<OperatorInstance> make_network(const EngineInfo& engine,
                                               const CellularNetworkPlan& plan,
                                               const CellSources* sources) noexcept;

}  // namespace ocellus::detail
