// PaperFlow and PaperFilter: the schedules of Ohmura et al. 2011 (sections III.A and III.B), for
// comparing their speed with that of the library. They are checked against the same reference. Not
// part of the library: they are linked into the program for `ocellus bench` and into tests.
//
// For each new frame, pixel and convolution, the paper evaluates equation (2) directly: one sum
// over space and time of nx x ny x nt terms. A kernel consists of three one-dimensional arrays for
// each pixel (table II), which are read from global memory. Each tap is the product of their
// elements. For 15x15x20 taps this takes 15x15x20 + 15x20 + 15x15x20 multiplications and 15x15x20
// additions, from which the 41,400 operations of equation (4) follow. The last nt frames are
// stored, not the spatial sums.
#pragma once

#include <cstdint>

#include "bench/papers/core/cuda_only.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"

namespace ocellus::paper {

/// Largest number of convolutions that one kernel computes (figure 10).
inline constexpr int kMaxPackage = 4;

/// The memory from which the sums read the frames.
enum class FrameMemory : std::uint8_t {
  kGlobal,
  kShared,  ///< a tile of each frame is first copied to shared memory
};

struct Schedule {
  FrameMemory frames = FrameMemory::kShared;
  /// Number of convolutions that one launch computes, 1 to kMaxPackage. It reads the frames once
  /// for all of them (section III.B). Taps of two convolutions are interleaved and read as float2.
  int package = 3;
};

/// Number of multiplications and additions for one pixel and convolution: equation (4) without its
/// factor 3.
constexpr double operations(const KernelConfig& k) {
  return 3.0 * k.nx * k.ny * k.nt + static_cast<double>(k.ny) * k.nt;
}

template <typename Config>
struct WithSchedule : Config {
  Schedule schedule;
};

/// The operators with the paper's kernels for the convolutions. Graphs, streams, copies, window and
/// solution are those of the library, so that only the schedules of the convolutions are compared.
/// Errors: those of the operator. Unsupported for anything other than per-pixel kernels of one term
/// in float storage over the whole image.
template <typename Config>
class PaperOperator : public CudaOnly<PaperOperator<Config>, WithSchedule<Config>> {};

using PaperFlow = PaperOperator<OpticalFlowConfig>;
using PaperFilter = PaperOperator<SpatioTemporalFilterConfig>;

}  // namespace ocellus::paper
