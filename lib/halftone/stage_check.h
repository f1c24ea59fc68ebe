// Checks the fields of a stage of the cellular network, for the operator, the files and the
// program.
#pragma once

#include "ocellus/cellular_network.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Largest magnitude of a weight or a threshold.
inline constexpr float kMaxCellWeight = 16383.0f;
inline constexpr float kMaxCellXi = 100.0f;
inline constexpr int kMaxCellSweeps = 100000;
inline constexpr int kMaxCellPasses = 100000;
inline constexpr int kMaxColorSpacing = 9;

/// Checks every field of a stage. Of planes, only their presence is checked. Errors:
/// InvalidArgument; the text begins with the field's name.
Expected<void> check_cell_stage(const CellStage& stage) noexcept;

/// Checks that the groups of `count` valid stages neither overlap nor go beyond the last stage, and
/// that their stages may be repeated. Errors: InvalidArgument; the text begins with the stage, as
/// in "stages[2].".
Expected<void> check_cell_groups(const CellStage* stages, int count) noexcept;

}  // namespace ocellus::detail
