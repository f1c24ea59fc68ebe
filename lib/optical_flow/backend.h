// The functions that a backend gives to optical flow and to the spatio-temporal filter.
#pragma once

#include "core/engine_state.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// An operator's instance on a backend. It holds one piece of the engine's memory and the state of
/// `plan.depth` frames in flight, which the front numbers as slots. Results are in `FlowOutput`,
/// which both operators use.
struct OpticalFlowBackend {
  const char* name;
  bool device_memory;  ///< takes frames and gives results in MemorySpace::kCuda
  /// Bytes that `create` will take from the engine.
  Expected<Footprint> (*footprint)(const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept;
  /// `kernels` says where the taps come from; they are read here, and it is not kept.
  Expected<void*> (*create)(EngineState& engine, const OpticalFlowPlan& plan,
                            const KernelConfig& kernels) noexcept;
  /// No frame is in flight.
  void (*destroy)(void* instance) noexcept;
  /// Begins a frame in a slot that is free. The arguments have been checked. On failure the slot
  /// stays free. Errors: DeviceLost, System.
  Expected<void> (*submit)(void* instance, int slot, const Frame& in,
                           const FlowOutput& out) noexcept;
  /// Afterwards the slot is free again and `result` filled in. Errors: DeadlineMissed (it is not
  /// free), InvalidTicket, DeviceLost.
  Expected<void> (*wait)(void* instance, int slot, Deadline deadline, FrameResult& result) noexcept;
  /// Drops or finishes a frame; the slot is free afterwards.
  void (*cancel)(void* instance, int slot) noexcept;
  /// Forgets the temporal state; no frame is in flight.
  void (*reset)(void* instance) noexcept;
};

extern const OpticalFlowBackend kOpticalFlowCpu;

}  // namespace ocellus::detail
