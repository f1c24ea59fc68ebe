// The figure of `ocellus latency`, as SVG text.
#pragma once

#include <string>
#include <vector>

#include "ocellus/latency_histogram.h"

namespace ocellus::app {

/// One run in the figure.
struct LatencySeries {
  std::string name;  ///< for the legend
  const LatencyHistogram* histogram = nullptr;
  const std::vector<float>* latencies_ms = nullptr;  ///< in the order of the frames
  double fps = 0.0;                                  ///< frames per second of the time axis
};

struct LatencyPlot {
  std::string title;
  std::string subtitle;
  std::string machine;
  std::vector<LatencySeries> series;  ///< one to three
  double budget_ms = 0.0;             ///< 0 = none
};

/// Two panels: the share of frames slower than a latency (both axes logarithmic), and the latency
/// over time; the budget is a line in both. A legend where there are several series. Throws
/// InputError when the file cannot be written.
void write_latency_svg(const std::string& path, const LatencyPlot& plot);

}  // namespace ocellus::app
