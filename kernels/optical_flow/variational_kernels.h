// The CUDA kernels of the variational solver (optical_flow/variational.h), and their arguments as
// plain data.
#pragma once

#include "kernels/optical_flow/pyramid_kernels.h"
#include "optical_flow/variational.h"

namespace ocellus::cuda {

/// Gives pixels the flow of a neighbor that fits better. The source is the coarser level.
inline constexpr int kCandidateThreads = 512;
inline constexpr int kCandidateColumns = kPyramidTileWidth - 2;  ///< of what a block writes
inline constexpr int kCandidateRows = kCandidateThreads / kPyramidTileWidth - 2;
Kernel<FlowArguments> candidate_kernel() noexcept;

/// The linear system of a warp, two float4 for each pixel: xx, xy and yy of the inverse of its
/// block, times the relaxation, with the weight of the right neighbor; the constant with the
/// weights of the lower and of the left neighbor.
struct SystemPlanes {
  float4* inverse;
  float4* constant;
};

/// Warps the next frame and sets up the system.
struct SystemArguments : FlowArguments {
  SystemPlanes system;
  float* residual;    ///< null, or the plane for W - A
  float* confidence;  ///< null, or that for the smaller eigenvalue of the data term
  float smoothness;
};
/// Number of rows of a tile; each has kPyramidTileWidth threads. A low tile has more pixels around
/// what it writes, but takes less time where multiprocessors are left.
inline constexpr int kLowSystemTile = 8;
inline constexpr int kHighSystemTile = 16;
Kernel<SystemArguments> system_kernel(int height) noexcept;

/// Half sweeps of the relaxation.
struct SweepArguments : FlowArguments {
  SystemPlanes system;
  FlowSource before;  ///< the flow before the warp, for the last launch
  int first;          ///< number of the first half sweep of the launch
  int count;          ///< at most the `most` of the kernel
  bool last;          ///< limits the step of the warp
  bool median;        ///< takes the median of 3x3 pixels, too
};
/// A variant of the kernel. A block has a tile with as many pixels around what it writes as half
/// sweeps, so that it needs no other block.
struct SweepVariant {
  int most;     ///< half sweeps of a launch
  int threads;  ///< of a block

  static constexpr int kTileWidth = 64;  ///< two columns a lane
  static constexpr int kRowsOfThread = 4;
  constexpr int tile_height() const { return threads / 32 * kRowsOfThread; }
  /// Pixels around what a block writes. One more is for the median.
  constexpr int halo() const { return most + 1; }
  constexpr int columns() const { return kTileWidth - 2 * halo(); }  ///< of what a block writes
  constexpr int rows() const { return tile_height() - 2 * halo(); }
};
inline constexpr SweepVariant kSweepVariants[] = {
    {8, 640}, {12, 384}, {12, 640}, {24, 512}, {24, 640}};
/// `variant`: its index.
Kernel<SweepArguments> sweep_kernel(int variant) noexcept;

/// The guided median.
struct GuidedMedianArguments : FlowArguments {
  const float* residual;
  const float* confidence;  ///< null, or what the target's confidence is a part of
  int reweightings;
};
inline constexpr int kGuidedTileHeight = 8;
Kernel<GuidedMedianArguments> guided_median_kernel() noexcept;

}  // namespace ocellus::cuda
