// The limits of the CUDA device that the benches compare their rows with.
#pragma once

#include "apps/common/common.h"
#include "apps/io/operator_run.h"
#include "bench/limits/device_limits.h"

namespace ocellus::app {

/// The least time of a row, and which limit determines it.
struct Floor {
  double ms;
  bool by_memory;
};
Floor floor_of(const Workload& work, const cuda::DeviceLimits& limits);

/// Adds bytes, operations and floor to a row of a report.
void add_floor(nlohmann::ordered_json& row, const Workload& work, const cuda::DeviceLimits& limits);

/// Measures the limits at the call.
cuda::DeviceLimits device_limits(const EngineConfig& engine);

nlohmann::ordered_json machine_json(const EngineInfo& info, const cuda::DeviceLimits& limits);
std::string machine_text(const EngineInfo& info, const cuda::DeviceLimits& limits);

}  // namespace ocellus::app
