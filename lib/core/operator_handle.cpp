#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/checks.h"
#include "core/failure.h"
#include "core/operator_instance.h"
#include "core/scheduler.h"
#include "ocellus/latency_histogram.h"
#include "ocellus/operator.h"

namespace ocellus {
namespace {

using detail::Check;
using detail::check_plane;
using detail::failure;
using detail::format_name;
using detail::invalid_argument;

constexpr std::uint64_t kFree = 0;

/// Numbers the operators of the process, so that a ticket passed to the wrong operator is detected.
std::uint64_t next_issuer() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

const char* space_name(MemorySpace space) noexcept {
  switch (space) {
    case MemorySpace::kHost:
      return "host";
    case MemorySpace::kPinned:
      return "pinned";
    case MemorySpace::kCuda:
      return "cuda";
  }
  return "unknown";
}

tl::unexpected<Error> unknown(Ticket ticket) noexcept {
  return failure(Status::kInvalidTicket, "ticket %llu is not in flight",
                 static_cast<unsigned long long>(ticket.number));
}

tl::unexpected<Error> does_not_learn(const char* name) noexcept {
  return failure(Status::kUnsupported,
                 "%s does not learn, so there is nothing to save or to take over", name);
}

Check check_frame(const OperatorInfo& info, const Frame& in) noexcept {
  if (in.data == nullptr) return invalid_argument("frame.data is null");
  if (in.size != info.size) {
    return invalid_argument("frame.size is %dx%d; the operator was made for %dx%d", in.size.width,
                            in.size.height, info.size.width, info.size.height);
  }
  if (in.format != info.format) {
    return invalid_argument("frame.format is %s; the operator was made for %s",
                            format_name(in.format), format_name(info.format));
  }
  const std::ptrdiff_t least = row_bytes(info.format, info.size.width);
  if (in.stride < least && has_color(info.format)) {
    return invalid_argument("frame.stride is %td bytes; %d pixels of %s need at least %td",
                            in.stride, info.size.width, format_name(info.format), least);
  }
  if (in.stride < least)
    return invalid_argument("frame.stride is %td bytes; it must be at least %td", in.stride, least);
  // Pixels with color are read byte by byte.
  const std::ptrdiff_t pixel = has_color(info.format) ? 1 : bytes_per_pixel(info.format);
  if (reinterpret_cast<std::uintptr_t>(in.data) % static_cast<std::uintptr_t>(pixel) != 0 ||
      in.stride % pixel != 0) {
    return invalid_argument("frame.data and frame.stride must be multiples of a pixel's %td bytes",
                            pixel);
  }
  return {};
}

/// Checks the conditions that two output planes must meet together.
Check check_pair(const OperatorInfo& info, const OperatorOutput& out, std::size_t first,
                 std::size_t second) noexcept {
  const ImageView& a = out.planes[first];
  const ImageView& b = out.planes[second];
  const char* const a_name = info.planes[first].name;
  const char* const b_name = info.planes[second].name;
  if (a.data == b.data) {
    return invalid_argument("output planes %s and %s are the same; each needs memory of its own",
                            a_name, b_name);
  }
  if (a.space != b.space) {
    return invalid_argument(
        "output planes %s and %s are in %s and %s memory; all must be in memory of one kind",
        a_name, b_name, space_name(a.space), space_name(b.space));
  }
  if (a.space == MemorySpace::kCuda && a.stream != b.stream) {
    return invalid_argument("output planes %s and %s have different streams; all must have one",
                            a_name, b_name);
  }
  if (a.size == b.size && a.format == b.format && a.stride != b.stride) {
    return invalid_argument(
        "output planes %s and %s have strides of %td and %td bytes; planes of one size and format "
        "must have one stride",
        a_name, b_name, a.stride, b.stride);
  }
  return {};
}

Check check_output(const OperatorInfo& info, const OperatorOutput& out) noexcept {
  const auto count = static_cast<std::size_t>(info.plane_count);
  for (std::size_t p = 0; p < count; ++p) {
    if (out.planes[p].data == nullptr) {
      if (info.planes[p].optional) continue;
      return invalid_argument("output plane %s is null", info.planes[p].name);
    }
    OCELLUS_TRY(check_plane("output plane", info.planes[p], out.planes[p], info.format));
    for (std::size_t other = 0; other < p; ++other) {
      if (out.planes[other].data == nullptr) continue;
      OCELLUS_TRY(check_pair(info, out, other, p));
    }
  }
  for (std::size_t p = count; p < out.planes.size(); ++p) {
    if (out.planes[p].data != nullptr)
      return invalid_argument("output has a plane %zu; the operator has %d planes", p,
                              info.plane_count);
  }
  if (out.record != nullptr && info.record == nullptr)
    return invalid_argument("output.record is not null, but the operator has no record");
  return {};
}

/// A picture with color may replace its frame, because each pixel is read before it is written.
Check check_in_place(const Frame& in, const ImageView& picture, const char* name) noexcept {
  if (picture.data != in.data || !has_color(picture.format) || picture.stride == in.stride)
    return {};
  return invalid_argument(
      "output plane %s is the memory of the frame and has a stride of %td bytes; it must have that "
      "of the frame, %td bytes",
      name, picture.stride, in.stride);
}

}  // namespace

namespace detail {

/// The tickets, slots and instance of one operator. A slot holds one frame in flight.
class OperatorState {
 public:
  OperatorState(EngineRef on, const OperatorInfo& described) noexcept
      : engine(std::move(on)), info(described), issuer(next_issuer()) {}
  ~OperatorState();

