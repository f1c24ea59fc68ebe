// Buffer: ordinary, pinned or device memory of an engine, for frames and results.
#pragma once

#include <cstddef>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// A piece of one of the engine's memory blocks. The destructor gives it back. Frames and results
/// in kPinned memory are copied to and from a CUDA device without an intermediate copy. Those in
/// kCuda memory are not copied at all.
class Buffer {
 public:
  /// The memory that an engine needs for one buffer of `bytes` bytes, in addition to the footprints
  /// of its operators.
  static Footprint footprint(MemorySpace space, std::size_t bytes) noexcept;

  /// Takes the memory from the engine's block. `bytes` must be at least 1. Errors: InvalidArgument,
  /// Unsupported (kPinned and kCuda on the CPU backend), OutOfMemory.
  static Expected<Buffer> create(Engine& engine, MemorySpace space, std::size_t bytes) noexcept;

  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// The start of the memory, aligned to at least kMemoryAlignment. The host cannot read memory of
  /// kind kCuda.
  void* data() const noexcept { return data_; }
  /// Size in bytes.
  std::size_t size() const noexcept { return size_; }
  MemorySpace space() const noexcept { return space_; }

  /// Copies bytes into or out of the buffer and waits until the copy is done. Meant for filling or
  /// inspecting a buffer, not for use in every frame. Errors: InvalidArgument (the range ends
  /// beyond the buffer), DeviceLost, System.
  Expected<void> write(std::size_t offset, const void* from, std::size_t bytes) noexcept;
  Expected<void> read(std::size_t offset, void* to, std::size_t bytes) const noexcept;

 private:
  Buffer(detail::EngineState* engine, MemorySpace space, void* data, std::size_t size) noexcept;
  Expected<void> check(std::size_t offset, std::size_t bytes) const noexcept;
  void give_back() noexcept;

  detail::EngineState* engine_ = nullptr;  // counted reference
  MemorySpace space_ = MemorySpace::kHost;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ocellus

#pragma GCC visibility pop
