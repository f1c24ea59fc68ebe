#include "ocellus/frame_mailbox.h"

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "core/checks.h"
#include "core/failure.h"
#include "core/piece_map.h"
#include "core/priority_mutex.h"
#include "ocellus/buffer.h"

namespace ocellus {
namespace {

using Lock = std::lock_guard<detail::PriorityMutex>;

constexpr std::size_t kBuffers = 3;

std::size_t stride_of(ImageSize size, PixelFormat format) noexcept {
  return detail::align_up(static_cast<std::size_t>(row_bytes(format, size.width)),
                          kMemoryAlignment);
}

std::size_t bytes_of(ImageSize size, PixelFormat format) noexcept {
  return stride_of(size, format) * static_cast<std::size_t>(size.height);
}

}  // namespace

struct FrameMailbox::State {
  explicit State(Buffer memory) noexcept : buffer(std::move(memory)) {}

  Buffer buffer;
  std::array<ImageView, kBuffers> views{};
  std::array<Frame, kBuffers> frames{};  // what was published of each buffer
  std::size_t back = 0;                  // the camera's buffer
  std::size_t taken = 1;                 // that of the thread that computes
  // For both threads.
  detail::PriorityMutex mutex;
  detail::PriorityCondition news;
  std::size_t newest = 2;
  bool fresh = false;  // the newest frame was not taken
  bool closed = false;
  std::uint64_t replaced = 0;
};

Footprint FrameMailbox::footprint(ImageSize size, PixelFormat format, MemorySpace space) noexcept {
  return Buffer::footprint(space, kBuffers * bytes_of(size, format));
}

Expected<FrameMailbox> FrameMailbox::create(Engine& engine, ImageSize size, PixelFormat format,
                                            MemorySpace space) noexcept {
  OCELLUS_TRY(detail::check_geometry(size, format, {}, 1));
  if (space == MemorySpace::kCuda)
    return detail::invalid_argument(
        "a mailbox has host or pinned memory, which a camera can write");
  const std::size_t bytes = bytes_of(size, format);
  OCELLUS_TRY_ASSIGN(buffer, Buffer::create(engine, space, kBuffers * bytes));
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*buffer)));
  if (state == nullptr) return detail::failure(Status::kOutOfMemory, "no memory for a mailbox");
  auto* const memory = static_cast<char*>(state->buffer.data());
  const auto stride = static_cast<std::ptrdiff_t>(stride_of(size, format));
  for (std::size_t i = 0; i < kBuffers; ++i)
    state->views[i] = {memory + i * bytes, size, stride, format, space};
  return FrameMailbox(std::move(state));
}

FrameMailbox::FrameMailbox(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
FrameMailbox::FrameMailbox(FrameMailbox&&) noexcept = default;
FrameMailbox& FrameMailbox::operator=(FrameMailbox&&) noexcept = default;
FrameMailbox::~FrameMailbox() = default;

ImageView FrameMailbox::back() const noexcept {
  return state_->views[state_->back];
}

void FrameMailbox::publish(std::uint64_t sequence, std::int64_t timestamp_ns) noexcept {
  const ImageView& view = state_->views[state_->back];
  state_->frames[state_->back] = {.data = view.data,
                                  .size = view.size,
                                  .stride = view.stride,
                                  .format = view.format,
                                  .space = view.space,
                                  .sequence = sequence,
                                  .timestamp_ns = timestamp_ns};
  const Lock lock(state_->mutex);
  std::swap(state_->back, state_->newest);
  state_->replaced += state_->fresh ? 1 : 0;
  state_->fresh = true;
  state_->news.notify_all();
}

Expected<Frame> FrameMailbox::take(Deadline deadline) noexcept {
  const Lock lock(state_->mutex);
  while (!state_->fresh) {
    if (state_->closed) return detail::failure(Status::kStopped, "the camera has ended");
    if (deadline.passed())
      return detail::failure(Status::kDeadlineMissed, "no frame newer than the last one has come");
    state_->news.wait(state_->mutex, deadline);
  }
  state_->fresh = false;
  std::swap(state_->taken, state_->newest);
  return state_->frames[state_->taken];
}

void FrameMailbox::close() noexcept {
  const Lock lock(state_->mutex);
  state_->closed = true;
  state_->news.notify_all();
}

std::uint64_t FrameMailbox::replaced() const noexcept {
  const Lock lock(state_->mutex);
  return state_->replaced;
}

}  // namespace ocellus
