// TraceRange: shows an operator's calls on the timeline of NVIDIA's profilers.
#pragma once

#include <cstdint>

namespace ocellus::cuda {

/// A range in the NVTX domain "ocellus" around a call on one thread: "optical flow: submit", with
/// the frame's sequence number as the payload. Has no effect if no profiler is attached.
class TraceRange {
 public:
  /// `who` and `step` are read only during the call.
  TraceRange(const char* who, const char* step, std::uint64_t sequence) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

  /// Initializes NVTX, which may allocate. Called before the first frame.
  static void prepare() noexcept;
};

}  // namespace ocellus::cuda
