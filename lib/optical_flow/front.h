// FlowFront: what both operators of this room share - tickets, checks of each frame, the backend's
// instance.
#pragma once

#include <array>
#include <atomic>

#include "core/engine_state.h"
#include "optical_flow/backend.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

class FlowFront {
 public:
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const OpticalFlowPlan& plan) noexcept;

  FlowFront(EngineRef engine, const OpticalFlowPlan& plan) noexcept;
  ~FlowFront();
  FlowFront(const FlowFront&) = delete;
  FlowFront& operator=(const FlowFront&) = delete;

  Expected<void> create(const KernelConfig& kernels) noexcept;
  /// Instead: takes over an instance for the engine's backend that was made elsewhere, from the
  /// same plan, as the schedules are that are measured beside ours.
  Expected<void> adopt(void* instance) noexcept;

  const OpticalFlowPlan& plan() const noexcept { return plan_; }

  /// `planes` of `out` are checked by the caller, the rest here.
  Expected<Ticket> submit(const Frame& in, const FlowOutput& out, ImageSize out_size) noexcept;
  Expected<FrameInfo> wait(Ticket ticket, Deadline deadline) noexcept;
  void reset() noexcept;

 private:
  struct Slot {
    /// Number of the ticket in flight, 0 when free. Atomic because `wait` may run beside `submit`.
    std::atomic<std::uint64_t> ticket{0};
    std::uint64_t sequence = 0;
    std::int64_t timestamp_ns = 0;
  };

  int slot_of(std::uint64_t ticket) const noexcept {
    return static_cast<int>((ticket - 1) % static_cast<std::uint64_t>(plan_.depth));
  }

  EngineRef engine_;
  OpticalFlowPlan plan_;
  const OpticalFlowBackend* backend_ = nullptr;
  void* instance_ = nullptr;
  const std::uint64_t issuer_;  // of our tickets
  std::uint64_t submitted_ = 0;
  std::array<Slot, kMaxDepth> slots_;
};

}  // namespace ocellus::detail
