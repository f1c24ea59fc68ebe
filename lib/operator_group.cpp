#include "ocellus/operator_group.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include "core/failure.h"

namespace ocellus {
namespace detail {
namespace {

tl::unexpected<Error> no_memory() noexcept {
  return failure(Status::kOutOfMemory, "the system gave no memory for the group of operators");
}

/// Whether an error concerns one device and not the values of the call, which are the same for all.
bool is_of_device(Status status) noexcept {
  return status == Status::kOutOfMemory || status == Status::kBackendUnavailable ||
         status == Status::kDeviceLost || status == Status::kSystem;
}

/// The error, with the engine and its device before the text.
tl::unexpected<Error> on_engine(int number, const BackendSpec& backend,
                                const Error& error) noexcept {
  if (!is_of_device(error.status)) return tl::unexpected(error);
  char device[16] = "cpu";
  if (backend.choice != BackendChoice::kCpu)
    std::snprintf(device, sizeof(device), "cuda:%d", backend.device);
  const char* const text = error.text[0] != '\0' ? error.text : status_message(error.status);
  return failure(error.status, "engine %d (%s): %s", number, device, text);
}

}  // namespace

class GroupState {
 public:
  GroupState() noexcept = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  Expected<void> prepare(std::span<const EngineConfig> settings, const OperatorConfig& config,
                         int number_of_cameras) noexcept;

  struct Device {
    std::optional<Engine> engine;
    BackendSpec backend;  // as it was chosen
  };
  /// An operator. `submit` takes room, and `wait` gives it back.
  struct Member {
    std::optional<OperatorHandle> handle;
    int engine = 0;
    std::atomic<int> in_flight{0};
  };
  struct Flight {
    Ticket ticket;
    int member = 0;
  };
  /// The frames in flight of a camera are numbered `begin` to `end` - 1. `wait` moves `begin`,
  /// `submit` moves `end`.
  struct Camera {
    std::atomic<std::uint64_t> begin{0};
    std::atomic<std::uint64_t> end{0};
  };

  static constexpr std::size_t at(int number) noexcept { return static_cast<std::size_t>(number); }
  Expected<void> start_engine(int number, const EngineConfig& settings,
                              const OperatorConfig& config) noexcept;
  Expected<void> check_camera(int camera) const noexcept;
  /// The operator that takes the next frame of a camera, or -1.
  int next_member(int camera) const noexcept;
  Flight& flight(int camera, std::uint64_t number) noexcept {
    return flights[at(camera) * ring + number % ring];
  }
  tl::unexpected<Error> failed(int member, const Error& error) const noexcept {
    const int engine = members[at(member)].engine;
    return on_engine(engine, engines[at(engine)].backend, error);
  }

