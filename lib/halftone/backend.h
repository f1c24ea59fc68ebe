// Creates instances of the cellular network on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "halftone/plan.h"

namespace ocellus::detail {

OperatorInfo info_of(const CellularNetworkPlan& plan) noexcept;

/// Creates an instance without memory; null if the system has none. `start` reads `sources`, which
/// must exist until then. Without `sources` an instance can only report its footprint.
std::unique_ptr<OperatorInstance> make_network_cpu(const CellularNetworkPlan& plan, int workers,
                                                   const CellSources* sources) noexcept;
/// Defined only in builds with CUDA.
std::unique_ptr<OperatorInstance> make_network_cuda(const CellularNetworkPlan& plan,
                                                    const CellSources* sources) noexcept;
/// Creates an instance on the engine's backend.
std::unique_ptr<OperatorInstance> make_network(const EngineInfo& engine,
                                               const CellularNetworkPlan& plan,
                                               const CellSources* sources) noexcept;

}  // namespace ocellus::detail
