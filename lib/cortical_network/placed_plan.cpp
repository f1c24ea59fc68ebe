#include "cortical_network/placed_plan.h"

#include <algorithm>
#include <new>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

/// The placement is checked as plain data: a caller may have changed it.
Expected<void> check_network(const Hierarchy& hierarchy,
                             const CorticalPlacement& placement) noexcept {
  const auto levels = static_cast<std::size_t>(hierarchy.level_count);
  if (placement.levels != hierarchy.level_count || placement.shapes.size() != levels ||
      placement.grids.size() != levels) {
    return invalid_argument("the placement has %d levels; the network has %d", placement.levels,
                            hierarchy.level_count);
  }
  for (int l = 0; l < hierarchy.level_count; ++l) {
    const LevelPlan& level = hierarchy.level(l);
    const ImageSize grid = placement.grids[static_cast<std::size_t>(l)];
    if (grid != ImageSize{level.columns, level.rows} ||
        !(placement.shapes[static_cast<std::size_t>(l)] == level)) {
      return invalid_argument(
          "the placement is of another network: its level %d has %dx%d hypercolumns, that of the "
          "network has %dx%d, or windows or minicolumns differ",
          l + 1, grid.width, grid.height, level.columns, level.rows);
    }
  }
  if (placement.split_levels < 0 || placement.split_levels > placement.cpu_level ||
      placement.cpu_level > placement.levels ||
      (placement.split_levels == 0 && placement.cpu_level > 0)) {
    return invalid_argument(
        "split_levels of the placement is %d and cpu_level is %d; they must be 0 or 1 to %d, in "
        "ascending order",
        placement.split_levels, placement.cpu_level, placement.levels);
  }
  if (placement.devices.empty() ||
      placement.devices.size() > static_cast<std::size_t>(kMaxPlacementDevices)) {
    return invalid_argument("the placement has %zu devices; it must have 1 to %d",
                            placement.devices.size(), kMaxPlacementDevices);
  }
  return {};
}

tl::unexpected<Error> wrong_part(const PlacementPart& part, const char* what) noexcept {
  return invalid_argument(
      "the part of the placement with levels %d to %d and roots %d to %d on device %d: %s",
      part.first_level + 1, part.end_level, part.first_root, part.end_root - 1, part.device, what);
}

Expected<void> make_pieces(const PlacementPart& from, const NetworkPlan& plan,
                           PlacedPart& part) noexcept {
  const std::size_t turns = from.turns.size();
  part.piece_count = turns == 0 ? 1 : static_cast<int>(turns);
  part.pieces.reset(new (std::nothrow) NetworkPiece[static_cast<std::size_t>(part.piece_count)]);
  if (part.pieces == nullptr) return no_memory_for_operator();
  if (turns == 0) {
    part.pieces[0] = NetworkPiece(plan, part.trees);
    return {};
  }
  // The buffers of two turns must be different.
  constexpr std::size_t kFewestTurns = 3;
  if (turns < kFewestTurns || part.on_cpu)
    return wrong_part(from, "only a GPU streams, in 2 turns or more");
  int next = from.first_root;
  for (std::size_t i = 0; i < turns; ++i) {
    const PlacementTurn& turn = from.turns[i];
    if (turn.first_root != next || turn.end_root < next || (i > 0 && turn.end_root == next))
      return wrong_part(from, "its turns do not follow each other");
    next = turn.end_root;
    part.pieces[i] =
        NetworkPiece(plan, {from.first_level, from.end_level, turn.first_root, turn.end_root});
  }
  if (next != from.end_root) return wrong_part(from, "its turns do not have all of its roots");
  return {};
}

