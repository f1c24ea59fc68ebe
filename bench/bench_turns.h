// What the benches of the CPU share: rows that are timed in turns, and the limits of the machine.
#pragma once

#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/operator_run.h"
#include "apps/measure/machine.h"
#include "bench/limits/machine_limits.h"

namespace ocellus::app {

/// A workload that is timed.
class TimedRow {
 public:
  virtual ~TimedRow() = default;
  /// The number of frames that fill rings and buffers before timing begins.
  virtual int warm_up() const = 0;
  /// Processes one frame of the input, in order. Returns false if it cannot process such frames; it
  /// is then left out.
  virtual bool step(std::size_t position) = 0;

  std::vector<double> ms;  ///< of each timed frame
};

/// Times all rows in turns of 10 frames, so that other load on the machine affects all rows
/// equally. The first frame of each turn is not timed, because the caches then hold data of another
/// row.
void time_in_turns(const std::vector<TimedRow*>& rows, int frames, const std::string& title);

/// The limits of this machine, measured at construction, and the CPU time stolen since then.
class HostMachine {
 public:
  explicit HostMachine(const EngineInfo& info);

  /// The time that the work takes at the limits.
  double floor_ms(const Workload& work) const;

  /// Adds "machine" and "steal_percent" to a report.
  void add_to(nlohmann::ordered_json& json) const;
  std::string text() const;

  /// Adds the times of a row to its report.
  void add_times(nlohmann::ordered_json& json, const std::vector<double>& ms) const;
  void add_floor(nlohmann::ordered_json& json, const Workload& work, double median_ms) const;

 private:
  EngineInfo info_;
  MachineLimits limits_;
  StealMeter steal_;
};

}  // namespace ocellus::app
