// The report of `ocellus latency` as text, JSON and a plot.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/measure/clip.h"
#include "apps/measure/latency_run.h"

namespace ocellus::app {

struct LatencyCommand {
  CommonOptions common;
  OperatorOptions flow{"flow"};
  std::string pipeline = "flow";
  std::string input;
  SourceOptions source;
  std::string plot;
  std::string size;
  double fps = 30.0;
  bool back_to_back = false;
  bool newest = false;
  double budget_ms = 0.0;
  double budget_percentile = 100.0;
  std::int64_t frames = 10000;
  std::int64_t warm_up = 100;
  std::string memory = "auto";
  std::string wait;
  int copy_threads = 0;
  int sample_ms = 100;
  int realtime_priority = 0;
  bool lock_memory = false;
  bool workers_only = false;
};

/// "host", "pinned" or "device".
const char* memory_name(MemorySpace space);

/// All data for the report.
struct LatencyReport {
  const LatencyCommand& o;
  std::vector<std::string> operators;  ///< their names, in the order of the pipeline
  const LatencyPlan& plan;
  const Clip& clip;
  const GpuMeter& meter;
  std::vector<OperatorInfo> infos;
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
                       [this](const auto& run) { return run->due() < plan.count; });
  }
  /// The number of `frames` that may miss the budget.
  double allowed_misses(std::int64_t frames) const {
    const double share = 1.0 - o.budget_percentile / 100.0;
    return std::floor(share * static_cast<double>(frames) + 1e-9);
  }
  bool keeps_budget(const LatencyResult& run) const {
    // A run that was interrupted does not keep the budget, because frames are missing.
    return run.due() == plan.count && static_cast<double>(run.misses) <= allowed_misses(run.due());
  }
  /// Whether the frames that are missing after an interruption decide about the budget.
  bool undecided(const LatencyResult& run) const {
    return run.due() < plan.count && static_cast<double>(run.misses) <= allowed_misses(plan.count);
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
    return plan.fps > 0.0
               ? fmt::format("at {:g} fps{}", plan.fps, plan.newest ? ", newest frame only" : "")
               : std::string("back to back");
  }
  ImageSize size() const { return clip.size(); }
};

/// `good`: every run kept the budget.
nlohmann::ordered_json report_json(const LatencyReport& report, bool good);
void print_report(const LatencyReport& report);
/// Writes the SVG file that --plot names.
void plot_report(const LatencyReport& report);

}  // namespace ocellus::app
