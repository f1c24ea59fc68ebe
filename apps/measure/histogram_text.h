// Percentiles of a histogram as `ocellus latency` shows them.
#pragma once

#include <optional>

#include "ocellus/latency_histogram.h"

namespace ocellus::app {

/// What stands in place of a percentile that is longer than a histogram resolves.
inline constexpr const char* kBeyondHistogram = "> 17.2 s";
static_assert(LatencyHistogram::kHighestNs / 10'000'000 == 1717);

/// The longest duration that a histogram resolves.
inline constexpr double kHighestMs = static_cast<double>(LatencyHistogram::kHighestNs) * 1e-6;

/// In ms; none if it is longer than the histogram resolves.
inline std::optional<double> percentile_ms(const LatencyHistogram& h, double percent) {
  const std::int64_t ns = h.percentile_ns(percent);
  if (ns > LatencyHistogram::kHighestNs) return std::nullopt;
  return static_cast<double>(ns) * 1e-6;
}

}  // namespace ocellus::app
