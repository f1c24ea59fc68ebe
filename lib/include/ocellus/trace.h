// record_trace: which thread of an engine computed which part of which frame, and when. For
// programs that look for the cause of a late frame.
#pragma once

#include <cstdint>
#include <span>

#include "ocellus/engine.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// A part of a step of a frame on the CPU. A step is what all workers compute before the next one
/// begins; its number is that of the operator's own list.
struct TraceEvent {
  const char* operator_name = "";  ///< static storage
  std::uint64_t sequence = 0;      ///< Frame::sequence
  std::int32_t step = 0;
  std::int32_t part = 0;
  std::int32_t worker = 0;    ///< at most one part at a time has this number
  std::int64_t begin_ns = 0;  ///< on the steady clock
  std::int64_t end_ns = 0;
};

/// Records from now on each part that ends, in memory of the caller: event number i goes to
/// `events[i % events.size()]`, so that the last ones remain. An empty span ends the recording; the
/// memory of the one before is not written after the call. Returns the number of events that were
/// recorded since the call before.
///
/// Recording takes two looks at the clock for each part and allocates nothing. On the CUDA backend
/// the device computes, and there are no events.
std::uint64_t record_trace(Engine& engine, std::span<TraceEvent> events) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
