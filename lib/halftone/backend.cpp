#include "halftone/backend.h"

#include <cstddef>

#include "core/backend.h"

namespace ocellus::detail {
namespace {

constexpr RecordField kFields[] = {
    {"sweeps", FieldType::kInt32, 1, offsetof(CellularNetworkRecord, sweeps), "of all stages"},
    {"changed", FieldType::kUint32, 1, offsetof(CellularNetworkRecord, changed),
     "cells that changed in the last sweep of the last stage"},
    {"converged", FieldType::kBool, 1, offsetof(CellularNetworkRecord, converged),
     "the last stage came to its fixed point"},
};
constexpr RecordInfo kRecord = {"cellular network", sizeof(CellularNetworkRecord), kFields,
                                static_cast<int>(std::size(kFields))};

}  // namespace

OperatorInfo info_of(const CellularNetworkPlan& plan) noexcept {
  OperatorInfo info;
  info.name = "cellular network";
  info.size = plan.size;
  info.format = plan.format;
  info.planes[0] = {"image", plan.size, plan.output_format, false};
  info.record = &kRecord;
  info.depth = plan.depth;
  // The frame before counts for a warm start only.
  info.support_frames = plan.warm_start ? 2 : 1;
  info.keeps_state = plan.warm_start;
  return info;
}

std::unique_ptr<OperatorInstance> make_network(const EngineInfo& engine,
                                               const CellularNetworkPlan& plan,
                                               const CellSources* sources) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_network_cuda(plan, sources);
  return make_network_cpu(plan, engine.workers, sources);
}

}  // namespace ocellus::detail
