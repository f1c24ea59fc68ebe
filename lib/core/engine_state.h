// EngineState: the state of an engine, shared by the Engine handle and its operators.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

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
  /// Null for the CPU backend.
  Device* device() noexcept { return device_.get(); }
  /// Returns an error in a child process that fork() made; every call there returns this error.
  Expected<void> check_process() const noexcept { return process_.check(); }
  bool is_child() const noexcept { return process_.is_child(); }
  /// For a child process: destructors will not wait for anything.
  void abandon() noexcept;
  /// Pieces of the blocks. Errors: OutOfMemory.
  Expected<void*> take(MemorySpace space, std::size_t bytes) noexcept;
  void give_back(MemorySpace space, void* piece) noexcept;
  MemoryUse memory_use() const noexcept;

 private:
  friend class EngineRef;

  std::atomic<int> references_{0};
  OwnerProcess process_;
  EngineInfo info_;
  mutable std::mutex mutex_;  // protects the arena
  HostArena host_;
  std::unique_ptr<Device> device_;
  Scheduler scheduler_;  // last, so that its threads end before the memory is released
};

/// Shared ownership of an EngineState. The counter is a member of the state, because
/// std::shared_ptr would allocate its counter with an operator new that throws.
class EngineRef {
 public:
  EngineRef() noexcept = default;
  explicit EngineRef(EngineState* state) noexcept : state_(state) {
    if (state_ != nullptr) state_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  EngineRef(const EngineRef& other) noexcept : EngineRef(other.state_) {}
  EngineRef(EngineRef&& other) noexcept : state_(other.release()) {}
  EngineRef& operator=(EngineRef other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~EngineRef() {
    if (state_ != nullptr && state_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete state_;
  }

  EngineState* operator->() const noexcept { return state_; }
  EngineState& operator*() const noexcept { return *state_; }
  explicit operator bool() const noexcept { return state_ != nullptr; }
  EngineState* get() const noexcept { return state_; }
  /// Gives up the reference without decrementing the counter.
  EngineState* release() noexcept { return std::exchange(state_, nullptr); }
  /// Takes over a reference that `release` gave up.
  static EngineRef adopt(EngineState* state) noexcept {
    EngineRef adopted;
    adopted.state_ = state;
    return adopted;
  }

 private:
  EngineState* state_ = nullptr;
};

/// Access to the private members of Engine.
struct EngineAccess {
  static EngineState& state(const Engine& engine) noexcept { return *engine.state_; }
  static EngineRef share(const Engine& engine) noexcept { return EngineRef(engine.state_); }
  static Engine handle(EngineRef state) noexcept { return Engine(state.release()); }
};

}  // namespace ocellus::detail
