// Buffer: memory for frames and results, of the kind that reaches the device fastest.
#pragma once

#include <cstddef>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// A piece of one of the engine's blocks, given back when the object goes. Frames and results in
/// kPinned memory are copied to and from a CUDA device without passing through staging; those in
/// kCuda memory are not copied at all.
class Buffer {
 public:
  /// What an engine needs for a buffer, besides the footprints of its operators.
  static Footprint footprint(MemorySpace space, std::size_t bytes) noexcept;

  /// Takes the memory; `bytes` at least 1.
  /// Errors: InvalidArgument, Unsupported (kPinned and kCuda on the CPU backend), OutOfMemory.
  static Expected<Buffer> create(Engine& engine, MemorySpace space, std::size_t bytes) noexcept;

  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Aligned to kMemoryAlignment at least. Memory of kind kCuda cannot be read by the host.
  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  MemorySpace space() const noexcept { return space_; }

  /// Copies bytes into or out of the buffer and waits until they are there: for filling a buffer
  /// and for looking at one, not for frames. Errors: InvalidArgument (beyond the end), DeviceLost,
  /// System.
  Expected<void> write(std::size_t offset, const void* from, std::size_t bytes) noexcept;
  Expected<void> read(std::size_t offset, void* to, std::size_t bytes) const noexcept;

 private:
  Buffer(detail::EngineState* engine, MemorySpace space, void* data, std::size_t size) noexcept;
  Expected<void> check(std::size_t offset, std::size_t bytes) const noexcept;
  void give_back() noexcept;

  detail::EngineState* engine_ = nullptr;  // a share of it
  MemorySpace space_ = MemorySpace::kHost;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ocellus

#pragma GCC visibility pop