Expected<void> add_part(const PlacementPart& from, const CorticalPlacement& placement,
                        PlacedPlan& plan) noexcept {
  if (plan.part_count == PlacedPlan::kMostParts)
    return wrong_part(from, "the placement has more parts than devices");
  if (from.device < 0 || from.device >= plan.device_count)
    return wrong_part(from, "there is no such device");
  PlacedPart& part = plan.parts[static_cast<std::size_t>(plan.part_count)];
  part.device = from.device;
  part.on_cpu =
      placement.devices[static_cast<std::size_t>(from.device)].kind == PlacementKind::kCpu;
  part.trees = {from.first_level, from.end_level, from.first_root, from.end_root};
  const bool split = from.first_level < plan.split_levels;
  const bool top = !split && from.first_level >= plan.cpu_level;
  const int first = split ? 0 : top ? plan.cpu_level : plan.split_levels;
  const int end = split ? plan.split_levels : top ? placement.levels : plan.cpu_level;
  if (from.first_level != first || from.end_level != end)
    return wrong_part(from, "its levels are not those between split_levels and cpu_level");
  const int roots = plan.hierarchy().level(end - 1).hypercolumns;
  if (split) {
    int next = 0;
    for (int i = 0; i < plan.part_count; ++i) {
      if (!plan.is_split(i)) continue;
      next = plan.part(i).trees.end_root;
      if (plan.part(i).device == from.device)
        return wrong_part(from, "the device has another part of these levels");
    }
    if (from.first_root != next || from.end_root <= next || from.end_root > roots)
      return wrong_part(from, "its roots do not follow those of the part before");
    const bool whole = from.first_root == 0 && from.end_root == roots && from.turns.empty();
    if (!whole && end > disjoint_levels(plan.hierarchy()))
      return wrong_part(from, "windows of its levels overlap, so that they cannot be split");
  } else {
    int& role = top ? plan.top_part : plan.merge_part;
    if (role != PlacedPlan::kNone || from.first_root != 0 || from.end_root != roots)
      return wrong_part(from, "one device must compute these levels");
    if (part.on_cpu != top || !from.turns.empty())
      return wrong_part(from, "a GPU must compute levels below cpu_level, the CPU the others");
    role = plan.part_count;
  }
  ++plan.part_count;
  return make_pieces(from, plan.network, part);
}

Expected<void> check_complete(const PlacedPlan& plan) noexcept {
  int split = 0;
  for (int i = 0; i < plan.part_count; ++i)
    if (plan.is_split(i)) split = plan.part(i).trees.end_root;
  const int levels = plan.hierarchy().level_count;
  const bool has_split =
      plan.split_levels == 0 || split == plan.hierarchy().level(plan.split_levels - 1).hypercolumns;
  const bool has_merge =
      (plan.merge_part != PlacedPlan::kNone) == (plan.split_levels < plan.cpu_level);
  const bool has_top = (plan.top_part != PlacedPlan::kNone) == (plan.cpu_level < levels);
  if (has_split && has_merge && has_top) return {};
  return invalid_argument("the placement has no part for some hypercolumns of levels %d to %d",
                          !has_split ? 1 : (!has_merge ? plan.split_levels : plan.cpu_level) + 1,
                          !has_split   ? plan.split_levels
                          : !has_merge ? plan.cpu_level
                                       : levels);
}

}  // namespace

std::size_t PlacedPart::buffer_bytes() const noexcept {
  std::size_t most = 0;
  for (int i = 1; i < piece_count; ++i) most = std::max(most, piece(i).bytes(PlacementKind::kGpu));
  return most;
}

int PlacedPlan::split_part(int device) const noexcept {
  for (int i = 0; i < part_count; ++i)
    if (is_split(i) && part(i).device == device) return i;
  return kNone;
}

bool PlacedPlan::uses(int device) const noexcept {
  for (int i = 0; i < part_count; ++i)
    if (part(i).device == device) return true;
  return false;
}

PlacedPlan::Where PlacedPlan::find(int level, int hypercolumn) const noexcept {
  for (int i = 0; i < part_count; ++i) {
    const PlacedPart& of = part(i);
    if (level < of.trees.first || level >= of.trees.end) continue;
    for (int p = 0; p < of.piece_count; ++p) {
      const PieceRun run = of.piece(p).run_from(hierarchy(), level, hypercolumn);
      if (run.count() > 0) return {i, p, run};
    }
  }
  return {};
}

Expected<std::unique_ptr<PlacedPlan>> make_placed_plan(
    const CorticalNetworkConfig& config, const CorticalPlacement& placement) noexcept {
  std::unique_ptr<PlacedPlan> plan(new (std::nothrow) PlacedPlan);
  if (plan == nullptr) return no_memory_for_operator();
  OCELLUS_TRY(make_network_plan(config, plan->network));
  if (config.feedback_rounds > 0) {
    return tl::unexpected(make_error(
        Status::kUnsupported, "feedback_rounds is %d; in a placed cortical network it must be 0",
        config.feedback_rounds));
  }
  OCELLUS_TRY(check_network(plan->hierarchy(), placement));
  plan->split_levels = placement.split_levels;
  plan->cpu_level = placement.cpu_level;
  plan->device_count = static_cast<int>(placement.devices.size());
  for (const PlacementPart& part : placement.parts) OCELLUS_TRY(add_part(part, placement, *plan));
  OCELLUS_TRY(check_complete(*plan));
  return plan;
}

}  // namespace ocellus::detail
