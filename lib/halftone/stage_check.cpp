#include "halftone/stage_check.h"

#include <cmath>

namespace ocellus::detail {
namespace {

Expected<void> check_whole(const char* field, int value, int low, int high) noexcept {
  if (value >= low && value <= high) return {};
  return tl::unexpected(make_error(Status::kInvalidArgument, "%s is %d; it must be %d to %d", field,
                                   value, low, high));
}

Expected<void> check_real(const char* field, float value, float low, float high) noexcept {
  if (value >= low && value <= high) return {};  // false for NaN
  return tl::unexpected(make_error(Status::kInvalidArgument, "%s is %g; it must be %g to %g", field,
                                   static_cast<double>(value), static_cast<double>(low),
                                   static_cast<double>(high)));
}

Expected<void> check_weights(const char* field,
                             const std::array<float, kMaxTemplateWeights>& weights,
                             int radius) noexcept {
  const int side = 2 * radius + 1;
  for (int i = 0; i < side * side; ++i) {
    const float weight = weights[static_cast<std::size_t>(i)];
    if (std::fabs(weight) <= kMaxCellWeight) continue;  // false for NaN
    return tl::unexpected(make_error(
        Status::kInvalidArgument, "%s, row %d, column %d is %g; weights must be %g to %g", field,
        i / side + 1, i % side + 1, static_cast<double>(weight),
        -static_cast<double>(kMaxCellWeight), static_cast<double>(kMaxCellWeight)));
  }
  return {};
}

}  // namespace

Expected<void> check_cell_stage(const CellStage& stage) noexcept {
  Expected<void> checked = check_whole("radius", stage.weights.radius, 1, kMaxTemplateRadius);
  if (checked) checked = check_weights("a", stage.weights.a, stage.weights.radius);
  if (checked) checked = check_weights("b", stage.weights.b, stage.weights.radius);
  if (checked)
    checked = check_real("threshold", stage.weights.threshold, -kMaxCellWeight, kMaxCellWeight);
  if (checked) checked = check_whole("levels", stage.levels, 2, 256);
  if (checked && !(stage.xi > 0.0f && stage.xi <= kMaxCellXi)) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "xi is %g; it must be above 0 and at most %g",
                   static_cast<double>(stage.xi), static_cast<double>(kMaxCellXi)));
  }
  if (checked) {
    checked =
        check_whole("input", static_cast<int>(stage.input), 0, static_cast<int>(CellInput::kFrame));
  }
  if (checked) {
    checked = check_whole("start", static_cast<int>(stage.start), 0,
                          static_cast<int>(CellStart::kPrevious));
  }
  // Checked even if unused, because every value is converted to fixed point.
  if (checked) checked = check_real("start_value", stage.start_value, -1.0f, 1.0f);
  if (checked && stage.start == CellStart::kPlane && stage.start_plane == nullptr) {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "start is a plane, but start_plane is null; it must point to "
                                     "states"));
  }
  if (checked) {
    checked = check_whole("boundary", static_cast<int>(stage.boundary), 0,
                          static_cast<int>(CellBoundary::kPeriodic));
  }
  if (checked) checked = check_real("boundary_value", stage.boundary_value, -1.0f, 1.0f);
  if (checked) {
    checked = check_whole("update", static_cast<int>(stage.update), 0,
                          static_cast<int>(CellUpdate::kSynchronous));
  }
  if (checked) {
    checked =
        check_whole("move", static_cast<int>(stage.move), 0, static_cast<int>(CellMove::kSwap));
  }
  if (checked && stage.color_spacing != 0) {
    const int least = stage.weights.radius + (stage.move == CellMove::kSwap ? 2 : 1);
    checked = check_whole("color_spacing", stage.color_spacing, least, kMaxColorSpacing);
  }
  if (checked) checked = check_whole("max_sweeps", stage.max_sweeps, 1, kMaxCellSweeps);
  if (checked) checked = check_whole("group_stages", stage.group_stages, 0, kMaxCellStages);
  if (checked) checked = check_whole("max_passes", stage.max_passes, 1, kMaxCellPasses);
  return checked;
}

Expected<void> check_cell_groups(const CellStage* stages, int count) noexcept {
  int first = 0;
  int end = 0;  // of the present group
  for (int i = 0; i < count; ++i) {
    const CellStage& stage = stages[i];
    if (stage.group_stages > 0 && i < end) {
      return tl::unexpected(make_error(
          Status::kInvalidArgument,
          "stages[%d].group_stages is %d, but the stage is part of the group that begins with "
          "stages[%d]; groups must not overlap",
          i, stage.group_stages, first));
    }
    if (stage.group_stages > count - i) {
      return tl::unexpected(make_error(
          Status::kInvalidArgument,
          "stages[%d].group_stages is %d; it must be at most %d, the number of stages from this "
          "one on",
          i, stage.group_stages, count - i));
    }
    if (stage.group_stages > 0) {
      first = i;
      end = i + stage.group_stages;
    }
    if (i < end && stage.start == CellStart::kErrorDiffusion) {
      return tl::unexpected(make_error(
          Status::kInvalidArgument,
          "stages[%d].start is kErrorDiffusion, but the stage is part of a group; the stages of a "
          "group must start in another way",
          i));
    }
  }
  return {};
}

}  // namespace ocellus::detail
