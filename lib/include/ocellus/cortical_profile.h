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
//
// On a GPU, levels share launches, and a level alone takes longer than together with others. There
// the sample is the network itself, or one over a smaller image if it has more bytes than
// `gpu_sample_bytes` or the device. The lowest 1, 2, ... levels are measured as networks of their
// own, and a level takes what it adds. The difference between two sizes of the sample gives the
// time of a hypercolumn, and the rest of what a level adds is its launch. Steps are measured on the
// host, with the image in pinned memory; transfers are subtracted as the placement predicts them.
#pragma once

#include <cstdint>
#include <vector>

#include "ocellus/cortical_placement.h"
#include "ocellus/engine.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct CorticalProfile {
  /// Most bytes of a sample, which should be more than the caches: 2^16 to 2^32.
  std::uint64_t sample_bytes = std::uint64_t{128} << 20;
  /// Of a GPU: 2^16 to 2^40.
  std::uint64_t gpu_sample_bytes = std::uint64_t{8} << 30;
  int warm_up = 16;  ///< learning steps before the first that is measured, 0 to 1000
  int steps = 9;     ///< that are measured, for each median, 1 to 1000
};

/// One entry for each level of `config`. Errors: InvalidArgument (as place_cortical_network; a
/// member of `profile` out of its range), OutOfMemory.
Expected<std::vector<MeasuredLevel>> profile_cortical_network(const CorticalNetworkConfig& config,
                                                              const CorticalProfile& profile);

/// What is measured of a GPU; the members are those of PlacementDevice.
struct MeasuredDevice {
  std::vector<MeasuredLevel> measured{};
  double link_bytes_per_s = 0.0;
  double link_both_bytes_per_s = 0.0;
  double link_latency_s = 0.0;
};

/// Measures the CUDA device of an engine's configuration, and copies between its memory and pinned
/// memory. `memory`: bytes that the samples may take on the device. Errors: those above; those of
/// Engine::create and PlacedCorticalNetwork.
Expected<MeasuredDevice> profile_cortical_device(const CorticalNetworkConfig& config,
                                                 const CorticalProfile& profile,
                                                 const EngineConfig& engine, std::uint64_t memory);

}  // namespace ocellus

#pragma GCC visibility pop
