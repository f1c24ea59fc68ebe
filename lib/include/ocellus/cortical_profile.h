// Measured times of the levels of a cortical network, for its placement. Not for the real-time
// path: it takes a part of a second for each level shape and allocates memory. Link
// ocellus::training.
//
// Source: Nere et al. (ocellus/cortical_network.h), section 7.1: a sample network is measured. Here
// it is one for each shape of level (inputs, minicolumns, points of the window): a network of one
// level whose image has an active on-off cell for each point of the window, so that the
// hypercolumns read as many weights as in the whole network (with fewer than 6 minicolumns, up to
// twice as many). Levels above the lowest one have no
// LGN cells; the time of a step on an image without active cells, which is that of the cells, is
// subtracted for them. Two sizes give the line launch + n * time of a hypercolumn. All times are
// medians of learning steps after the random firing of the first ones. The times are those of
// CorticalNetwork on this machine's CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "ocellus/cortical_placement.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct CorticalProfile {
  /// Weights of a sample, which should be larger than the caches, as those of a whole network are:
  /// 2^16 to 2^32 bytes. A level with less is measured with what it has.
  std::uint64_t sample_bytes = std::uint64_t{64} << 20;
  int warm_up = 24;  ///< learning steps before the first that is measured, 0 to 1000
  int steps = 9;     ///< that are measured, for each median, 1 to 1000
};

/// One entry for each level of `config`. Errors: InvalidArgument (as place_cortical_network; a
/// member of `profile` out of its range), OutOfMemory.
Expected<std::vector<MeasuredLevel>> profile_cortical_network(const CorticalNetworkConfig& config,
                                                              const CorticalProfile& profile);

}  // namespace ocellus

#pragma GCC visibility pop
