#include "core/operator_handle.h"

#include <cstdint>
#include <utility>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

/// Counts operators, so that a ticket given to the wrong one is known for what it is.
std::uint64_t next_issuer() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

const char* format_name(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return "kGray8";
    case PixelFormat::kGray16:
      return "kGray16";
    case PixelFormat::kFloat32:
      return "kFloat32";
  }
  return "unknown";
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

}  // namespace

OperatorHandle::OperatorHandle(EngineRef engine, const OperatorShape& shape) noexcept
    : engine_(std::move(engine)), shape_(shape), issuer_(next_issuer()) {}

OperatorHandle::~OperatorHandle() {
  if (instance_ == nullptr) return;
  if (engine_->is_child()) {
    engine_->abandon();  // nobody computes the frames that were in flight
  } else {
    for (int slot = 0; slot < shape_.depth; ++slot) calls_->cancel(instance_, slot);
  }
  calls_->destroy(instance_);
}

void OperatorHandle::adopt(const OperatorCalls& calls, void* instance) noexcept {
  calls_ = &calls;
  instance_ = instance;
}

Expected<void> OperatorHandle::check_frame(const Frame& in) const noexcept {
  if (in.data == nullptr) return invalid_argument("frame.data is null");
  if (in.size != shape_.size) {
    return invalid_argument("frame.size is %dx%d; the operator was made for %dx%d", in.size.width,
                            in.size.height, shape_.size.width, shape_.size.height);
  }
  if (in.format != shape_.format) {
    return invalid_argument("frame.format is %s; the operator was made for %s",
                            format_name(in.format), format_name(shape_.format));
  }
  const std::ptrdiff_t least =
      static_cast<std::ptrdiff_t>(shape_.size.width) * bytes_per_pixel(shape_.format);
  if (in.stride < least)
    return invalid_argument("frame.stride is %td bytes; it must be at least %td", in.stride, least);
  const auto address = reinterpret_cast<std::uintptr_t>(in.data);
  const auto pixel = static_cast<std::uintptr_t>(bytes_per_pixel(shape_.format));
  if (address % pixel != 0 || static_cast<std::uintptr_t>(in.stride) % pixel != 0) {
    return invalid_argument("frame.data and frame.stride must be multiples of a pixel's %d bytes",
                            bytes_per_pixel(shape_.format));
  }
  return {};
}

Expected<void> OperatorHandle::check_spaces(const Frame& in,
                                            const OutputPlanes& out) const noexcept {
  if (!calls_->device_memory &&
      (in.space == MemorySpace::kCuda || out.space == MemorySpace::kCuda)) {
    return invalid_argument(
        "frame is in %s and output in %s memory; the backend %s reads and writes host memory",
        space_name(in.space), space_name(out.space), calls_->name);
  }
  return {};
}

Expected<void> OperatorHandle::check_output(const OutputPlanes& out) const noexcept {
  if (out.size != shape_.out_size) {
    return invalid_argument("output size is %dx%d; it must be that of %s, %dx%d", out.size.width,
                            out.size.height, shape_.out_size_of, shape_.out_size.width,
                            shape_.out_size.height);
  }
  if (out.count != shape_.planes) {
    return invalid_argument("output has %d planes; the operator gives %d", out.count,
                            shape_.planes);
  }
  if (out.element_bytes != shape_.element_bytes) {
    return invalid_argument("output elements have %d bytes; they must have the %d bytes of %s",
                            out.element_bytes, shape_.element_bytes, shape_.element_name);
  }
  const std::ptrdiff_t element = shape_.element_bytes;
  const std::ptrdiff_t least = shape_.out_size.width * element;
  if (element == 1 && out.stride < least)
    return invalid_argument("output stride is %td bytes; it must be at least %td", out.stride,
                            least);
  if (out.stride < least || out.stride % element != 0) {
    return invalid_argument(
        "output stride is %td bytes; it must be a multiple of %td and at least %td", out.stride,
        element, least);
  }
  for (int p = 0; p < shape_.planes; ++p) {
    const void* plane = out.planes[static_cast<std::size_t>(p)];
    if (plane == nullptr) {
      if (shape_.is_optional(p)) continue;
      return invalid_argument("output plane %d is null", p);
    }
    if (reinterpret_cast<std::uintptr_t>(plane) % static_cast<std::uintptr_t>(element) != 0) {
      return invalid_argument("output plane %d is at %p; it must be aligned to the %td bytes of %s",
                              p, plane, element, shape_.element_name);
    }
    for (int other = 0; other < p; ++other) {
      if (plane == out.planes[static_cast<std::size_t>(other)]) {
        return invalid_argument(
            "output planes %d and %d are the same; each needs memory of its own", other, p);
      }
    }
  }
  return {};
}

