// The rows of the benches' tables for a CUDA device.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_report.h"
#include "bench/device_run.h"
#include "bench/workload.h"

namespace ocellus::app {

struct DeviceRow {
  bool has_figures() const { return refusal.empty(); }
  double ms() const { return times.frame_ms(); }

  /// Measures an operator, and passes it to `then`. A device with too little memory refuses the
  /// row.
  void measure(const EngineConfig& engine, const OperatorMaker& maker, const RunMemory& memory,
               const std::vector<const GrayImage*>& frames, int most_frames, int planes = 0,
               const std::function<void(DeviceRun&)>& then = {});

  std::string name;
  std::string_view group;
  Workload work;
  Json config;
  DeviceTimes times{};
  std::string refusal{};  ///< why the row has no figures
};

/// As many frames of a clip as are in flight.
std::vector<const GrayImage*> frames_in_flight(const Clip& clip, int depth);

/// The fastest row of a group among those with figures, or null.
template <typename Row>
const Row* fastest_of(const std::vector<Row>& rows, std::string_view group) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.group != group || !row.has_figures()) continue;
    if (best == nullptr || row.times.rate() > best->times.rate()) best = &row;
  }
  return best;
}

}  // namespace ocellus::app
