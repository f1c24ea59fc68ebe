// The rows of the benches' tables for a CUDA device.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_report.h"
#include "bench/device_machine.h"
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

/// Adds the times of a row, its floor and their ratio, or why it has none. Returns whether it has.
bool add_figures(Json& json, const DeviceRow& row, const cuda::DeviceLimits& limits);

/// As many frames of a clip as are in flight.
std::vector<const GrayImage*> frames_in_flight(const Clip& clip, int depth);

/// The first row with figures for which `wanted` is true, or null.
template <typename Row, typename Wanted>
const Row* find_row(const std::vector<Row>& rows, const Wanted& wanted) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return row.has_figures() && wanted(row); });
  return found == rows.end() ? nullptr : &*found;
}

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
