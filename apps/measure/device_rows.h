// The rows of the benches' tables for a CUDA device.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/operator_run.h"
#include "apps/measure/device_run.h"

namespace ocellus::app {

template <typename Group>
struct DeviceRow {
  DeviceRow(Group of, std::string called, const Workload& least, nlohmann::ordered_json how)
      : group(of), name(std::move(called)), work(least), config(std::move(how)) {}

  bool has_figures() const { return refusal.empty(); }

  Group group;
  std::string name;
  Workload work;
  nlohmann::ordered_json config;
  DeviceTimes times;
  std::string refusal;  ///< why the row has no figures
};

/// The fastest row of a group among those with figures, or null.
template <typename Row, typename Group>
const Row* fastest_of(const std::vector<Row>& rows, Group group) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.group != group || !row.has_figures()) continue;
    if (best == nullptr || row.times.rate() > best->times.rate()) best = &row;
  }
  return best;
}

}  // namespace ocellus::app
