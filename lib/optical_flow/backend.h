// The functions that a backend gives to optical flow and to the spatio-temporal filter, and how
// both come to an instance.
#pragma once

#include "core/engine_state.h"
#include "core/operator.h"
#include "core/operator_handle.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

struct OpticalFlowBackend {
  const OperatorCalls* calls;  ///< of the instances that `create` makes
  /// Bytes that `create` will take from the engine.
  Expected<Footprint> (*footprint)(const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept;
  /// `kernels` says where the taps come from; they are read here, and it is not kept.
  Expected<void*> (*create)(EngineState& engine, const OpticalFlowPlan& plan,
                            const KernelConfig& kernels) noexcept;
};

extern const OpticalFlowBackend kOpticalFlowCpu;

/// Both with the engine's backend. Errors: Unsupported, and those of the table's functions.
Expected<Footprint> flow_footprint(const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept;
Expected<void> create_flow(OperatorHandle& handle, const OpticalFlowPlan& plan,
                           const KernelConfig& kernels) noexcept;

}  // namespace ocellus::detail
