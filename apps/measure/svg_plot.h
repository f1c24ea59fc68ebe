// The plot of `ocellus latency` as SVG.
#pragma once

#include <string>
#include <vector>

#include "ocellus/latency_histogram.h"

namespace ocellus::app {

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
