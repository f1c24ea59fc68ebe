// Runs a chain of operators at a camera's frame rate or back to back, and measures every frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/io/monitor.h"
#include "apps/io/operator_run.h"
#include "apps/io/output_file.h"
#include "apps/measure/clip.h"
#include "apps/measure/gpu_meter.h"
#include "apps/measure/machine.h"
#include "ocellus/latency_histogram.h"

namespace ocellus::app {

/// The intervals between results. Jitter is their standard deviation; the spread is the largest
/// minus the smallest interval.
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

/// The classes of the characters of each frame, which an operator must read.
struct ExpectedReading {
  std::size_t op = 0;  ///< the operator, which has a NeocognitronRecord
  std::vector<std::vector<std::int32_t>> labels;

  bool matches(const void* record, std::size_t frame) const;
};

/// The times of a measured frame in ns.
struct LatencyTimes {
  std::int64_t frame = 0;  ///< its number, from 0
  std::int64_t due = 0;    ///< since the start
  std::int64_t latency = 0, wake = 0, work = 0, queue = 0, copy = 0, compute = 0;
};

/// The frames of the longest latency, the longest first. The earlier one of two that are equal.
class WorstFrames {
 public:
  static constexpr std::size_t kMost = 10;

  void add(const LatencyTimes& frame);
  std::span<const LatencyTimes> frames() const { return std::span(frames_).first(count_); }

 private:
  std::array<LatencyTimes, kMost> frames_;
  std::size_t count_ = 0;
};

/// The times of each measured frame as CSV. All memory that it needs is taken at its creation.
class SampleFile {
 public:
  explicit SampleFile(const std::string& path);
  void add(const char* memory, const LatencyTimes& row);
  void commit() { file_.commit(); }

 private:
  std::vector<char> buffer_;  // of the stream, which is closed first
  OutputFile file_;
};

/// "host", "pinned" or "device".
const char* memory_name(MemorySpace space);

/// Values of the command line.
struct LatencyCommand {
  CommonOptions common;
  OperatorOptions flow{"flow"};
  std::string pipeline = "flow";
  std::string input;
  SourceOptions source;
  std::string plot;
  std::string samples;
  std::string break_on_miss;
  std::string size;
  double fps = 30.0;
  bool back_to_back = false;
  /// Whether a frame that waits is dropped when the next one is due. Not back to back.
  bool newest = false;
  double budget_ms = 0.0;
  double budget_percentile = 100.0;
  std::int64_t frames = 10000;  ///< number of frames that become due
  std::int64_t warm_up = 100;   ///< frames before the measurement, run back to back
  std::string memory = "auto";
  std::string wait;
  int copy_threads = 0;
  int sample_ms = 100;  ///< interval of samples of the GPU; 0: only at the beginning and the end
  int realtime_priority = 0;
  bool lock_memory = false;
  bool workers_only = false;

  /// Frames per second; 0: back to back.
  double rate() const { return back_to_back ? 0.0 : fps; }
};

class MissTrace;

/// What to run and to measure.
struct LatencyPlan {
  const LatencyCommand& o;
  EngineConfig engine{};
  std::vector<std::string> names{};  ///< of the operators
  std::vector<OperatorConfig> operators{};
  const std::vector<GrayImage>* frames = nullptr;  ///< replayed forwards and backwards
  std::string title{};                             ///< label of the progress bar
  std::optional<std::int64_t> budget_ns{};
  std::optional<ExpectedReading> reading{};
  SampleFile* samples = nullptr;            ///< null: not asked for
  MissTrace* trace = nullptr;               ///< null: the run goes on after a miss
  Monitor* monitor = nullptr;               ///< null: none
  std::vector<OperatorMetrics*> metrics{};  ///< of each operator, or none
};

/// The measurements with frames and results in one kind of memory.
struct LatencyResult {
  MemorySpace space = MemorySpace::kHost;
  std::int64_t measured = 0;  ///< frames with a result
  std::int64_t dropped = 0;   ///< frames that a newer one replaced before they began
  /// From the moment when a frame is due to its result.
  LatencyHistogram latency;
  LatencyHistogram wake;  ///< from that moment to the start of its work
  LatencyHistogram work;  ///< from the start of its work to the result
  LatencyHistogram queue;
  LatencyHistogram copy;
  LatencyHistogram compute;
  std::vector<std::unique_ptr<LatencyHistogram>> operators;  ///< the work of each operator
  std::vector<float> delays;                                 ///< of each operator, in frames
  Intervals intervals;
  std::vector<float> latencies_ms;  ///< in frame order
  WorstFrames worst;
  double seconds = 0.0;             ///< from the time of the first frame to the last result
  std::int64_t misses = 0;          ///< frames whose result was late or that were dropped
  std::int64_t read_correctly = 0;  ///< frames; 0 without LatencyPlan::reading
  bool stopped_at_miss = false;     ///< LatencyPlan::trace
  std::int64_t longest_burst = 0;
  std::int64_t late_starts = 0;  ///< frames that were due before the one before was done
  Footprint footprint;
  long page_faults = 0;
  double steal_percent = -1.0;  ///< negative if unknown
  std::string date;             ///< of the first frame, in UTC
  MachineState at_start, at_end;
  GpuActivity gpu;
  EngineInfo engine;

  /// Frames that became due; fewer than requested if a signal stopped the run.
  std::int64_t due() const { return measured + dropped; }
};

/// Throws InputError with the library's reason. Ends early when a signal asks to stop.
std::unique_ptr<LatencyResult> measure_latency(const LatencyPlan& plan, MemorySpace space,
                                               const GpuMeter& meter);

}  // namespace ocellus::app
