// The CUDA device that the benches hold their rows against.
#pragma once

#include "apps/common/common.h"
#include "apps/common/operator_run.h"
#include "kernels/core/device_limits.h"

namespace ocellus::app {

/// The floor of a row, and what sets it.
struct Floor {
  double ms;
  bool by_memory;
};
Floor floor_of(const Workload& work, const cuda::DeviceLimits& limits);

/// Bytes, operations and floor of a row of a report.
void add_floor(nlohmann::ordered_json& row, const Workload& work, const cuda::DeviceLimits& limits);

/// Measured now.
cuda::DeviceLimits device_limits(const EngineConfig& engine);

nlohmann::ordered_json machine_json(const EngineInfo& info, const cuda::DeviceLimits& limits);
void print_machine(const EngineInfo& info, const cuda::DeviceLimits& limits);

}  // namespace ocellus::app
