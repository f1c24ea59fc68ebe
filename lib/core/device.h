// Device: the interface of a backend's device, as the engine uses it. It has no CUDA types.
#pragma once

#include <cstddef>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// A device: one block of device memory, one block of page-locked host memory, and the objects that
/// the backend's operators share. Any thread may make any call.
class Device {
 public:
  virtual ~Device() = default;

  /// Returns a piece of the block, aligned to kDeviceAlignment. Errors: OutOfMemory.
  virtual Expected<void*> take_device(std::size_t bytes) noexcept = 0;
  virtual void give_back_device(void* piece) noexcept = 0;
  virtual Expected<void*> take_pinned(std::size_t bytes) noexcept = 0;
  virtual void give_back_pinned(void* piece) noexcept = 0;

  /// Copies between the host and a piece of device memory, and waits for the copy. Errors:
  /// DeviceLost, System.
  virtual Expected<void> write(void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept = 0;

  /// For a child process that fork() made, where the device cannot be used. After this call nothing
  /// uses the device, takes a lock or waits for a thread, so all objects can be destroyed.
  virtual void abandon() noexcept = 0;

  /// Adds the use of the device's memory blocks to `use`.
  virtual void add_memory_use(MemoryUse& use) const noexcept = 0;
};

}  // namespace ocellus::detail
