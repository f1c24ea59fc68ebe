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
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory for the group of operators"));
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
  return tl::unexpected(make_error(error.status, "engine %d (%s): %s", number, device, text));
}

}  // namespace

class GroupState {
 public:
  GroupState() noexcept = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  Expected<void> prepare(std::span<const EngineConfig> engines, const OperatorConfig& config,
                         int cameras) noexcept;

  int engine_count() const noexcept { return engine_count_; }
  int camera_count() const noexcept { return camera_count_; }
  Engine& engine(int number) noexcept { return *engines_[at(number)].engine; }
  const OperatorInfo& info() const noexcept { return members_[0].handle->info(); }
  int frames_in_flight() const noexcept { return static_cast<int>(ring_); }

  int next_engine(int camera) const noexcept;
  Expected<void> submit(int camera, const Frame& in, const OperatorOutput& out) noexcept;
  Expected<GroupResult> wait(int camera, Deadline deadline) noexcept;
  void stop() noexcept;
  void reset() noexcept;
  Expected<void> save_model(int camera, const char* path) noexcept;

 private:
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
    return flights_[at(camera) * ring_ + number % ring_];
  }
  tl::unexpected<Error> failed(int member, const Error& error) const noexcept {
    const int engine = members_[at(member)].engine;
    return on_engine(engine, engines_[at(engine)].backend, error);
  }

  int engine_count_ = 0;
  int camera_count_ = 0;
  int member_count_ = 0;
  bool in_turn_ = false;  // frames go to the engines in turn
  int depth_ = 1;         // of each operator
  int turn_ = 0;          // the member that is asked first
  std::size_t ring_ = 1;  // frames of a camera that may be in flight
  std::unique_ptr<Device[]> engines_;
  std::unique_ptr<Member[]> members_;
  std::unique_ptr<Camera[]> cameras_;
  std::unique_ptr<Flight[]> flights_;  // `ring_` of each camera
};

Expected<void> GroupState::prepare(std::span<const EngineConfig> engines,
                                   const OperatorConfig& config, int cameras) noexcept {
  if (engines.empty() || engines.size() > at(kMaxGroupEngines)) {
    return invalid_argument("engines has %zu elements; it must have 1 to %d", engines.size(),
                            kMaxGroupEngines);
  }
  if (cameras < 1 || cameras > kMaxGroupCameras)
    return invalid_argument("cameras is %d; it must be 1 to %d", cameras, kMaxGroupCameras);
  OCELLUS_TRY_ASSIGN(info, config.info());
  engine_count_ = static_cast<int>(engines.size());
  camera_count_ = cameras;
  in_turn_ = !info->keeps_state && !info->learns;
  if (!in_turn_ && camera_count_ < engine_count_) {
    return invalid_argument(
        "%s %s, so all frames of a camera must go to one device; %d camera%s cannot use %d "
        "devices: give at most one device for each camera",
        config.description().name,
        info->learns ? "learns from each frame" : "keeps state from frame to frame", camera_count_,
        camera_count_ == 1 ? "" : "s", engine_count_);
  }
  member_count_ = in_turn_ ? engine_count_ : camera_count_;
  depth_ = info->depth;
  ring_ = at(depth_) * at(in_turn_ ? engine_count_ : 1);
  engines_.reset(new (std::nothrow) Device[at(engine_count_)]);
  members_.reset(new (std::nothrow) Member[at(member_count_)]);
  cameras_.reset(new (std::nothrow) Camera[at(camera_count_)]);
  flights_.reset(new (std::nothrow) Flight[at(camera_count_) * ring_]);
  if (engines_ == nullptr || members_ == nullptr || cameras_ == nullptr || flights_ == nullptr)
    return no_memory();
  for (int number = 0; number < engine_count_; ++number) {
    const EngineConfig& settings = engines[at(number)];
    engines_[at(number)].backend = settings.backend;
    if (Expected<void> started = start_engine(number, settings, config); !started)
      return on_engine(number, engines_[at(number)].backend, started.error());
  }
  return {};
}

Expected<void> GroupState::start_engine(int number, const EngineConfig& settings,
                                        const OperatorConfig& config) noexcept {
  Device& device = engines_[at(number)];
  OCELLUS_TRY_ASSIGN(probed, Engine::probe(settings));
  if (probed->backend == BackendKind::kCpu)
    device.backend = {BackendChoice::kCpu, 0};
  else
    device.backend = {BackendChoice::kCuda, probed->device};
  OCELLUS_TRY_ASSIGN(footprint, config.footprint(*probed));
  EngineConfig whole = settings;
  for (int member = number; member < member_count_; member += engine_count_)
    whole.memory += *footprint;
  OCELLUS_TRY_ASSIGN(engine, Engine::create(whole));
  device.engine = std::move(*engine);
  for (int member = number; member < member_count_; member += engine_count_) {
    OCELLUS_TRY_ASSIGN(made, config.create(*device.engine));
    members_[at(member)].handle = std::move(*made);
    members_[at(member)].engine = number;
  }
  return {};
}

Expected<void> GroupState::check_camera(int camera) const noexcept {
  if (camera < 0 || camera >= camera_count_)
    return invalid_argument("camera is %d; it must be 0 to %d", camera, camera_count_ - 1);
  return {};
}

