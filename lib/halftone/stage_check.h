// What a stage of the cellular network may hold, in one place for the operator, the files and the
// program.
#pragma once

#include "ocellus/cellular_network.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Largest magnitude of a weight and of a threshold.
inline constexpr float kMaxCellWeight = 16383.0f;
inline constexpr float kMaxCellXi = 100.0f;
inline constexpr int kMaxCellSweeps = 100000;
inline constexpr int kMaxColorSpacing = 9;

/// Every field of a stage but for its planes, of which nothing but their presence is looked at.
/// Errors: InvalidArgument; the text begins with the field's name.
Expected<void> check_cell_stage(const CellStage& stage) noexcept;

}  // namespace ocellus::detail
