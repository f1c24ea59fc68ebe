// OperatorInstance: an operator on one backend, driven by OperatorHandle.
#pragma once

#include <cstdint>
#include <memory>

#include "core/done_event.h"
#include "core/engine_state.h"
#include "core/failure.h"
#include "ocellus/deadline.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Largest number of frames that a result may depend on.
inline constexpr int kMaxSupportFrames = 25;

/// The abstract class of a backend's implementation of an operator. An instance is created without
/// memory and can then only report its footprint. `start` takes one piece of each kind of the
/// engine's memory. The pieces also hold the state of `depth` frames in flight. The handle numbers
/// these frames as slots.
class OperatorInstance {
 public:
  virtual ~OperatorInstance() = default;
  OperatorInstance(const OperatorInstance&) = delete;
  OperatorInstance& operator=(const OperatorInstance&) = delete;

  /// Bytes that `start` takes from the engine.
  virtual Footprint footprint() noexcept = 0;
  /// Called once, before the first frame.
  virtual Expected<void> start(EngineState& engine) noexcept = 0;
  /// Called before `start`.
  void set_priority(OperatorPriority priority) noexcept { priority_ = priority; }

  /// Starts a frame in a free slot. The arguments have been checked. On failure the slot remains
  /// free, and the frame neither runs nor counts. Errors: DeviceLost, System.
  virtual Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept = 0;
  /// Waits for a frame. On success the slot is free, and the output's record and `result` are
  /// filled in, except what the caller knows: sequence, timestamp and delay. Errors:
  /// DeadlineMissed, InvalidTicket, DeviceLost, System (a CUDA call failed), Stopped. After
  /// DeadlineMissed and System the slot is not free. After Stopped it is, and there is no result:
  /// `stop` ended the frame early.
  virtual Expected<void> wait(int slot, Deadline deadline, FrameInfo& result) noexcept = 0;
  /// Drops the frame of a slot in use if it has not begun; the slot is free then. Does not wait.
  /// Errors: those of `wait`, except DeadlineMissed and Stopped.
  virtual Expected<CancelOutcome> try_cancel(int slot) noexcept = 0;
  /// The descriptor of OperatorHandle::create_event_fd.
  virtual Expected<int> create_event_fd() noexcept { return done_event_.create(); }
  /// Makes the frames in flight end early, see OperatorHandle::stop, until `reset`. Only sets a
  /// flag.
  virtual void stop() noexcept = 0;
  /// Whether `stop` was called since the last `reset`.
  virtual bool is_stopped() const noexcept = 0;
  /// Drops or finishes a frame. The slot is free afterwards.
  virtual void cancel(int slot) noexcept = 0;
  /// Forgets the temporal state and that the operator was stopped. No frame may be in flight.
  virtual void reset() noexcept = 0;
  /// Waits until no frame runs. The slots stay in use. Errors: DeviceLost, System.
  virtual Expected<void> finish_frames() noexcept = 0;

  /// What the operator has learned, as bytes. Instances of one `arrangement` have the same values
  /// at the same places.
  struct Learned {
    std::uint64_t bytes = 0;  ///< 0: the operator does not learn
    std::uint64_t arrangement = 0;
  };
  virtual Learned learned() const noexcept { return {}; }
  // The next three are called only if `learned` has bytes.
  /// Copy a part of it, of which no frame may change anything. Errors: DeviceLost, System.
  virtual Expected<void> read_learned(void* /*to*/, std::uint64_t /*at*/,
                                      std::size_t /*bytes*/) noexcept {
    return learns_nothing();
  }
  virtual Expected<void> write_learned(const void* /*from*/, std::uint64_t /*at*/,
                                       std::size_t /*bytes*/) noexcept {
    return learns_nothing();
  }
  /// Writes it to a model file. No frame may run. Errors: those of OperatorHandle::save_model.
  virtual Expected<void> save_learned(const char* /*path*/) noexcept { return learns_nothing(); }

 protected:
  OperatorInstance() noexcept = default;

  /// The backend counts each frame that is done until it has been waited for or dropped.
  DoneEvent done_event_;
  OperatorPriority priority_ = OperatorPriority::kNormal;

 private:
  static tl::unexpected<Error> learns_nothing() noexcept {
    return failure(Status::kUnsupported, "the operator does not learn");
  }
};

/// Returns the memory that an instance needs. Null means that the system had no memory for the
/// instance, and gives OutOfMemory.
Expected<Footprint> footprint_of(const std::unique_ptr<OperatorInstance>& instance) noexcept;

/// Takes ownership of an instance without memory and starts it on the engine. The names of the
/// classes are copied. Errors: OutOfMemory if `instance` is null, and those of `start`.
Expected<OperatorHandle> make_operator(Engine& engine, const OperatorInfo& info,
                                       std::unique_ptr<OperatorInstance> instance) noexcept;

}  // namespace ocellus::detail
