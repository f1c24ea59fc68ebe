// Device: the interface of a backend's device, as the engine uses it. It has no CUDA types.
#pragma once

#include <cstddef>
#include <memory>

#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

enum class CopyDirection : unsigned char { kToDevice, kToHost, kBetweenDevices };

/// Rows of bytes. Strides are in bytes.
struct RowCopy {
  void* to = nullptr;
  std::size_t to_stride = 0;
  const void* from = nullptr;
  std::size_t from_stride = 0;
  std::size_t row_bytes = 0;
  std::size_t rows = 0;
  CopyDirection direction = CopyDirection::kToDevice;
};

/// Names a piece of device memory for another process of this host.
struct SharedPiece {
  unsigned char handle[64] = {};
  std::size_t offset = 0;  ///< of the piece in the memory that the handle opens
};

/// Device memory of another process. The destructor closes it. The other process must keep the
/// memory until then, and so must the device that opened it live.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// The piece, for copies of this process's device.
  virtual void* data() const noexcept = 0;

 protected:
  PeerMemory() noexcept = default;
};

/// A stream of copies between page-locked and device memory of an engine, or between devices, for
/// data that are neither a frame nor a result. One thread uses it. Its destructor waits for the
/// copies, and the engine must outlive it. No call allocates.
class CopyStream {
 public:
  virtual ~CopyStream() = default;
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  /// The stream to name in frames and results that the copies precede or follow.
  virtual StreamHandle handle() const noexcept = 0;
  /// Adds a copy to the stream. Errors: DeviceLost, System.
  virtual Expected<void> copy(const RowCopy& rows) noexcept = 0;
  /// Sets a mark behind all work that is in the stream. `mark` is 0 to the number of marks - 1.
  /// Errors: DeviceLost, System.
  virtual Expected<void> set_mark(int mark) noexcept = 0;
  /// True if the work before a mark is done. Errors: DeviceLost, System.
  virtual Expected<bool> reached(int mark) noexcept = 0;

 protected:
  CopyStream() noexcept = default;
};

/// A device: one block of device memory, one block of page-locked host memory, and the objects that
/// the backend's operators share. Any thread may make any call.
class Device {
 public:
  virtual ~Device() = default;

  /// Returns a piece of the block in kPinned or kCuda memory, aligned to kDeviceAlignment. Errors:
  /// OutOfMemory.
  virtual Expected<void*> take(MemorySpace space, std::size_t bytes) noexcept = 0;
  virtual void give_back(MemorySpace space, void* piece) noexcept = 0;

  /// Copies between the host and a piece of device memory, and waits for the copy. Errors:
  /// DeviceLost, System.
  virtual Expected<void> write(void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept = 0;

  /// Errors: OutOfMemory, DeviceLost, System.
  virtual Expected<std::unique_ptr<CopyStream>> make_copy_stream(int marks) noexcept = 0;
  /// Names a piece of the block of device memory for `make_peer_memory` in another process. Errors:
  /// System (the system cannot share device memory), DeviceLost.
  virtual Expected<SharedPiece> share(const void* piece) noexcept = 0;
  /// Opens memory of another process, of this device or of one that this device can access. Errors:
  /// OutOfMemory, System (it cannot), DeviceLost.
  virtual Expected<std::unique_ptr<PeerMemory>> make_peer_memory(
      const SharedPiece& piece) noexcept = 0;
  /// True if the device is the current one of the calling thread, for libraries that look for it.
  virtual bool is_current() const noexcept = 0;

  /// For a child process that fork() made, where the device cannot be used. After this call nothing
  /// uses the device, takes a lock or waits for a thread, so all objects can be destroyed.
  virtual void abandon() noexcept = 0;

  /// Adds the use of the device's memory blocks to `use`.
  virtual void add_memory_use(MemoryUse& use) const noexcept = 0;
};

}  // namespace ocellus::detail