  /// Called once, before the first frame.
  Expected<void> start(std::unique_ptr<OperatorInstance> made) noexcept;

  Expected<void> copy_learned(OperatorInstance& from, std::uint64_t bytes) noexcept;
  /// Errors: Unsupported, in a child process that fork() made; System, after a copy that failed.
  Check check_usable() const noexcept;

  struct Slot {
    /// Number of the ticket in flight, or kFree. Atomic, because `wait` may run at the same time as
    /// `submit`.
    std::atomic<std::uint64_t> ticket{kFree};
    std::uint64_t sequence = 0;
    std::int64_t timestamp_ns = 0;
    std::int64_t submitted_ns = 0;
    bool late = false;  ///< it counts in missed_deadlines
  };

  /// Returns the slot that holds this ticket (or kFree), or -1. The search starts at slot `first`.
  int slot_with(std::uint64_t ticket, std::uint64_t first = 0) const noexcept;
  /// The slot of a frame in flight. Errors: InvalidTicket, Unsupported (after fork()).
  Expected<int> slot_of(Ticket ticket) const noexcept;
  Check check_spaces(const Frame& in, const OperatorOutput& out) const noexcept;

  EngineRef engine;
  OperatorInfo info;
  std::unique_ptr<ClassName[]> class_names;
  std::unique_ptr<OperatorInstance> instance;
  const std::uint64_t issuer;  // issuer of this operator's tickets
  /// A copy that failed has replaced a part of what was learned.
  bool half_learned = false;
  std::uint64_t submitted = 0;
  std::array<Slot, kMaxDepth> slots;

