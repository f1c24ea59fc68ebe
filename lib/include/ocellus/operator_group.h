// OperatorGroup: operators of one configuration on several devices of a host. They share the frames
// of one or several cameras.
#pragma once

#include <memory>
#include <span>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/operators.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

namespace ocellus {

namespace detail {
class GroupState;
}  // namespace detail

#pragma GCC visibility push(default)  // exported by a shared library

/// Largest number of engines of a group.
inline constexpr int kMaxGroupEngines = 64;
/// Largest number of cameras of a group.
inline constexpr int kMaxGroupCameras = 256;

/// A finished frame of a camera.
struct GroupResult {
  FrameInfo info{};
  int engine = 0;  ///< number of the engine that computed it
};

/// One engine for each device, and operators of one configuration on them. A movable handle; a
/// moved-from object can only be destroyed or assigned to.
///
/// An operator that keeps no state (OperatorInfo::keeps_state) exists once on each engine, and the
/// frames of all cameras go to the engines in turn. An engine without room is left out. Which
/// engine computes a frame depends on the sequence of calls, not on times. In every other case,
/// each camera has an operator of its own, and camera c stays on engine c modulo the number of
/// engines.
///
/// Each operator has OperatorInfo::depth frames in flight. The results of a camera come in the
/// order of its frames, so the slowest device sets the pace of the others: give devices of one
/// kind. On devices of one kind, the results are the same bytes as those of a single operator.
///
/// The calls for one object must not run at the same time, except `wait` with `submit`, and `stop`
/// with every call but the destructor. Frame and output must remain valid until `wait` has returned
/// the frame's result or until `reset` or the
/// destructor returns.
class OperatorGroup {
 public:
  /// Creates the engines and the operators, the only call that allocates. Each engine gets the
  /// memory of its operators in addition to EngineConfig::memory. `engines` has 1 to
  /// kMaxGroupEngines elements, which may name one device several times; `cameras` is 1 to
  /// kMaxGroupCameras. Errors: those of OperatorConfig::info, of Engine::create and of the
  /// operator's creation; InvalidArgument also if there are fewer cameras than engines and the
  /// operator keeps state. The text of an error that concerns a device names it.
  static Expected<OperatorGroup> create(std::span<const EngineConfig> engines,
                                        const OperatorConfig& config, int cameras = 1) noexcept;

  OperatorGroup(OperatorGroup&&) noexcept;
  OperatorGroup& operator=(OperatorGroup&&) noexcept;
  /// Ends the frames in flight early, then releases operators and engines.
  ~OperatorGroup();

  /// What each operator takes and produces.
  const OperatorInfo& info() const noexcept;
  int engine_count() const noexcept;
  int camera_count() const noexcept;
  /// An engine, such as for buffers of it. `number` is 0 to engine_count() - 1.
  Engine& engine(int number) noexcept;
  const Engine& engine(int number) const noexcept;
  /// The largest number of frames of one camera in flight.
  int frames_in_flight() const noexcept;

  /// The engine that takes the next frame of a camera, so that the frame can lie in its memory. -1
  /// if no engine has room.
  int next_engine(int camera) const noexcept;

  /// Queues a frame of a camera, 0 to camera_count() - 1. Takes bounded time and does not allocate.
  /// After an error, the frame has not come. Errors: those of OperatorHandle::submit; QueueFull if
  /// no engine has room. The text of DeviceLost and System names the device.
  Expected<void> submit(int camera, const Frame& in, const OperatorOutput& out) noexcept;

  /// Computes or waits until the oldest frame in flight of a camera is done or the deadline has
  /// passed. Errors: those of OperatorHandle::wait; InvalidTicket if the camera has no frame in
  /// flight. The text of DeviceLost and System names the device.
  Expected<GroupResult> wait(int camera, Deadline deadline) noexcept;

  /// Makes the frames in flight of all cameras end early, as OperatorHandle::stop. A handler of
  /// signals may call it.
  void stop() noexcept;

  /// Drops the frames in flight of all cameras, and forgets all previous frames. Frames that run
  /// end early. The next frame goes to engine 0 again. Keeps the memory.
  void reset() noexcept;

  /// Writes what the operator of a camera has learned, as OperatorHandle::save_model.
  Expected<void> save_model(int camera, const char* path) noexcept;

 private:
  explicit OperatorGroup(std::unique_ptr<detail::GroupState> state) noexcept;

  std::unique_ptr<detail::GroupState> state_;
};

#pragma GCC visibility pop

}  // namespace ocellus
