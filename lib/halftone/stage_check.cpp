#include "halftone/stage_check.h"

#include <cmath>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

Expected<void> check_whole(const char* field, int value, int low, int high) noexcept {
  if (value >= low && value <= high) return {};
  return invalid_argument("%s is %d; it must be %d to %d", field, value, low, high);
}

template <typename Enumerator>
Expected<void> check_enumerator(const char* field, Enumerator value, Enumerator last) noexcept {
  return check_whole(field, static_cast<int>(value), 0, static_cast<int>(last));
}

Expected<void> check_real(const char* field, float value, float low, float high) noexcept {
  if (value >= low && value <= high) return {};  // false for NaN
  return invalid_argument("%s is %g; it must be %g to %g", field, static_cast<double>(value),
                          static_cast<double>(low), static_cast<double>(high));
}

Expected<void> check_weights(const char* field,
                             const std::array<float, kMaxTemplateWeights>& weights,
                             int radius) noexcept {
  const int side = 2 * radius + 1;
  for (int i = 0; i < side * side; ++i) {
    const float weight = weights[static_cast<std::size_t>(i)];
    if (std::fabs(weight) <= kMaxCellWeight) continue;  // false for NaN
    return invalid_argument("%s, row %d, column %d is %g; weights must be %g to %g", field,
                            i / side + 1, i % side + 1, static_cast<double>(weight),
                            -static_cast<double>(kMaxCellWeight),
                            static_cast<double>(kMaxCellWeight));
  }
  return {};
}

}  // namespace

Expected<void> check_cell_stage(const CellStage& stage) noexcept {
  OCELLUS_TRY(check_whole("radius", stage.weights.radius, 1, kMaxTemplateRadius));
  OCELLUS_TRY(check_weights("a", stage.weights.a, stage.weights.radius));
  OCELLUS_TRY(check_weights("b", stage.weights.b, stage.weights.radius));
  OCELLUS_TRY(check_real("threshold", stage.weights.threshold, -kMaxCellWeight, kMaxCellWeight));
  OCELLUS_TRY(check_whole("levels", stage.levels, 2, 256));
  if (!(stage.xi > 0.0f && stage.xi <= kMaxCellXi)) {
    return invalid_argument("xi is %g; it must be above 0 and at most %g",
                            static_cast<double>(stage.xi), static_cast<double>(kMaxCellXi));
  }
  OCELLUS_TRY(check_enumerator("input", stage.input, CellInput::kFrame));
  OCELLUS_TRY(check_enumerator("start", stage.start, CellStart::kPrevious));
  // Checked even if unused, because every value is converted to fixed point.
  OCELLUS_TRY(check_real("start_value", stage.start_value, -1.0f, 1.0f));
  if (stage.start == CellStart::kPlane && stage.start_plane == nullptr) {
    return invalid_argument("start is a plane, but start_plane is null; it must point to states");
  }
  OCELLUS_TRY(check_enumerator("boundary", stage.boundary, CellBoundary::kPeriodic));
  OCELLUS_TRY(check_real("boundary_value", stage.boundary_value, -1.0f, 1.0f));
  OCELLUS_TRY(check_enumerator("update", stage.update, CellUpdate::kSynchronous));
  OCELLUS_TRY(check_enumerator("move", stage.move, CellMove::kSwap));
  if (stage.color_spacing != 0) {
    const int least = stage.weights.radius + (stage.move == CellMove::kSwap ? 2 : 1);
    OCELLUS_TRY(check_whole("color_spacing", stage.color_spacing, least, kMaxColorSpacing));
  }
  OCELLUS_TRY(check_whole("max_sweeps", stage.max_sweeps, 1, kMaxCellSweeps));
  OCELLUS_TRY(check_whole("group_stages", stage.group_stages, 0, kMaxCellStages));
  return check_whole("max_passes", stage.max_passes, 1, kMaxCellPasses);
}

Expected<void> check_cell_groups(const CellStage* stages, int count) noexcept {
  int first = 0;
  int end = 0;  // of the present group
  for (int i = 0; i < count; ++i) {
    const CellStage& stage = stages[i];
    if (stage.group_stages > 0 && i < end) {
      return invalid_argument(
          "stages[%d].group_stages is %d, but the stage is part of the group that begins with "
          "stages[%d]; groups must not overlap",
          i, stage.group_stages, first);
    }
    if (stage.group_stages > count - i) {
      return invalid_argument(
          "stages[%d].group_stages is %d; it must be at most %d, the number of stages from this "
          "one on",
          i, stage.group_stages, count - i);
    }
    if (stage.group_stages > 0) {
      first = i;
      end = i + stage.group_stages;
    }
    if (i < end && stage.start == CellStart::kErrorDiffusion) {
      return invalid_argument(
          "stages[%d].start is kErrorDiffusion, but the stage is part of a group; the stages of a "
          "group must start in another way",
          i);
    }
  }
  return {};
}

}  // namespace ocellus::detail
