// OperatorInstance: an operator on a backend, as OperatorHandle drives it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine_state.h"
#include "ocellus/deadline.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Frames that a result may depend on.
inline constexpr int kMaxSupportFrames = 25;

/// What a backend tells of a finished frame, beside its record.
struct FrameResult {
  std::uint64_t described_sequence = 0;
  std::int64_t described_timestamp_ns = 0;
  std::uint32_t flags = 0;  ///< FrameFlag bits
  std::int64_t queue_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;
};

/// It is made without memory; then it can tell its footprint only. `start` takes one piece of each
/// kind of the engine's memory, in which the state of `depth` frames in flight lies too. The handle
/// numbers these frames as slots.
class OperatorInstance {
 public:
  virtual ~OperatorInstance() = default;
  OperatorInstance(const OperatorInstance&) = delete;
  OperatorInstance& operator=(const OperatorInstance&) = delete;

  virtual const char* backend() const noexcept = 0;
  /// Whether it takes frames and gives results in MemorySpace::kCuda.
  virtual bool takes_device_memory() const noexcept = 0;

  /// Bytes that `start` takes from the engine.
  virtual Footprint footprint() noexcept = 0;
  /// Called once, before the first frame.
  virtual Expected<void> start(EngineState& engine) noexcept = 0;

  /// Begins a frame in a slot that is free. The arguments have been checked. On failure the slot
  /// stays free, and nothing of the frame runs or counts. Errors: DeviceLost, System.
  virtual Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept = 0;
  /// Afterwards the slot is free again, and `result` and the output's record are filled in. Errors:
  /// DeadlineMissed (it is not free), InvalidTicket, DeviceLost, System (it is not free; a call of
  /// CUDA has failed).
  virtual Expected<void> wait(int slot, Deadline deadline, FrameResult& result) noexcept = 0;
  /// Drops or finishes a frame; the slot is free afterwards.
  virtual void cancel(int slot) noexcept = 0;
  /// Forgets the temporal state; no frame is in flight.
  virtual void reset() noexcept = 0;

 protected:
  OperatorInstance() noexcept = default;
};

/// What an instance without memory needs of the engine. Null: the system had no memory for it,
/// which is the error.
Expected<Footprint> footprint_of(const std::unique_ptr<OperatorInstance>& instance) noexcept;

/// Takes over an instance without memory and makes it ready on the engine. Errors: as above, and
/// those of `start`.
Expected<OperatorHandle> make_operator(Engine& engine, const OperatorInfo& info,
                                       std::unique_ptr<OperatorInstance> instance) noexcept;

}  // namespace ocellus::detail
