// The figure of `ocellus latency`, as SVG text.
#pragma once

#include <string>
#include <vector>

#include "ocellus/latency_histogram.h"

namespace ocellus::app {

struct LatencyPlot {
  std::string title;
  std::string subtitle;
  std::string machine;
  const LatencyHistogram* histogram = nullptr;
  const std::vector<float>* latencies_ms = nullptr;  ///< in the order of the frames
  double budget_ms = 0.0;
  double fps = 0.0;
};

/// Two panels: the share of frames slower than a latency (both axes logarithmic), and the latency
/// over time; the budget is a line in both. Throws InputError when the file cannot be written.
void write_latency_svg(const std::string& path, const LatencyPlot& plot);

}  // namespace ocellus::app
