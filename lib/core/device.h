// Device: what an engine keeps of a backend beside the CPU. Plain C++; the backend knows the rest.
#pragma once

#include <cstddef>

#include "ocellus/memory.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Memory of the device and page-locked host memory, one block each, and what the backend's
/// operators share. All calls may be made from any thread.
class Device {
 public:
  virtual ~Device() = default;

  /// A piece of the block, aligned to kDeviceAlignment. Errors: OutOfMemory.
  virtual Expected<void*> take_device(std::size_t bytes) noexcept = 0;
  virtual void give_back_device(void* piece) noexcept = 0;
  virtual Expected<void*> take_pinned(std::size_t bytes) noexcept = 0;
  virtual void give_back_pinned(void* piece) noexcept = 0;

  /// Copies between a piece of device memory and the host, and waits for the copy. Errors:
  /// DeviceLost, System.
  virtual Expected<void> write(void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual Expected<void> read(void* to, const void* from, std::size_t bytes) noexcept = 0;

  /// In a child that fork() made, where the device cannot be used: from now on nothing calls it,
  /// takes a lock or waits for a thread, so that everything can be destroyed.
  virtual void abandon() noexcept = 0;

  /// Adds the state of its blocks.
  virtual void add_memory_use(MemoryUse& use) const noexcept = 0;
};

}  // namespace ocellus::detail
