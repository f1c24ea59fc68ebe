// What fronts and backends know of every operator: its shape, its results, the functions of an
// instance. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/deadline.h"
#include "ocellus/frame.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

namespace ocellus::detail {

inline constexpr int kMaxDepth = 8;
inline constexpr int kMaxOutputPlanes = 8;
/// Frames that a result may depend on.
inline constexpr int kMaxSupportFrames = 25;

/// What an operator takes and gives, fixed when it is made.
struct OperatorShape {
  const char* name = "";  ///< in error texts and on timelines; static storage, as all texts here
  ImageSize size;         ///< of the frames
  PixelFormat format = PixelFormat::kGray8;
  ImageSize out_size;                     ///< of each output plane
  const char* out_size_of = "the frame";  ///< that size is this one's, in error texts
  int element_bytes = sizeof(float);      ///< of an output plane: a power of 2
  const char* element_name = "a float";   ///< in error texts
  int planes = 1;                         ///< output planes, 1 to kMaxOutputPlanes
  std::uint32_t optional_planes = 0;      ///< bit p: output plane p may be null
  int depth = 1;                          ///< frames in flight, 1 to kMaxDepth
  int frames = 1;                         ///< temporal support; fewer frames seen is warming up
  float delay_frames = 0.0f;              ///< FrameInfo::delay_frames of each result

  constexpr bool is_optional(int plane) const { return (optional_planes >> plane & 1u) != 0; }
};

/// The user's planes for one result.
struct OutputPlanes {
  std::array<void*, kMaxOutputPlanes> planes{};
  int count = 0;
  ImageSize size;
  int element_bytes = 0;
  std::ptrdiff_t stride = 0;  ///< bytes from row to row, the same for all planes
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that uses the result

  template <typename T>
  T* plane(int index) const {
    return static_cast<T*>(planes[static_cast<std::size_t>(index)]);
  }
  /// The beginning of a row.
  template <typename T>
  T* row(int index, int y) const {
    return reinterpret_cast<T*>(plane<char>(index) + y * stride);
  }
};

/// Planes as a user's view has them; their addresses are filled in afterwards.
template <typename View>
OutputPlanes output_of(const View& view, int count, int element_bytes) noexcept {
  OutputPlanes out;
  out.count = count;
  out.size = view.size;
  out.element_bytes = element_bytes;
  out.stride = view.stride;
  out.space = view.space;
  out.stream = view.stream;
  return out;
}

/// Numbers of the operator's own that come with each result; what they mean, its room says.
using ExtraWords = std::array<std::uint32_t, 8>;

/// What a backend tells of a finished frame.
struct FrameResult {
  std::uint64_t described_sequence = 0;
  std::int64_t described_timestamp_ns = 0;
  std::uint32_t flags = 0;  ///< FrameFlag bits
  std::int64_t queue_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;
  ExtraWords extra{};
};

/// The functions of an operator's instance on a backend. An instance holds one piece of the
/// engine's memory and the state of `depth` frames in flight, which the front numbers as slots.
/// How much memory that is, and how an instance is made, only the operator's room knows.
struct OperatorCalls {
  const char* name;    ///< the backend's
  bool device_memory;  ///< takes frames and gives results in MemorySpace::kCuda
  /// No frame is in flight.
  void (*destroy)(void* instance) noexcept;
  /// Begins a frame in a slot that is free. The arguments have been checked. On failure the slot
  /// stays free, and nothing of the frame runs or counts. Errors: DeviceLost, System.
  Expected<void> (*submit)(void* instance, int slot, const Frame& in,
                           const OutputPlanes& out) noexcept;
  /// Afterwards the slot is free again and `result` filled in. Errors: DeadlineMissed (it is not
  /// free), InvalidTicket, DeviceLost, System (it is not free; a call of CUDA has failed).
  Expected<void> (*wait)(void* instance, int slot, Deadline deadline, FrameResult& result) noexcept;
  /// Drops or finishes a frame; the slot is free afterwards.
  void (*cancel)(void* instance, int slot) noexcept;
  /// Forgets the temporal state; no frame is in flight.
  void (*reset)(void* instance) noexcept;
};

}  // namespace ocellus::detail
