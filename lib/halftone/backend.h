// The functions that a backend gives to the cellular network, and how it comes to an instance.
#pragma once

#include "core/engine_state.h"
#include "core/operator.h"
#include "core/operator_handle.h"
#include "halftone/plan.h"
#include "ocellus/cellular_network.h"

namespace ocellus::detail {

/// What the extra words of a frame's result are.
enum CellWord : std::size_t { kSweepsWord, kChangedWord, kConvergedWord };

struct CellularNetworkBackend {
  const OperatorCalls* calls;  ///< of the instances that `create` makes
  /// Bytes that `create` will take from the engine.
  Expected<Footprint> (*footprint)(const EngineInfo& engine,
                                   const CellularNetworkPlan& plan) noexcept;
  /// `sources` are read here and not kept.
  Expected<void*> (*create)(EngineState& engine, const CellularNetworkPlan& plan,
                            const CellSources& sources) noexcept;
};

extern const CellularNetworkBackend kCellularNetworkCpu;

OperatorShape shape_of(const CellularNetworkPlan& plan) noexcept;

/// Both with the engine's backend. Errors: Unsupported, and those of the table's functions.
Expected<Footprint> cell_footprint(const EngineInfo& engine,
                                   const CellularNetworkPlan& plan) noexcept;
Expected<void> create_cells(OperatorHandle& handle, const CellularNetworkPlan& plan,
                            const CellSources& sources) noexcept;

}  // namespace ocellus::detail
