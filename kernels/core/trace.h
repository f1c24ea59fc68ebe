// TraceRange: what an operator does, on the timeline of NVIDIA's profilers.
#pragma once

#include <cstdint>

namespace ocellus::cuda {

/// A range of NVTX's domain "ocellus" around the calls of one thread: "optical flow: submit", with
/// the frame's sequence number as its payload. Nothing where no profiler is attached.
class TraceRange {
 public:
  /// `who` and `step` are read only now.
  TraceRange(const char* who, const char* step, std::uint64_t sequence) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

  /// Looks for a profiler, which may allocate; before the first frame.
  static void prepare() noexcept;
};

}  // namespace ocellus::cuda