  std::uint64_t bad_frames = 0;
  std::uint64_t missed_deadlines = 0;
  std::uint64_t canceled_frames = 0;
  LatencyHistogram latency;
};

OperatorState::~OperatorState() {
  if (instance == nullptr) return;
  if (engine->is_child()) {
    engine->abandon();  // no thread computes the frames that were in flight
  } else {
    instance->stop();
    for (int slot = 0; slot < info.depth; ++slot) instance->cancel(slot);
  }
}

Expected<void> OperatorState::start(std::unique_ptr<OperatorInstance> made) noexcept {
  made->set_priority(info.priority);
  OCELLUS_TRY(made->start(*engine));
  instance = std::move(made);
  return {};
}

Check OperatorState::check_spaces(const Frame& in, const OperatorOutput& out) const noexcept {
  const MemorySpace out_space = out.planes[0].space;
  if (engine->info().backend == BackendKind::kCpu &&
      (in.space == MemorySpace::kCuda || out_space == MemorySpace::kCuda)) {
    return invalid_argument(
        "frame is in %s and output in %s memory; the backend cpu reads and writes host memory",
        space_name(in.space), space_name(out_space));
  }
  return {};
}

int OperatorState::slot_with(std::uint64_t ticket, std::uint64_t first) const noexcept {
  const auto depth = static_cast<std::uint64_t>(info.depth);
  for (std::uint64_t i = 0; i < depth; ++i) {
    const std::uint64_t slot = (first + i) % depth;
    if (slots[slot].ticket.load(std::memory_order_acquire) == ticket) return static_cast<int>(slot);
  }
  return -1;
}

Check OperatorState::check_usable() const noexcept {
  OCELLUS_TRY(engine->check_process());
  if (!half_learned) [[likely]]
    return {};
  return failure(
      Status::kSystem,
      "take_learned of %s failed and left a part of what each of the two operators has learned; "
      "call it again, or create the operator again",
      info.name);
}

Expected<int> OperatorState::slot_of(Ticket ticket) const noexcept {
  OCELLUS_TRY(engine->check_process());
  if (ticket.number == kFree) {
    return failure(Status::kInvalidTicket, "ticket 0 was not given out; submit counts from 1");
  }
  if (ticket.issuer != issuer) {
    return failure(Status::kInvalidTicket,
                   "ticket %llu is of another operator; %s did not give it out",
                   static_cast<unsigned long long>(ticket.number), info.name);
  }
  const int index = slot_with(ticket.number);
  if (index < 0) return unknown(ticket);
  return index;
}

Check OperatorState::copy_learned(OperatorInstance& from, std::uint64_t all) noexcept {
  alignas(8) char piece[32768];
  for (std::uint64_t at = 0; at < all; at += sizeof(piece)) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(piece), all - at));
    OCELLUS_TRY(from.read_learned(piece, at, bytes));
    half_learned = true;
    OCELLUS_TRY(instance->write_learned(piece, at, bytes));
  }
  half_learned = false;
  return {};
}

Expected<Footprint> footprint_of(const std::unique_ptr<OperatorInstance>& instance) noexcept {
  if (instance == nullptr) return no_memory_for_operator();
  return instance->footprint();
}

struct OperatorAccess {
  static OperatorHandle handle(std::unique_ptr<OperatorState> state) noexcept {
    return OperatorHandle(std::move(state));
  }
};

Expected<OperatorHandle> make_operator(Engine& engine, const OperatorInfo& info,
                                       std::unique_ptr<OperatorInstance> instance) noexcept {
  if (instance == nullptr) return no_memory_for_operator();
  if (info.priority > OperatorPriority::kHigh) {
    return invalid_argument("priority is %d; it must be kLow, kNormal or kHigh",
                            static_cast<int>(info.priority));
  }
  EngineRef shared = EngineAccess::share(engine);
  OCELLUS_TRY(shared->check_process());
  std::unique_ptr<OperatorState> state(new (std::nothrow) OperatorState(std::move(shared), info));
  if (!state) return no_memory_for_operator();
  if (info.class_names != nullptr) {
    const auto count = static_cast<std::size_t>(info.classes);
    state->class_names.reset(new (std::nothrow) ClassName[count]);
    if (state->class_names == nullptr) return no_memory_for_operator();
    std::memcpy(state->class_names.get(), info.class_names, count * sizeof(ClassName));
    state->info.class_names = state->class_names.get();
  }
  OCELLUS_TRY(state->start(std::move(instance)));
  return OperatorAccess::handle(std::move(state));
}

}  // namespace detail

OperatorHandle::OperatorHandle(std::unique_ptr<detail::OperatorState> state) noexcept
    : state_(std::move(state)) {}
OperatorHandle::OperatorHandle(OperatorHandle&&) noexcept = default;
OperatorHandle& OperatorHandle::operator=(OperatorHandle&&) noexcept = default;
OperatorHandle::~OperatorHandle() = default;

