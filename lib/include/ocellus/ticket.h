// Ticket and FrameInfo: the receipt of a submitted frame and what is known of it when it is done.
#pragma once

#include <cstdint>

namespace ocellus {

/// Returned by `submit`, given to `wait`. Valid for one operator until `wait` has said done or
/// `reset`.
struct Ticket {
  std::uint64_t number = 0;  ///< counts the operator's submissions from 1; 0 is no ticket
  std::uint64_t issuer = 0;  ///< the operator that gave it; no two of a process have the same

  friend constexpr bool operator==(const Ticket&, const Ticket&) = default;
};

/// Bits of FrameInfo::flags.
enum FrameFlag : std::uint32_t {
  /// Fewer frames have come than the temporal support; the oldest frame stands in for those
  /// missing.
  kWarmingUp = 1u << 0,
  /// The frame holds NaN or infinity: the output is marked invalid and the temporal state is as if
  /// the frame had not come.
  kBadPixels = 1u << 1,
};

/// What `wait` tells of a finished frame.
struct FrameInfo {
  std::uint64_t sequence = 0;     ///< Frame::sequence of the frame submitted
  std::int64_t timestamp_ns = 0;  ///< Frame::timestamp_ns of the frame submitted
  /// The frame that the result describes: the operator's delay_frames(), rounded down, before the
  /// one submitted.
  std::uint64_t described_sequence = 0;
  std::int64_t described_timestamp_ns = 0;
  float delay_frames = 0.0f;    ///< exact age of the described moment; x.5 lies between two frames
  std::uint32_t flags = 0;      ///< FrameFlag bits
  std::int64_t queue_ns = 0;    ///< from submit until a worker began
  std::int64_t copy_ns = 0;     ///< to and from the device, staging among it; 0 on the CPU
  std::int64_t compute_ns = 0;  ///< from the first worker's begin to the last one's end

  constexpr bool warming_up() const { return (flags & kWarmingUp) != 0; }
  constexpr bool bad_pixels() const { return (flags & kBadPixels) != 0; }
};

}  // namespace ocellus
