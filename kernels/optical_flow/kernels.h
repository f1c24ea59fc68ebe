// The kernels of KernelFlow on CUDA and the plain data that they take. Functions return kernels, to
// be launched by the host side.
#pragma once

#include <cstdint>

#include "kernels/optical_flow/frame_params.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/optical_flow.h"

namespace ocellus::cuda {

template <typename Argument>
using Kernel = void (*)(Argument);

/// Where the derivative kernels put the results of the convolutions: planes of floats over the
/// support, or (derivatives null) the user's planes.
struct ResultPlanes {
  float* derivatives;
  std::int64_t stride;  ///< floats
  std::int64_t plane;   ///< floats
  float invalid;        ///< written to the user's planes for a bad frame
};

// ---- a kernel for each pixel

/// Pixels of a tile: what a warp computes at once, two neighbours along x in each lane.
inline constexpr int kTileWidth = 16;
inline constexpr int kTileHeight = 4;
inline constexpr int kTilePixels = kTileWidth * kTileHeight;

/// Taps and ring are stored tile by tile, so that a warp reads them in whole lines and a frame
/// reads the bank once from end to end:
///   taps: [tile][convolution][term][wx nx | wy ny | wt nt][64 pixels]
///   ring: [tile][convolution][term][nt slots][64 pixels]
/// wx and wy are stored in the order in which pixels lie in the image (reversed against the
/// convolution's index). Pixels beyond the support have zero taps.
struct RingArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null: a later kernel ends the frame
  int image_width;
  int image_height;
  int x;  ///< of the support, in the image
  int y;
  int width;  ///< of the support
  int height;
  int tiles_x;
  int tiles;
  int nx;
  int ny;
  int nt;
  int convolutions;
  int terms;
  const void* bank;
  void* ring;
  ResultPlanes result;
  float scale;  ///< from a pixel's value to grey levels of 8 bits
};

inline constexpr int kRingThreads = 64;

Kernel<RingArguments> ring_filter_kernel(CoefficientStorage storage, PixelFormat format) noexcept;
std::size_t ring_filter_shared_bytes(const RingArguments& arguments) noexcept;
inline int ring_filter_blocks(int tiles) {
  return (tiles + kRingThreads / 32 - 1) / (kRingThreads / 32);
}

// ---- uniform kernels

/// In device memory.
struct UniformTaps {
  float temporal[kMaxConvolutions * kMaxKernelTerms][kMaxKernelTaps];
  float horizontal[kMaxConvolutions * kMaxKernelTerms][kMaxKernelTaps];
  float vertical[kMaxConvolutions * kMaxKernelTerms][kMaxKernelTaps];
  int temporal_of[kMaxConvolutions * kMaxKernelTerms];     ///< of a horizontal profile
  int horizontal_of[kMaxConvolutions * kMaxKernelTerms];   ///< of a vertical profile
  int convolution_of[kMaxConvolutions * kMaxKernelTerms];  ///< of a vertical profile
};

/// The sums over time of each distinct temporal profile, over the pixels that the support's kernels
/// reach; keeps the frame for later sums.
struct TemporalArguments {
  const FrameParams* frame;
  TemporalState* state;
  const UniformTaps* taps;
  int image_width;
  int image_height;
  int x;  ///< of the region, in the image
  int y;
  int width;
  int height;
  int nt;
  int profiles;
  void* kept;                ///< nt frames of the region
  std::int64_t kept_stride;  ///< pixels
  float* sums;               ///< a plane for each profile
  std::int64_t sums_stride;  ///< floats
  std::int64_t sums_plane;   ///< floats
};

inline constexpr int kTemporalWidth = 64;
inline constexpr int kTemporalHeight = 4;
/// Profiles that one thread sums; grid.z counts groups of them.
inline constexpr int kTemporalProfiles = 4;

Kernel<TemporalArguments> temporal_sums_kernel(PixelFormat format) noexcept;

/// The separable spatial filters of those sums.
struct SpatialArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null: a later kernel ends the frame
  const UniformTaps* taps;
  int image_width;
  int image_height;
  int reach_x;  ///< of the sums' region, in the image
  int reach_y;
  int x;  ///< of the support, in the image
  int y;
  int width;
  int height;
  int nx;
  int ny;
  int nt;
  int kernels;  ///< vertical profiles
  const float* sums;
  std::int64_t sums_stride;
  std::int64_t sums_plane;
  ResultPlanes result;
};

inline constexpr int kSpatialWidth = 32;
inline constexpr int kSpatialHeight = 8;

Kernel<SpatialArguments> spatial_sums_kernel() noexcept;

// ---- both

/// Looks for values that are not finite in a frame of floats.
struct CheckArguments {
  const FrameParams* frame;
  TemporalState* state;
  int width;
  int height;
};
inline constexpr int kCheckThreads = 256;
Kernel<CheckArguments> check_kernel() noexcept;

/// The Lucas-Kanade window and the solution of equation (3); ends the frame.
struct WindowArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  const float* derivatives;  ///< Ix, Iy, It over the support
  std::int64_t stride;       ///< floats
  std::int64_t plane;        ///< floats
  int support_width;
  int support_height;
  int x;  ///< of the region of interest, in the support
  int y;
  int width;
  int height;
  int radius;
  int frames;        ///< temporal support
  float weight[16];  ///< OpticalFlowPlan::weight
  float threshold;
  float invalid;
};

inline constexpr int kWindowWidth = 32;
inline constexpr int kWindowHeight = 8;

Kernel<WindowArguments> window_kernel() noexcept;
std::size_t window_shared_bytes(int radius) noexcept;

}  // namespace ocellus::cuda
