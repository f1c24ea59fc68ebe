// The report of `ocellus latency` as text, JSON and a plot.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/measure/latency_run.h"
#include "apps/measure/named_files.h"

namespace ocellus::app {

/// All data for the report.
struct LatencyReport {
  const LatencyCommand& o;
  const LatencyPlan& plan;
  const Clip& clip;
  const GpuMeter& meter;
  std::vector<OperatorInfo> infos;
  std::vector<NamedFile> files;
  std::vector<std::unique_ptr<LatencyResult>> runs;

  bool with_budget() const { return plan.budget_ns.has_value(); }
  double budget_ms() const {
    return with_budget() ? static_cast<double>(*plan.budget_ns) * 1e-6 : 0.0;
  }
  /// " for 99 % of the frames", or nothing if all frames must keep the budget.
  std::string percentile_text() const {
    return o.budget_percentile < 100.0
               ? fmt::format(" for {:g} % of the frames", o.budget_percentile)
               : std::string();
  }
  bool interrupted() const {
    return std::any_of(runs.begin(), runs.end(),
                       [this](const auto& run) { return run->due() < o.frames; });
  }
  /// The number of `frames` that may miss the budget.
  double allowed_misses(std::int64_t frames) const {
    const double share = 1.0 - o.budget_percentile / 100.0;
    return std::floor(share * static_cast<double>(frames) + 1e-9);
  }
  bool keeps_budget(const LatencyResult& run) const {
    // A run that was interrupted does not keep the budget, because frames are missing.
    return run.due() == o.frames && static_cast<double>(run.misses) <= allowed_misses(run.due());
  }
  /// Whether the frames that are missing after an interruption decide about the budget.
  bool undecided(const LatencyResult& run) const {
    return !run.stopped_at_miss && run.due() < o.frames &&
           static_cast<double>(run.misses) <= allowed_misses(o.frames);
  }
  bool good(std::size_t wanted) const {
    return runs.size() == wanted && std::all_of(runs.begin(), runs.end(), [this](const auto& run) {
             return keeps_budget(*run);
           });
  }
  /// The least memory traffic per frame of all operators, in bytes.
  double least_bytes() const {
    double bytes = 0.0;
    for (const OperatorInfo& op : infos) bytes += op.least_bytes;
    return bytes;
  }
  static double frames_per_s(const LatencyResult& run) {
    return run.seconds > 0.0 ? static_cast<double>(run.measured) / run.seconds : 0.0;
  }
  std::string pace() const {
    return o.rate() > 0.0
               ? fmt::format("at {:g} fps{}", o.rate(), o.newest ? ", newest frame only" : "")
               : std::string("back to back");
  }
  ImageSize size() const { return clip.size(); }
};

/// Percentage of the runs in which the bound of a percentile holds.
constexpr double kBoundConfidence = 95.0;
/// The rank, from 1, of the measured time that the true percentile does not exceed with this
/// confidence, whatever the distribution of the times. Frames count as independent. Nothing if the
/// frames are too few.
std::optional<std::int64_t> bound_rank(std::int64_t frames, double percent);
/// The least number of frames that have such a bound.
std::int64_t frames_for_bound(double percent);

/// `good`: every run kept the budget.
nlohmann::ordered_json report_json(const LatencyReport& report, bool good);
void print_report(const LatencyReport& report);
/// Writes the SVG file that --plot names.
void plot_report(const LatencyReport& report);

}  // namespace ocellus::app