int OperatorHandle::slot_with(std::uint64_t ticket, std::uint64_t first) const noexcept {
  const auto depth = static_cast<std::uint64_t>(shape_.depth);
  for (std::uint64_t i = 0; i < depth; ++i) {
    const std::uint64_t slot = (first + i) % depth;
    if (slots_[slot].ticket.load(std::memory_order_acquire) == ticket)
      return static_cast<int>(slot);
  }
  return -1;
}

Expected<Ticket> OperatorHandle::submit(const Frame& in, const OutputPlanes& out) noexcept {
  if (Expected<void> here = engine_->check_process(); !here) return tl::unexpected(here.error());
  if (Expected<void> good = check_frame(in); !good) return tl::unexpected(good.error());
  if (Expected<void> good = check_spaces(in, out); !good) return tl::unexpected(good.error());
  if (Expected<void> good = check_output(out); !good) return tl::unexpected(good.error());
  const std::uint64_t number = submitted_ + 1;
  // In turn: a caller that goes round `depth` buffers then meets a slot that knows its buffer.
  const int index = slot_with(kFree, submitted_);
  if (index < 0) {
    return tl::unexpected(make_error(
        Status::kQueueFull,
        "%d frames are in flight, which is the depth; wait for one of them first", shape_.depth));
  }
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.sequence = in.sequence;
  slot.timestamp_ns = in.timestamp_ns;
  slot.ticket.store(number, std::memory_order_release);
  if (Expected<void> begun = calls_->submit(instance_, index, in, out); !begun) {
    slot.ticket.store(kFree, std::memory_order_release);
    return tl::unexpected(begun.error());
  }
  submitted_ = number;
  return Ticket{number, issuer_};
}

Expected<FrameInfo> OperatorHandle::wait(Ticket ticket, Deadline deadline,
                                         ExtraWords* extra) noexcept {
  const auto unknown = [&] {
    return tl::unexpected(make_error(Status::kInvalidTicket, "ticket %llu is not in flight",
                                     static_cast<unsigned long long>(ticket.number)));
  };
  if (Expected<void> here = engine_->check_process(); !here) return tl::unexpected(here.error());
  if (ticket.number == kFree || ticket.issuer != issuer_) return unknown();
  const int index = slot_with(ticket.number);
  if (index < 0) return unknown();
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  FrameResult result;
  const Expected<void> done = calls_->wait(instance_, index, deadline, result);
  if (!done) {
    const Status status = done.error().status;
    if (status == Status::kInvalidTicket) return unknown();
    if (status != Status::kDeadlineMissed) return tl::unexpected(done.error());
    return tl::unexpected(
        make_error(status, "ticket %llu is not done; the frame still belongs to the operator",
                   static_cast<unsigned long long>(ticket.number)));
  }
  FrameInfo info;
  info.sequence = slot.sequence;
  info.timestamp_ns = slot.timestamp_ns;
  info.described_sequence = result.described_sequence;
  info.described_timestamp_ns = result.described_timestamp_ns;
  info.delay_frames = shape_.delay_frames;
  info.flags = result.flags;
  info.queue_ns = result.queue_ns;
  info.copy_ns = result.copy_ns;
  info.compute_ns = result.compute_ns;
  if (extra != nullptr) *extra = result.extra;
  slot.ticket.store(kFree, std::memory_order_release);
  return info;
}

void OperatorHandle::reset() noexcept {
  if (engine_->is_child()) return;
  // Newest first, so that dropping one does not start the next.
  for (;;) {
    Slot* newest = &slots_[0];
    for (Slot& slot : slots_)
      if (slot.ticket.load(std::memory_order_acquire) >
          newest->ticket.load(std::memory_order_acquire))
        newest = &slot;
    if (newest->ticket.load(std::memory_order_acquire) == kFree) break;
    calls_->cancel(instance_, static_cast<int>(newest - slots_.data()));
    newest->ticket.store(kFree, std::memory_order_release);
  }
  calls_->reset(instance_);
}

}  // namespace ocellus::detail