  int engine_count = 0;
  int camera_count = 0;
  int member_count = 0;
  bool in_turn = false;  // frames go to the engines in turn
  int depth = 1;         // of each operator
  int turn = 0;          // the member that is asked first
  std::size_t ring = 1;  // frames of a camera that may be in flight
  std::unique_ptr<Device[]> engines;
  std::unique_ptr<Member[]> members;
  std::unique_ptr<Camera[]> cameras;
  std::unique_ptr<Flight[]> flights;  // `ring` of each camera
};

Expected<void> GroupState::prepare(std::span<const EngineConfig> settings,
                                   const OperatorConfig& config, int number_of_cameras) noexcept {
  if (settings.empty() || settings.size() > at(kMaxGroupEngines)) {
    return invalid_argument("engines has %zu elements; it must have 1 to %d", settings.size(),
                            kMaxGroupEngines);
  }
  if (number_of_cameras < 1 || number_of_cameras > kMaxGroupCameras) {
    return invalid_argument("cameras is %d; it must be 1 to %d", number_of_cameras,
                            kMaxGroupCameras);
  }
  OCELLUS_TRY_ASSIGN(info, config.info());
  engine_count = static_cast<int>(settings.size());
  camera_count = number_of_cameras;
  in_turn = !info->keeps_state && !info->learns;
  if (!in_turn && camera_count < engine_count) {
    return invalid_argument(
        "%s %s, so all frames of a camera must go to one device; %d camera%s cannot use %d "
        "devices: give at most one device for each camera",
        config.description().name,
        info->learns ? "learns from each frame" : "keeps state from frame to frame", camera_count,
        camera_count == 1 ? "" : "s", engine_count);
  }
  member_count = in_turn ? engine_count : camera_count;
  depth = info->depth;
  ring = at(depth) * at(in_turn ? engine_count : 1);
  engines.reset(new (std::nothrow) Device[at(engine_count)]);
  members.reset(new (std::nothrow) Member[at(member_count)]);
  cameras.reset(new (std::nothrow) Camera[at(camera_count)]);
  flights.reset(new (std::nothrow) Flight[at(camera_count) * ring]);
  if (engines == nullptr || members == nullptr || cameras == nullptr || flights == nullptr)
    return no_memory();
  for (int number = 0; number < engine_count; ++number) {
    engines[at(number)].backend = settings[at(number)].backend;
    if (Expected<void> started = start_engine(number, settings[at(number)], config); !started)
      return on_engine(number, engines[at(number)].backend, started.error());
  }
  return {};
}

Expected<void> GroupState::start_engine(int number, const EngineConfig& settings,
                                        const OperatorConfig& config) noexcept {
  Device& device = engines[at(number)];
  OCELLUS_TRY_ASSIGN(probed, Engine::probe(settings));
  if (probed->backend == BackendKind::kCpu)
    device.backend = {BackendChoice::kCpu, 0};
  else
    device.backend = {BackendChoice::kCuda, probed->device};
  OCELLUS_TRY_ASSIGN(footprint, config.footprint(*probed));
  EngineConfig whole = settings;
  for (int member = number; member < member_count; member += engine_count)
    whole.memory += *footprint;
  OCELLUS_TRY_ASSIGN(engine, Engine::create(whole));
  device.engine = std::move(*engine);
  for (int member = number; member < member_count; member += engine_count) {
    OCELLUS_TRY_ASSIGN(made, config.create(*device.engine));
    members[at(member)].handle = std::move(*made);
    members[at(member)].engine = number;
  }
  return {};
}

Expected<void> GroupState::check_camera(int camera) const noexcept {
  if (camera < 0 || camera >= camera_count)
    return invalid_argument("camera is %d; it must be 0 to %d", camera, camera_count - 1);
  return {};
}

int GroupState::next_member(int camera) const noexcept {
  const auto has_room = [this](int member) {
    return members[at(member)].in_flight.load(std::memory_order_acquire) < depth;
  };
  if (!in_turn) return has_room(camera) ? camera : -1;
  // Asked in reverse, because `wait` may give back room on another thread meanwhile. A camera's
  // results come in order: if a later member has room again, so has an earlier one.
  int first = -1;
  for (int i = member_count; i-- > 0;)
    if (const int member = (turn + i) % member_count; has_room(member)) first = member;
  return first;
}

}  // namespace detail

using detail::failure;
using detail::GroupState;

OperatorGroup::OperatorGroup(std::unique_ptr<detail::GroupState> state) noexcept
    : state_(std::move(state)) {}
OperatorGroup::OperatorGroup(OperatorGroup&&) noexcept = default;
OperatorGroup& OperatorGroup::operator=(OperatorGroup&&) noexcept = default;
OperatorGroup::~OperatorGroup() = default;

Expected<OperatorGroup> OperatorGroup::create(std::span<const EngineConfig> engines,
                                              const OperatorConfig& config, int cameras) noexcept {
  std::unique_ptr<detail::GroupState> state(new (std::nothrow) detail::GroupState);
  if (state == nullptr) return detail::no_memory();
  OCELLUS_TRY(state->prepare(engines, config, cameras));
  return OperatorGroup(std::move(state));
}

const OperatorInfo& OperatorGroup::info() const noexcept {
  return state_->members[0].handle->info();
}
int OperatorGroup::engine_count() const noexcept {
  return state_->engine_count;
}
int OperatorGroup::camera_count() const noexcept {
  return state_->camera_count;
}
Engine& OperatorGroup::engine(int number) noexcept {
  return *state_->engines[GroupState::at(number)].engine;
}
const Engine& OperatorGroup::engine(int number) const noexcept {
  return *state_->engines[GroupState::at(number)].engine;
}
int OperatorGroup::frames_in_flight() const noexcept {
  return static_cast<int>(state_->ring);
}

int OperatorGroup::next_engine(int camera) const noexcept {
  if (!state_->check_camera(camera)) return -1;
  const int member = state_->next_member(camera);
  return member < 0 ? -1 : state_->members[GroupState::at(member)].engine;
}

Expected<void> OperatorGroup::submit(int camera, const Frame& in,
                                     const OperatorOutput& out) noexcept {
  OCELLUS_TRY(state_->check_camera(camera));
  const int number = state_->next_member(camera);
  if (number < 0) {
    if (state_->in_turn) {
      return failure(
          Status::kQueueFull,
          "%d frames are in flight, which is the depth %d of each of %d engines; wait for a "
          "frame first",
          state_->depth * state_->engine_count, state_->depth, state_->engine_count);
    }
    return failure(
        Status::kQueueFull,
        "%d frames of camera %d are in flight, which is the depth; wait for one of them first",
        state_->depth, camera);
  }
  GroupState::Member& member = state_->members[GroupState::at(number)];
  const Expected<Ticket> ticket = member.handle->submit(in, out);
  if (!ticket) return state_->failed(number, ticket.error());
  GroupState::Camera& queue = state_->cameras[GroupState::at(camera)];
  const std::uint64_t end = queue.end.load(std::memory_order_relaxed);
  state_->flight(camera, end) = {*ticket, number};
  member.in_flight.fetch_add(1, std::memory_order_relaxed);
  queue.end.store(end + 1, std::memory_order_release);
  state_->turn = (number + 1) % state_->member_count;
  return {};
}

Expected<GroupResult> OperatorGroup::wait(int camera, Deadline deadline) noexcept {
  OCELLUS_TRY(state_->check_camera(camera));
  GroupState::Camera& queue = state_->cameras[GroupState::at(camera)];
  const std::uint64_t begin = queue.begin.load(std::memory_order_relaxed);
  if (begin == queue.end.load(std::memory_order_acquire)) {
    return failure(Status::kInvalidTicket, "no frame of camera %d is in flight", camera);
  }
  const GroupState::Flight oldest = state_->flight(camera, begin);
  GroupState::Member& member = state_->members[GroupState::at(oldest.member)];
  const Expected<FrameInfo> done = member.handle->wait(oldest.ticket, deadline);
  if (done || done.error().status == Status::kStopped) {
    // The place in the ring is free before the operator has room for another frame.
    queue.begin.store(begin + 1, std::memory_order_release);
    member.in_flight.fetch_sub(1, std::memory_order_release);
  }
  if (!done) return state_->failed(oldest.member, done.error());
  return GroupResult{*done, member.engine};
}

void OperatorGroup::stop() noexcept {
  for (int member = 0; member < state_->member_count; ++member)
    state_->members[GroupState::at(member)].handle->stop();
}

void OperatorGroup::reset() noexcept {
  for (int member = 0; member < state_->member_count; ++member) {
    state_->members[GroupState::at(member)].handle->reset();
    state_->members[GroupState::at(member)].in_flight.store(0, std::memory_order_relaxed);
  }
  for (int camera = 0; camera < state_->camera_count; ++camera) {
    state_->cameras[GroupState::at(camera)].begin.store(0, std::memory_order_relaxed);
    state_->cameras[GroupState::at(camera)].end.store(0, std::memory_order_relaxed);
  }
  state_->turn = 0;
}

Expected<void> OperatorGroup::save_model(int camera, const char* path) noexcept {
  OCELLUS_TRY(state_->check_camera(camera));
  const int member = state_->in_turn ? 0 : camera;
  const Expected<void> saved = state_->members[GroupState::at(member)].handle->save_model(path);
  if (!saved) return state_->failed(member, saved.error());
  return {};
}

}  // namespace ocellus
