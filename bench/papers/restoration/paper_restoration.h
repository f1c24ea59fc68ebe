// PaperRestoration: the schedules of Nikonorov, Fursov and Yakimov (2012), for comparing their
// speed and results with those of the library. Not part of the library: it is linked into the
// program for `ocellus bench` and into tests.
//
// A block of 32 threads computes one pixel of one quadrant by a reduction. All four quadrants run
// at the same time. Borders, padding and formats are those of Restoration.
#pragma once

#include <cstdint>

#include "bench/papers/core/cuda_only.h"
#include "ocellus/restoration.h"

namespace ocellus::paper {

enum class PaperAllocation : std::uint8_t {
  /// A launch for each plane of the schedule: rows + columns - 1 launches, in one graph. A block
  /// for each point reads its whole neighborhood.
  kFixed,
  /// One launch. Blocks take the nearest column that is ready and free (listing 3). A block that
  /// stays in its column reads one row of the neighborhood.
  kFlexible,
};

struct PaperRestorationConfig : RestorationConfig {
  PaperAllocation allocation = PaperAllocation::kFlexible;
  /// A step of the recursion adds up (4) and (5). False: a kernel writes x1, the sum (4), before
  /// the recursion, as in the paper.
  bool fused = false;
  /// Blocks of the flexible allocation for each quadrant, 1 to 65535. The paper has 512.
  int blocks = 512;
  /// Shared memory that each block takes without use, in bytes. Lets tests limit the number of
  /// blocks that are resident.
  int unused_shared_bytes = 0;
};

/// The operator with the paper's kernels. `schedule` of the configuration has no effect.
/// Errors: those of Restoration, InvalidArgument for `blocks` and `unused_shared_bytes`.
class PaperRestoration : public CudaOnly<PaperRestoration, PaperRestorationConfig> {};

}  // namespace ocellus::paper
