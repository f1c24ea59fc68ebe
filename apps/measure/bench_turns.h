// What the benches of the CPU share: rows that are timed in turn, and the machine that they are
// held against.
#pragma once

#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_run.h"
#include "apps/measure/machine.h"

namespace ocellus::app {

/// One thing that is timed.
class TimedRow {
 public:
  virtual ~TimedRow() = default;
  /// Frames that fill rings and buffers before it counts.
  virtual int warm_up() const = 0;
  /// One frame of the input, in order. False: it cannot take such frames and is left out.
  virtual bool step(std::size_t position) = 0;

  std::vector<double> ms;  ///< of each frame that counts
};

/// All rows take turns, 10 frames each, so that what else goes on in the machine hits all alike.
/// The first frame of a turn finds the caches full of another row's data and is not counted.
void time_in_turns(const std::vector<TimedRow*>& rows, int frames, const std::string& title);

/// The limits of this machine, measured when it is made, and what others took of it since.
class HostMachine {
 public:
  explicit HostMachine(const EngineInfo& info);

  /// What the work takes at the limits.
  double floor_ms(const Workload& work) const;

  /// "machine" and "steal_percent" of a report.
  void add_to(nlohmann::ordered_json& json) const;
  void print() const;

  /// The times of a row, and with work its floor.
  void add_times(nlohmann::ordered_json& json, const std::vector<double>& ms) const;
  void add_floor(nlohmann::ordered_json& json, const Workload& work, double median_ms) const;

 private:
  EngineInfo info_;
  MachineLimits limits_;
  StealMeter steal_;
};

}  // namespace ocellus::app
