// Measured times of the levels of a cortical network, for its placement. Not for the real-time
// path: it takes up to a few seconds for each shape of level and allocates memory. Link
// ocellus::training.
//
// Source: Nere et al. (ocellus/cortical_network.h), section 7.1: a sample network is measured. Here
// it is one for each shape of level (inputs, minicolumns, points of the window): a network of one
// level whose image has an active on-off cell for each point of the window, so that the
// hypercolumns read as many weights as in the whole network (with fewer than 6 minicolumns, up to
// twice as many). Levels above the lowest one have no LGN cells; the time of a step on an image
// without active cells, which is that of the cells, is subtracted for them. A sample has as many
// bytes as the network, or `sample_bytes` if the network has more, so that it is in the same caches
// or in none. It gives the time of a hypercolumn; a sample of one hypercolumn gives the launch. All
// times are medians of learning steps after the random firing of the first ones. The times are
// those of CorticalNetwork on this machine's CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "ocellus/cortical_placement.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct CorticalProfile {
  /// Most bytes of a sample, which should be more than the caches: 2^16 to 2^32.
  std::uint64_t sample_bytes = std::uint64_t{128} << 20;
  int warm_up = 16;  ///< learning steps before the first that is measured, 0 to 1000
  int steps = 9;     ///< that are measured, for each median, 1 to 1000
};

/// One entry for each level of `config`. Errors: InvalidArgument (as place_cortical_network; a
/// member of `profile` out of its range), OutOfMemory.
Expected<std::vector<MeasuredLevel>> profile_cortical_network(const CorticalNetworkConfig& config,
                                                              const CorticalProfile& profile);

}  // namespace ocellus

#pragma GCC visibility pop
