#include "halftone/backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace ocellus::detail {
namespace {

constexpr RecordField kFields[] = {
    {"sweeps", FieldType::kInt32, 1, offsetof(CellularNetworkRecord, sweeps),
     "sweeps of all stages together"},
    {"changed", FieldType::kUint32, 1, offsetof(CellularNetworkRecord, changed),
     "cells that changed in the last sweep, or in the last pass of the last stage's group"},
    {"converged", FieldType::kBool, 1, offsetof(CellularNetworkRecord, converged),
     "the last stage or group reached a fixed point"},
    {"finished", FieldType::kBool, 1, offsetof(CellularNetworkRecord, finished),
     "false: max_sweeps ended the frame before its stages and groups had ended"},
    {"passes", FieldType::kInt32, 1, offsetof(CellularNetworkRecord, passes),
     "passes of all groups of stages together"},
};
constexpr RecordInfo kRecord = {"cellular network", sizeof(CellularNetworkRecord), kFields,
                                static_cast<int>(std::size(kFields))};

int weights_that_count(const std::array<std::int16_t, kMaxTemplateWeights>& weights) noexcept {
  return static_cast<int>(std::count_if(weights.begin(), weights.end(),
                                        [](std::int16_t weight) { return weight != 0; }));
}

/// Writes the summary and the least cost of a frame.
void describe_stages(const CellularNetworkPlan& plan, OperatorInfo& info) noexcept {
  const double cells = static_cast<double>(plan.size.width) * plan.size.height;
  info.least_bytes =
      cells * (bytes_per_pixel(plan.input_format) + bytes_per_pixel(plan.output_format));
  int radius = 0;
  int sweeps = 0;
  const CellStagePlan* before = nullptr;
  for (int s = 0; s < plan.stage_count; ++s) {
    const CellStagePlan& stage = plan.stages[static_cast<std::size_t>(s)];
    radius = std::max(radius, stage.radius);
    sweeps = std::max(sweeps, std::min(stage.max_sweeps, plan.max_sweeps));
    // The least cost is B u once and A y once, with a product and a sum for each weight. The cost
    // of later sweeps depends on how many cells change. A stage with the same weights as the
    // previous one reuses its sums.
    const bool same = before != nullptr && before->a == stage.a && before->b == stage.b;
    before = &stage;
    if (!same)
      info.least_flops += cells * 2.0 * (weights_that_count(stage.a) + weights_that_count(stage.b));
  }
  const int levels = before == nullptr ? 0 : before->levels;
  info.planes[0].levels = levels;
  std::snprintf(info.summary, sizeof(info.summary),
                "%d stage%s up to %dx%d, %d levels, at most %d sweep%s each%s%s", plan.stage_count,
                plan.stage_count == 1 ? "" : "s", 2 * radius + 1, 2 * radius + 1, levels, sweeps,
                sweeps == 1 ? "" : "s", plan.group_count > 0 ? ", in groups" : "",
                plan.warm_start ? ", warm start" : "");
}

}  // namespace

OperatorInfo info_of(const CellularNetworkPlan& plan) noexcept {
  OperatorInfo info;
  info.name = plan.name;
  info.size = plan.size;
  info.format = plan.input_format;
  info.planes[0] = {.name = "image",
                    .size = plan.size,
                    .format = plan.output_format,
                    .follows_frame = plan.output_format == plan.format,
                    .color = plan.chroma};
  info.record = &kRecord;
  info.depth = plan.depth;
  // The previous frame matters only with a warm start.
  info.support_frames = plan.warm_start ? 2 : 1;
  info.keeps_state = plan.warm_start;
  describe_stages(plan, info);
  return info;
}

}  // namespace ocellus::detail