const OperatorInfo& OperatorHandle::info() const noexcept {
  return state_->info;
}

Expected<Ticket> OperatorHandle::submit(const Frame& in, const OperatorOutput& out) noexcept {
  OCELLUS_TRY(state_->check_usable());
  if (state_->instance->is_stopped()) [[unlikely]] {
    return failure(Status::kStopped, "%s was stopped; call reset before the next frame",
                   state_->info.name);
  }
  OCELLUS_TRY(check_frame(state_->info, in));
  OCELLUS_TRY(state_->check_spaces(in, out));
  OCELLUS_TRY(check_output(state_->info, out));
  OCELLUS_TRY(check_in_place(in, out.planes[0], state_->info.planes[0].name));
  const std::uint64_t number = state_->submitted + 1;
  // Slots are taken in turn. A caller that cycles through `depth` buffers thus always uses the same
  // buffer with the same slot, and the slot keeps what it prepared for this buffer.
  const int index = state_->slot_with(kFree, state_->submitted);
  if (index < 0) {
    return failure(Status::kQueueFull,
                   "%d frames are in flight, which is the depth; wait for one of them first",
                   state_->info.depth);
  }
  detail::OperatorState::Slot& slot = state_->slots[static_cast<std::size_t>(index)];
  slot.sequence = in.sequence;
  slot.timestamp_ns = in.timestamp_ns;
  slot.submitted_ns = detail::now_ns();
  slot.late = false;
  slot.ticket.store(number, std::memory_order_release);
  if (Expected<void> begun = state_->instance->submit(index, in, out); !begun) {
    slot.ticket.store(kFree, std::memory_order_release);
    return tl::unexpected(begun.error());
  }
  state_->submitted = number;
  return Ticket{number, state_->issuer};
}

Expected<FrameInfo> OperatorHandle::wait(Ticket ticket, Deadline deadline) noexcept {
  OCELLUS_TRY_ASSIGN(found, state_->slot_of(ticket));
  const int index = *found;
  detail::OperatorState::Slot& slot = state_->slots[static_cast<std::size_t>(index)];
  FrameInfo info;
  const Expected<void> done = state_->instance->wait(index, deadline, info);
  if (!done) {
    const Status status = done.error().status;
    if (status == Status::kInvalidTicket) return unknown(ticket);
    if (status == Status::kStopped) {
      slot.ticket.store(kFree, std::memory_order_release);
      return failure(status, "%s was stopped before ticket %llu was done; the frame has no result",
                     state_->info.name, static_cast<unsigned long long>(ticket.number));
    }
    if (status != Status::kDeadlineMissed) return tl::unexpected(done.error());
    if (deadline.time() >
            Deadline::Clock::time_point(std::chrono::nanoseconds(slot.submitted_ns)) &&
        !std::exchange(slot.late, true))
      ++state_->missed_deadlines;
    return failure(status, "ticket %llu is not done; the frame still belongs to the operator",
                   static_cast<unsigned long long>(ticket.number));
  }
  info.sequence = slot.sequence;
  info.timestamp_ns = slot.timestamp_ns;
  info.delay_frames = state_->info.delay_frames;
  if (info.bad_pixels()) ++state_->bad_frames;
  state_->latency.record(detail::now_ns() - slot.submitted_ns);
  slot.ticket.store(kFree, std::memory_order_release);
  return info;
}

Expected<CancelOutcome> OperatorHandle::cancel(Ticket ticket) noexcept {
  OCELLUS_TRY_ASSIGN(found, state_->slot_of(ticket));
  Expected<CancelOutcome> outcome = state_->instance->try_cancel(*found);
  if (outcome && *outcome == CancelOutcome::kCanceled) {
    ++state_->canceled_frames;
    state_->slots[static_cast<std::size_t>(*found)].ticket.store(kFree, std::memory_order_release);
  }
  return outcome;
}

Expected<int> OperatorHandle::create_event_fd() noexcept {
  OCELLUS_TRY(state_->engine->check_process());
  return state_->instance->create_event_fd();
}

