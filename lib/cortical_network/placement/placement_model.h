// Times and bytes of subtrees of a cortical network on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortical_network/network_piece.h"
#include "ocellus/cortical_placement.h"

namespace ocellus::detail {

HypercolumnCost cost_of(const LevelPlan& level, bool lowest, PlacementKind kind) noexcept;

class PlacementModel {
 public:
  /// The devices must be valid, and live as long as the model.
  PlacementModel(const Hierarchy& hierarchy, const std::vector<PlacementDevice>& devices);

  const Hierarchy& hierarchy() const noexcept { return hierarchy_; }
  int levels() const noexcept { return hierarchy_.level_count; }
  int roots(int level) const noexcept { return hierarchy_.level(level).hypercolumns; }
  /// See detail::disjoint_levels().
  int disjoint_levels() const noexcept { return disjoint_levels_; }

  std::int64_t hypercolumns(const Subtrees& trees, int level) const noexcept;
  std::int64_t hypercolumns(const Subtrees& trees) const noexcept;
  std::uint64_t bytes(const Subtrees& trees) const noexcept;
  /// Memory of a device for subtrees: without what it needs beside them.
  std::uint64_t room(int device) const noexcept;
  std::uint64_t bytes_of_largest_subtree(int first, int end) const noexcept;
  /// Time at the full rate of the device, without the effect of its width.
  double work(int device, const Subtrees& trees) const noexcept;
  double compute_s(int device, const Subtrees& trees) const noexcept;
  double launch_s(int device, const Subtrees& trees) const noexcept;
  double input_s(int device, const Subtrees& trees) const noexcept;
  double ideal_s() const noexcept;

 private:
  struct LevelCost {
    double launch_s = 0.0;
    double hypercolumn_s = 0.0;
    double width = 1.0;
  };

  const LevelCost& cost(int device, int level) const noexcept {
    return costs_[static_cast<std::size_t>(device)][static_cast<std::size_t>(level)];
  }

  const Hierarchy& hierarchy_;
  const std::vector<PlacementDevice>& devices_;
  std::vector<std::uint64_t> memory_;          // [level], of a hypercolumn
  std::vector<std::vector<LevelCost>> costs_;  // [device][level]
  int disjoint_levels_ = 0;
};

// ---- parts of a placement: subtrees on a device, all resident or streamed in turns, and shares

/// A device that takes part in the split levels.
struct Participant {
  int device = 0;
  std::uint64_t memory = 0;  ///< left for its part
  bool streams = false;      ///< may pass subtrees through its memory
};

/// The subtrees on the device, or nothing if they do not fit.
std::optional<PlacementPart> make_part(const PlacementModel& model,
                                       const std::vector<PlacementDevice>& devices,
                                       const Participant& on, const Subtrees& trees);

/// Splits the levels [0, end) by the rule: in proportion to the speed of the participants, up to
/// their memory, or evenly. Returns one part for each participant with a share, in the order of the
/// participants, or nothing if their memory is too small.
std::optional<std::vector<PlacementPart>> split_levels(const PlacementModel& model,
                                                       const std::vector<PlacementDevice>& devices,
                                                       const std::vector<Participant>& participants,
                                                       int end, PlacementRule rule);

}  // namespace ocellus::detail