int GroupState::next_member(int camera) const noexcept {
  const auto has_room = [this](int member) {
    return members_[at(member)].in_flight.load(std::memory_order_acquire) < depth_;
  };
  if (!in_turn_) return has_room(camera) ? camera : -1;
  // Asked in reverse: a camera's results come in order, so while `wait` gives back room on another
  // thread, a later member that has room again shows that an earlier one has it, too.
  int first = -1;
  for (int i = member_count_; i-- > 0;)
    if (const int member = (turn_ + i) % member_count_; has_room(member)) first = member;
  return first;
}

int GroupState::next_engine(int camera) const noexcept {
  if (!check_camera(camera)) return -1;
  const int member = next_member(camera);
  return member < 0 ? -1 : members_[at(member)].engine;
}

Expected<void> GroupState::submit(int camera, const Frame& in, const OperatorOutput& out) noexcept {
  OCELLUS_TRY(check_camera(camera));
  const int number = next_member(camera);
  if (number < 0) {
    if (in_turn_) {
      return tl::unexpected(make_error(
          Status::kQueueFull,
          "%d frames are in flight, which is the depth %d of each of %d engines; wait for a "
          "frame first",
          depth_ * engine_count_, depth_, engine_count_));
    }
    return tl::unexpected(make_error(
        Status::kQueueFull,
        "%d frames of camera %d are in flight, which is the depth; wait for one of them first",
        depth_, camera));
  }
  Member& member = members_[at(number)];
  const Expected<Ticket> ticket = member.handle->submit(in, out);
  if (!ticket) return failed(number, ticket.error());
  Camera& queue = cameras_[at(camera)];
  const std::uint64_t end = queue.end.load(std::memory_order_relaxed);
  flight(camera, end) = {*ticket, number};
  member.in_flight.fetch_add(1, std::memory_order_relaxed);
  queue.end.store(end + 1, std::memory_order_release);
  turn_ = (number + 1) % member_count_;
  return {};
}

Expected<GroupResult> GroupState::wait(int camera, Deadline deadline) noexcept {
  OCELLUS_TRY(check_camera(camera));
  Camera& queue = cameras_[at(camera)];
  const std::uint64_t begin = queue.begin.load(std::memory_order_relaxed);
  if (begin == queue.end.load(std::memory_order_acquire)) {
    return tl::unexpected(
        make_error(Status::kInvalidTicket, "no frame of camera %d is in flight", camera));
  }
  const Flight oldest = flight(camera, begin);
  Member& member = members_[at(oldest.member)];
  const Expected<FrameInfo> done = member.handle->wait(oldest.ticket, deadline);
  if (done || done.error().status == Status::kStopped) {
    // The place in the ring is free before the operator has room for another frame.
    queue.begin.store(begin + 1, std::memory_order_release);
    member.in_flight.fetch_sub(1, std::memory_order_release);
  }
  if (!done) return failed(oldest.member, done.error());
  return GroupResult{*done, member.engine};
}

void GroupState::stop() noexcept {
  for (int member = 0; member < member_count_; ++member) members_[at(member)].handle->stop();
}

void GroupState::reset() noexcept {
  for (int member = 0; member < member_count_; ++member) {
    members_[at(member)].handle->reset();
    members_[at(member)].in_flight.store(0, std::memory_order_relaxed);
  }
  for (int camera = 0; camera < camera_count_; ++camera) {
    cameras_[at(camera)].begin.store(0, std::memory_order_relaxed);
    cameras_[at(camera)].end.store(0, std::memory_order_relaxed);
  }
  turn_ = 0;
}

Expected<void> GroupState::save_model(int camera, const char* path) noexcept {
  OCELLUS_TRY(check_camera(camera));
  const int member = in_turn_ ? 0 : camera;
  const Expected<void> saved = members_[at(member)].handle->save_model(path);
  if (!saved) return failed(member, saved.error());
  return {};
}

}  // namespace detail

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
  return state_->info();
}
int OperatorGroup::engine_count() const noexcept {
  return state_->engine_count();
}
int OperatorGroup::camera_count() const noexcept {
  return state_->camera_count();
}
Engine& OperatorGroup::engine(int number) noexcept {
  return state_->engine(number);
}
const Engine& OperatorGroup::engine(int number) const noexcept {
  return state_->engine(number);
}
int OperatorGroup::frames_in_flight() const noexcept {
  return state_->frames_in_flight();
}
int OperatorGroup::next_engine(int camera) const noexcept {
  return state_->next_engine(camera);
}
Expected<void> OperatorGroup::submit(int camera, const Frame& in,
                                     const OperatorOutput& out) noexcept {
  return state_->submit(camera, in, out);
}
Expected<GroupResult> OperatorGroup::wait(int camera, Deadline deadline) noexcept {
  return state_->wait(camera, deadline);
}
void OperatorGroup::stop() noexcept {
  state_->stop();
}
void OperatorGroup::reset() noexcept {
  state_->reset();
}
Expected<void> OperatorGroup::save_model(int camera, const char* path) noexcept {
  return state_->save_model(camera, path);
}

}  // namespace ocellus