Expected<std::size_t> wait_any(std::span<OperatorHandle* const> operators, Deadline deadline,
                               std::size_t last) noexcept {
  const std::size_t count = operators.size();
  if (count == 0 || count > kMostToWaitFor) {
    return invalid_argument("there are %zu operators; there must be 1 to %zu", count,
                            kMostToWaitFor);
  }
  std::array<pollfd, kMostToWaitFor> events{};
  for (std::size_t i = 0; i < count; ++i) {
    OCELLUS_TRY_ASSIGN(fd, operators[i]->create_event_fd());
    events[i] = {*fd, POLLIN, 0};
  }
  for (;;) {
    timespec left{};
    if (!deadline.is_never()) {
      const std::int64_t ns = std::max<std::int64_t>(
          0, deadline.passed() ? 0 : (deadline.time() - Deadline::Clock::now()).count());
      left = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    }
    const int ready = ppoll(events.data(), count, deadline.is_never() ? nullptr : &left, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return failure(Status::kSystem, "ppoll: %s", strerror(errno));
    if (ready == 0) {
      return failure(Status::kDeadlineMissed, "no frame of %zu operators is done", count);
    }
    for (std::size_t i = 1; i <= count; ++i) {
      const std::size_t at = (last + i) % count;
      if (events[at].revents != 0) return at;
    }
  }
}

void OperatorHandle::stop() noexcept {
  if (state_->engine->is_child()) return;
  state_->instance->stop();
}

void OperatorHandle::reset() noexcept {
  if (state_->engine->is_child()) return;
  state_->instance->stop();
  // Drop the newest frame first, so that dropping one does not start the next.
  for (;;) {
    detail::OperatorState::Slot* newest = &state_->slots[0];
    for (detail::OperatorState::Slot& slot : state_->slots)
      if (slot.ticket.load(std::memory_order_acquire) >
          newest->ticket.load(std::memory_order_acquire))
        newest = &slot;
    if (newest->ticket.load(std::memory_order_acquire) == kFree) break;
    state_->instance->cancel(static_cast<int>(newest - state_->slots.data()));
    newest->ticket.store(kFree, std::memory_order_release);
  }
  state_->instance->reset();
}

Expected<void> OperatorHandle::save_model(const char* path) noexcept {
  OCELLUS_TRY(state_->check_usable());
  if (state_->instance->learned().bytes == 0) return does_not_learn(state_->info.name);
  OCELLUS_TRY(state_->instance->finish_frames());
  return state_->instance->save_learned(path);
}

Expected<void> OperatorHandle::take_learned(OperatorHandle& from) noexcept {
  OCELLUS_TRY(state_->engine->check_process());
  OCELLUS_TRY(from.state_->check_usable());
  const detail::OperatorInstance::Learned own = state_->instance->learned();
  const detail::OperatorInstance::Learned other = from.state_->instance->learned();
  if (own.bytes == 0) return does_not_learn(state_->info.name);
  if (other.bytes == 0) return does_not_learn(from.state_->info.name);
  if (own.bytes != other.bytes || own.arrangement != other.arrangement) {
    return invalid_argument(
        "%s cannot take over what another operator has learned: their models have different shapes",
        state_->info.name);
  }
  OCELLUS_TRY(from.state_->instance->finish_frames());
  OCELLUS_TRY(state_->instance->finish_frames());
  return state_->copy_learned(*from.state_->instance, own.bytes);
}

OperatorStats OperatorHandle::stats() const noexcept {
  OperatorStats stats;
  stats.frames = state_->latency.count();
  stats.bad_frames = state_->bad_frames;
  stats.missed_deadlines = state_->missed_deadlines;
  stats.p50_ns = state_->latency.percentile_ns(50.0);
  stats.p99_ns = state_->latency.percentile_ns(99.0);
  stats.max_ns = state_->latency.max_ns();
  stats.canceled_frames = state_->canceled_frames;
  stats.overflow = state_->latency.overflow();
  return stats;
}

}  // namespace ocellus
