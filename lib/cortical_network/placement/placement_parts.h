// Parts of a placement: subtrees on a device, all resident or streamed in turns, and shares.
#pragma once

#include <optional>
#include <vector>

#include "cortical_network/placement/placement_model.h"

namespace ocellus::detail {

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

/// Splits the levels [0, end) in proportion to the speed of the participants, up to their memory.
/// Returns one part for each participant with a share, in the order of the participants, or nothing
/// if their memory is too small.
std::optional<std::vector<PlacementPart>> split_levels(const PlacementModel& model,
                                                       const std::vector<PlacementDevice>& devices,
                                                       const std::vector<Participant>& participants,
                                                       int end);

}  // namespace ocellus::detail
