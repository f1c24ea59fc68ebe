// OperatorHandle: what all operators share in front of their backends - tickets, checks of each
// frame and of the planes for its result, the instance.
#pragma once

#include <array>
#include <atomic>

#include "core/engine_state.h"
#include "core/operator.h"
#include "ocellus/ticket.h"

namespace ocellus::detail {

class OperatorHandle {
 public:
  OperatorHandle(EngineRef engine, const OperatorShape& shape) noexcept;
  /// Waits for frames in flight, then destroys the instance.
  ~OperatorHandle();
  OperatorHandle(const OperatorHandle&) = delete;
  OperatorHandle& operator=(const OperatorHandle&) = delete;

  /// Takes over an instance of that shape, made on `engine`. Called once, before the first frame.
  void adopt(const OperatorCalls& calls, void* instance) noexcept;

  EngineState& engine() noexcept { return *engine_; }
  const OperatorShape& shape() const noexcept { return shape_; }

  Expected<Ticket> submit(const Frame& in, const OutputPlanes& out) noexcept;
  /// `extra`: where the operator's own numbers go, if anywhere.
  Expected<FrameInfo> wait(Ticket ticket, Deadline deadline, ExtraWords* extra = nullptr) noexcept;
  void reset() noexcept;

 private:
  static constexpr std::uint64_t kFree = 0;

  struct Slot {
    /// Number of the ticket in flight, or kFree. Atomic because `wait` may run beside `submit`.
    std::atomic<std::uint64_t> ticket{kFree};
    std::uint64_t sequence = 0;
    std::int64_t timestamp_ns = 0;
  };

  /// Which slot holds that ticket, or kFree, looked for from slot `first` on; -1: none.
  int slot_with(std::uint64_t ticket, std::uint64_t first = 0) const noexcept;
  Expected<void> check_frame(const Frame& in) const noexcept;
  Expected<void> check_spaces(const Frame& in, const OutputPlanes& out) const noexcept;
  Expected<void> check_output(const OutputPlanes& out) const noexcept;

  EngineRef engine_;
  OperatorShape shape_;
  const OperatorCalls* calls_ = nullptr;
  void* instance_ = nullptr;
  const std::uint64_t issuer_;  // of our tickets
  std::uint64_t submitted_ = 0;
  std::array<Slot, kMaxDepth> slots_;
};

}  // namespace ocellus::detail
