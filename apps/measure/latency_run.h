// LatencyRun: a chain of operators at a camera's pace or back to back, measured frame by frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/operator_run.h"
#include "apps/measure/gpu_meter.h"
#include "ocellus/latency_histogram.h"

namespace ocellus::app {

/// The interval from one result to the next. Jitter is how much it varies: the standard deviation,
/// and the largest less the smallest.
class Intervals {
 public:
  void add(std::int64_t ns);
  std::int64_t count() const { return count_; }
  double mean_ns() const { return mean_; }
  double deviation_ns() const;
  std::int64_t spread_ns() const { return count_ > 0 ? high_ - low_ : 0; }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0.0;
  double squares_ = 0.0;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

/// What is run.
struct LatencyPlan {
  EngineConfig engine;
  std::vector<OperatorConfig> operators;
  const std::vector<GrayImage>* frames = nullptr;  ///< shown back and forth
  std::string title;                               ///< for the progress bar
  double fps = 0.0;                                ///< 0 = back to back
  std::int64_t count = 0;                          ///< frames that are measured
  std::int64_t warm_up = 0;                        ///< frames before them, back to back
  std::optional<std::int64_t> budget_ns;
  int sample_ms = 0;  ///< between looks at the device; 0 = at the begin and at the end only
};

/// What came out, for frames and results in one kind of memory.
struct LatencyResult {
  MemorySpace space = MemorySpace::kHost;
  std::int64_t measured = 0;  ///< fewer than asked for when a signal stopped the run
  /// From the moment that a frame was due until its result is there.
  LatencyHistogram latency;
  LatencyHistogram wake;  ///< from that moment until its work began
  LatencyHistogram work;  ///< from there to the result
  LatencyHistogram queue;
  LatencyHistogram copy;
  LatencyHistogram compute;
  std::vector<std::unique_ptr<LatencyHistogram>> operators;  ///< the work of each
  std::vector<float> delays;                                 ///< frames, of each
  Intervals intervals;
  std::vector<float> latencies_ms;  ///< in the order of the frames
  double seconds = 0.0;             ///< from the first frame's time to the last result
  std::int64_t misses = 0;
  std::int64_t longest_burst = 0;
  std::int64_t late_starts = 0;  ///< frames that were due before the one before was done
  Footprint footprint;
  long page_faults = 0;
  double steal_percent = -1.0;  ///< negative: unknown
  GpuActivity gpu;
  EngineInfo engine;
};

/// Throws InputError with the library's reason. Ends early when a signal asks to.
std::unique_ptr<LatencyResult> measure_latency(const LatencyPlan& plan, MemorySpace space,
                                               const GpuMeter& meter);

}  // namespace ocellus::app
