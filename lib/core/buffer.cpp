#include "ocellus/buffer.h"

#include <cstring>
#include <utility>

#include "core/engine_state.h"
#include "core/failure.h"

namespace ocellus {
namespace {

// Size in bytes to which pieces of pinned and device memory are rounded up.
constexpr std::size_t kDevicePiece = 256;

}  // namespace

Footprint Buffer::footprint(MemorySpace space, std::size_t bytes) noexcept {
  const bool host = space == MemorySpace::kHost;
  const std::size_t piece = detail::align_up(bytes, host ? kMemoryAlignment : kDevicePiece);
  if (host) return {.host = piece};
  return space == MemorySpace::kPinned ? Footprint{.pinned = piece} : Footprint{.device = piece};
}

Expected<Buffer> Buffer::create(Engine& engine, MemorySpace space, std::size_t bytes) noexcept {
  if (bytes == 0) return detail::invalid_argument("bytes is 0; a buffer has at least 1");
  detail::EngineState& state = detail::EngineAccess::state(engine);
  OCELLUS_TRY(state.check_process());
  if (space != MemorySpace::kHost && state.device() == nullptr) {
    return detail::failure(Status::kUnsupported,
                           "%s memory was asked for, but the backend is cpu, which has "
                           "host memory only",
                           space == MemorySpace::kCuda ? "cuda" : "pinned");
  }
  OCELLUS_TRY_ASSIGN(data, state.take(space, bytes));
  return Buffer(detail::EngineAccess::share(engine).release(), space, *data, bytes);
}

Buffer::Buffer(detail::EngineState* engine, MemorySpace space, void* data,
               std::size_t size) noexcept
    : engine_(engine), space_(space), data_(data), size_(size) {}

Buffer::Buffer(Buffer&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)),
      space_(other.space_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  engine_ = std::exchange(other.engine_, nullptr);
  space_ = other.space_;
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Buffer::~Buffer() {
  give_back();
}

void Buffer::give_back() noexcept {
  if (data_ == nullptr) return;
  const detail::EngineRef share = detail::EngineRef::adopt(std::exchange(engine_, nullptr));
  if (share->is_child()) share->abandon();
  share->give_back(space_, data_);
  data_ = nullptr;
}

Expected<void> Buffer::check(std::size_t offset, std::size_t bytes) const noexcept {
  if (offset > size_ || bytes > size_ - offset)
    return detail::invalid_argument("%zu bytes at offset %zu exceed the buffer of %zu bytes", bytes,
                                    offset, size_);
  return engine_ != nullptr ? engine_->check_process() : Expected<void>();
}

Expected<void> Buffer::write(std::size_t offset, const void* from, std::size_t bytes) noexcept {
  OCELLUS_TRY(check(offset, bytes));
  char* const to = static_cast<char*>(data_) + offset;
  if (space_ == MemorySpace::kCuda) return engine_->device()->write(to, from, bytes);
  std::memcpy(to, from, bytes);
  return {};
}

Expected<void> Buffer::read(std::size_t offset, void* to, std::size_t bytes) const noexcept {
  OCELLUS_TRY(check(offset, bytes));
  const char* const from = static_cast<const char*>(data_) + offset;
  if (space_ == MemorySpace::kCuda) return engine_->device()->read(to, from, bytes);
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace ocellus
