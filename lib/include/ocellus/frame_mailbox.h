// FrameMailbox: hands the newest frame of a camera from one thread to another.
#pragma once

#include <cstdint>
#include <memory>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Three buffers of an engine's memory. The camera's thread writes one and publishes it. The thread
/// that computes has another one, the frame that it took last. The third has the newest frame that
/// was published and not taken; a newer one replaces it. So the camera never waits, and the thread
/// that computes never works on an old frame because newer ones are behind it.
///
/// One thread calls `back` and `publish`, and one calls `take`. `close` and `replaced` are for any
/// thread. A movable handle; a moved-from object can only be destroyed or assigned to.
class FrameMailbox {
 public:
  /// The memory that an engine needs for a mailbox, in addition to the footprints of its operators.
  static Footprint footprint(ImageSize size, PixelFormat format = PixelFormat::kGray8,
                             MemorySpace space = MemorySpace::kHost) noexcept;

  /// Takes the memory from the engine's block. Errors: InvalidArgument (size: each side is 1 to
  /// kMaxImageSide; format; kCuda, which a camera's thread cannot write), Unsupported (kPinned on
  /// the CPU backend), OutOfMemory.
  static Expected<FrameMailbox> create(Engine& engine, ImageSize size,
                                       PixelFormat format = PixelFormat::kGray8,
                                       MemorySpace space = MemorySpace::kHost) noexcept;

  FrameMailbox(FrameMailbox&&) noexcept;
  FrameMailbox& operator=(FrameMailbox&&) noexcept;
  ~FrameMailbox();

  /// The buffer for the camera's next frame. Its rows are kMemoryAlignment bytes apart or a
  /// multiple of it. It is the camera's until `publish`.
  ImageView back() const noexcept;

  /// Makes `back` the newest frame. `sequence` and `timestamp_ns` are those of the frame.
  void publish(std::uint64_t sequence, std::int64_t timestamp_ns = 0) noexcept;

  /// Waits for a frame that is newer than the one taken last. Its memory stays valid until the next
  /// call, so the results of the frame before must have been waited for. Errors: DeadlineMissed,
  /// Stopped (`close` was called, and the last frame was taken).
  Expected<Frame> take(Deadline deadline) noexcept;

  /// The camera has ended: after the last frame, `take` returns Stopped.
  void close() noexcept;

  /// Frames that a newer one replaced before they were taken.
  std::uint64_t replaced() const noexcept;

 private:
  struct State;
  explicit FrameMailbox(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace ocellus

#pragma GCC visibility pop
