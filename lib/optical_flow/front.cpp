#include "optical_flow/front.h"

#include <cstdint>
#include <cstdlib>

#include "core/backend.h"
#include "core/failure.h"

namespace ocellus::detail {
namespace {

Expected<const OpticalFlowBackend*> find_flow_backend(const EngineInfo& engine) noexcept {
  const Backend* backend = find_backend(engine.backend);
  if (backend == nullptr || backend->optical_flow == nullptr) {
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "optical flow is not built for the backend %s",
                                     backend_name(engine.backend)));
  }
  return backend->optical_flow;
}

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

Expected<Footprint> FlowFront::footprint(const EngineInfo& engine,
                                         const OpticalFlowPlan& plan) noexcept {
  const auto backend = find_flow_backend(engine);
  if (!backend) return tl::unexpected(backend.error());
  return (*backend)->footprint(engine, plan);
}

FlowFront::FlowFront(EngineRef engine, const OpticalFlowPlan& plan) noexcept
    : engine_(std::move(engine)), plan_(plan), issuer_(next_issuer()) {}

FlowFront::~FlowFront() {
  if (instance_ == nullptr) return;
  for (int slot = 0; slot < plan_.depth; ++slot) backend_->cancel(instance_, slot);
  backend_->destroy(instance_);
}

Expected<void> FlowFront::create(const KernelConfig& kernels) noexcept {
  const auto backend = find_flow_backend(engine_->info());
  if (!backend) return tl::unexpected(backend.error());
  backend_ = *backend;
  const Expected<void*> instance = backend_->create(*engine_, plan_, kernels);
  if (!instance) return tl::unexpected(instance.error());
  instance_ = *instance;
  return {};
}

Expected<void> FlowFront::adopt(void* instance) noexcept {
  const auto backend = find_flow_backend(engine_->info());
  if (!backend) return tl::unexpected(backend.error());
  backend_ = *backend;
  instance_ = instance;
  return {};
}

Expected<Ticket> FlowFront::submit(const Frame& in, const FlowOutput& out,
                                   ImageSize out_size) noexcept {
  if (in.data == nullptr) return invalid_argument("frame.data is null");
  if (in.size != plan_.size) {
    return invalid_argument("frame.size is %dx%d; the operator was made for %dx%d", in.size.width,
                            in.size.height, plan_.size.width, plan_.size.height);
  }
  if (in.format != plan_.format) {
    return invalid_argument("frame.format is %s; the operator was made for %s",
                            format_name(in.format), format_name(plan_.format));
  }
  const std::ptrdiff_t least =
      static_cast<std::ptrdiff_t>(plan_.size.width) * bytes_per_pixel(plan_.format);
  if (in.stride < least)
    return invalid_argument("frame.stride is %td bytes; it must be at least %td", in.stride, least);
  const auto address = reinterpret_cast<std::uintptr_t>(in.data);
  const auto pixel = static_cast<std::uintptr_t>(bytes_per_pixel(plan_.format));
  if (address % pixel != 0 || static_cast<std::uintptr_t>(in.stride) % pixel != 0) {
    return invalid_argument("frame.data and frame.stride must be multiples of a pixel's %d bytes",
                            bytes_per_pixel(plan_.format));
  }
  if (!backend_->device_memory &&
      (in.space == MemorySpace::kCuda || out.space == MemorySpace::kCuda)) {
    return invalid_argument(
        "frame is in %s and output in %s memory; the backend %s reads and writes host memory",
        space_name(in.space), space_name(out.space), backend_->name);
  }
  if (out_size.width != plan_.roi.width || out_size.height != plan_.roi.height) {
    return invalid_argument(
        "output size is %dx%d; it must be that of the region of interest, %dx%d", out_size.width,
        out_size.height, plan_.roi.width, plan_.roi.height);
  }
  const std::ptrdiff_t least_out =
      static_cast<std::ptrdiff_t>(plan_.roi.width) * static_cast<std::ptrdiff_t>(sizeof(float));
  if (out.stride < least_out || out.stride % static_cast<std::ptrdiff_t>(sizeof(float)) != 0) {
    return invalid_argument(
        "output stride is %td bytes; it must be a multiple of 4 and at least %td", out.stride,
        least_out);
  }
  const int planes = plan_.filter_only ? plan_.convolutions : 3;
  for (int p = 0; p < planes; ++p) {
    const float* plane = out.planes[static_cast<std::size_t>(p)];
    if (reinterpret_cast<std::uintptr_t>(plane) % alignof(float) != 0) {
      return invalid_argument(
          "output plane %d is at %p; it must be aligned to the 4 bytes of a float", p,
          static_cast<const void*>(plane));
    }
    for (int other = 0; plane != nullptr && other < p; ++other) {
      if (plane == out.planes[static_cast<std::size_t>(other)]) {
        return invalid_argument(
            "output planes %d and %d are the same; each needs memory of its own", other, p);
      }
    }
  }
  const std::uint64_t number = submitted_ + 1;
  Slot& slot = slots_[static_cast<std::size_t>(slot_of(number))];
  if (slot.ticket.load(std::memory_order_acquire) != 0) {
    return tl::unexpected(make_error(
        Status::kQueueFull,
        "%d frames are in flight, which is the depth; wait for the oldest first", plan_.depth));
  }
  slot.sequence = in.sequence;
  slot.timestamp_ns = in.timestamp_ns;
  slot.ticket.store(number, std::memory_order_release);
  if (Expected<void> begun = backend_->submit(instance_, slot_of(number), in, out); !begun) {
    slot.ticket.store(0, std::memory_order_release);
    return tl::unexpected(begun.error());
  }
  submitted_ = number;
  return Ticket{number, issuer_};
}

Expected<FrameInfo> FlowFront::wait(Ticket ticket, Deadline deadline) noexcept {
  const auto unknown = [&] {
    return tl::unexpected(make_error(Status::kInvalidTicket, "ticket %llu is not in flight",
                                     static_cast<unsigned long long>(ticket.number)));
  };
  if (ticket.number == 0 || ticket.issuer != issuer_) return unknown();
  Slot& slot = slots_[static_cast<std::size_t>(slot_of(ticket.number))];
  if (slot.ticket.load(std::memory_order_acquire) != ticket.number) return unknown();
  FrameResult result;
  const Expected<void> done = backend_->wait(instance_, slot_of(ticket.number), deadline, result);
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
  info.delay_frames = plan_.delay_frames;
  info.flags = result.flags;
  info.queue_ns = result.queue_ns;
  info.copy_ns = result.copy_ns;
  info.compute_ns = result.compute_ns;
  slot.ticket.store(0, std::memory_order_release);
  return info;
}

void FlowFront::reset() noexcept {
  // Newest first, so that dropping one does not start the next.
  const auto depth = static_cast<std::uint64_t>(plan_.depth);
  const std::uint64_t oldest = submitted_ > depth ? submitted_ - depth : 0;
  for (std::uint64_t number = submitted_; number > oldest; --number) {
    const int index = slot_of(number);
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    if (slot.ticket.load(std::memory_order_acquire) == 0) continue;
    backend_->cancel(instance_, index);
    slot.ticket.store(0, std::memory_order_release);
  }
  backend_->reset(instance_);
}

}  // namespace ocellus::detail
