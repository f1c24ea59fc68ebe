// Ticket and FrameInfo: the receipt for a submitted frame, and the description of a finished frame.
#pragma once

#include <cstdint>

namespace ocellus {

/// Identifies a submitted frame. `submit` returns it and `wait` takes it. Valid for one operator
/// until `wait` reports the frame as done, `cancel` drops it or `reset` is called.
struct Ticket {
  std::uint64_t number = 0;  ///< counts the operator's submissions from 1; 0: no ticket
  std::uint64_t issuer = 0;  ///< identifies the operator, unique in the process

  friend constexpr bool operator==(const Ticket&, const Ticket&) = default;
};

/// What `cancel` found.
enum class CancelOutcome : std::uint8_t {
  kCanceled,  ///< the frame had not begun; it is dropped, and its ticket is no longer valid
  kBegun,     ///< the frame is being computed; it stays in flight, wait for it as usual
  kDone,      ///< the frame is done; it stays in flight, `wait` returns its result
};

/// Bits of FrameInfo::flags.
enum FrameFlag : std::uint32_t {
  /// Fewer frames have come than the temporal support. The oldest frame replaces the missing ones.
  kWarmingUp = 1u << 0,
  /// The frame contains NaN or infinity. The planes are marked invalid, the record is zero, and the
  /// temporal state is as if the frame had not come.
  kBadPixels = 1u << 1,
};

/// Description of a finished frame, returned by `wait`.
struct FrameInfo {
  std::uint64_t sequence = 0;     ///< Frame::sequence of the submitted frame
  std::int64_t timestamp_ns = 0;  ///< Frame::timestamp_ns of the submitted frame
  /// The frame that the result describes: OperatorInfo::delay_frames, rounded down, before the
  /// submitted one.
  std::uint64_t described_sequence = 0;
  std::int64_t described_timestamp_ns = 0;
  float delay_frames = 0.0f;  ///< exact age of the described moment; x.5 is between two frames
  std::uint32_t flags = 0;    ///< FrameFlag bits
  std::int64_t queue_ns = 0;  ///< from `submit` until the first worker started
  /// Copies to and from the device, including those through pinned memory; 0 on the CPU.
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;  ///< from the start of the first worker to the end of the last one

  constexpr bool warming_up() const { return (flags & kWarmingUp) != 0; }
  constexpr bool bad_pixels() const { return (flags & kBadPixels) != 0; }
};

}  // namespace ocellus
