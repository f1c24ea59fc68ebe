// EngineState: what stands behind an Engine handle, shared with its operators.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/arena.h"
#include "core/device.h"
#include "core/process.h"
#include "core/scheduler.h"
#include "ocellus/engine.h"

namespace ocellus::detail {

class EngineState {
 public:
  explicit EngineState(const EngineInfo& info) noexcept;
  ~EngineState();
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  Expected<void> start(const EngineConfig& config) noexcept;

  const EngineInfo& info() const noexcept { return info_; }
  Scheduler& scheduler() noexcept { return scheduler_; }
  /// Null for the CPU.
  Device* device() noexcept { return device_.get(); }
  /// Nothing, or in a child that fork() made the Error that every call returns there.
  Expected<void> check_process() const noexcept { return process_.check(); }
  bool is_child() const noexcept { return process_.is_child(); }
  /// In a child: lets what is destroyed there wait for nothing.
  void abandon() noexcept;
  Expected<void*> take_host(std::size_t bytes) noexcept;
  void give_back_host(void* piece) noexcept;
  MemoryUse memory_use() const noexcept;

 private:
  friend class EngineRef;

  std::atomic<int> references_{1};
  OwnerProcess process_;
  EngineInfo info_;
  mutable std::mutex mutex_;  // guards the arena
  HostArena host_;
  std::unique_ptr<Device> device_;
  Scheduler scheduler_;  // last: its threads end before the memory goes
};

}  // namespace ocellus::detail
