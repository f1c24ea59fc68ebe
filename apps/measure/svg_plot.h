// The plot of `ocellus latency` as SVG, and percentiles as the command shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// One run in the plot.
struct LatencySeries {
  std::string name;  ///< for the legend
  const LatencyHistogram* histogram = nullptr;
  const std::vector<float>* latencies_ms = nullptr;  ///< in frame order
  double fps = 0.0;                                  ///< frames per second of the time axis
};

struct LatencyPlot {
  std::string title;
  std::string subtitle;
  std::string machine;
  std::vector<LatencySeries> series;  ///< one to three
  double budget_ms = 0.0;             ///< 0: none
  std::string budget_name;            ///< label of its lines
};

/// Draws two panels: the share of frames slower than a latency (both axes logarithmic), and the
/// latency over time. A line marks the budget in both. Several series have a legend. Throws
/// InputError if the file cannot be written.
void write_latency_svg(const std::string& path, const LatencyPlot& plot);

}  // namespace ocellus::app
