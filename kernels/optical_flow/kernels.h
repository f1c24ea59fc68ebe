// The kernels of KernelFlow on CUDA and the plain data that they take. Functions return kernels, to
// be launched by the host side.
#pragma once

#include <cstdint>

#include "kernels/core/frame_params.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/optical_flow.h"

namespace ocellus::cuda {

/// Where the derivative kernels put the results of the convolutions: planes of floats over the
/// support, or (derivatives null) the user's planes.
struct ResultPlanes {
  float* derivatives;
  std::int64_t stride;  ///< floats
  std::int64_t plane;   ///< floats
  float invalid;        ///< written to the user's planes for a bad frame
};

// ---- a kernel for each pixel

/// A tile is what a warp computes at once: N neighbors along x in each lane, 16 pixels wide and
/// 2 N high.
inline constexpr int kTileWidth = 16;
constexpr int tile_height(int lane_pixels) {
  return 32 * lane_pixels / kTileWidth;
}
constexpr int tile_pixels(int lane_pixels) {
  return 32 * lane_pixels;
}

/// Taps and ring are stored so that all that a warp needs for one term of one convolution is one
/// piece of memory, and a frame reads the bank once from end to end:
///   taps: [tile][convolution][term][wx nx | wy ny | wt nt][pixels of a tile]
///   ring: [tile][convolution][term][nt slots][pixels of a tile]
/// wx and wy are stored in the order in which pixels lie in the image (reversed against the
/// convolution's index). Pixels beyond the support have zero taps.
struct RingArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null: a later kernel ends the frame
  PixelFormat format;
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
  const char* bank;
  char* ring;
  ResultPlanes result;
  float scale;  ///< from a pixel's value to gray levels of 8 bits
};

/// How taps and ring come to the warp that needs them.
enum class RingCopy : std::uint8_t {
  kDirect,  ///< straight into registers
  kAsync,   ///< into shared memory while the warp computes; compute capability 8.0
  kBulk,    ///< the same, by the copy engine of each multiprocessor; compute capability 9.0
};

struct RingVariant {
  CoefficientStorage storage;
  RingCopy copy;
  int lane_pixels;  ///< 2; with half storage also 4
  int nx;
  int ny;
  int nt;
};

/// Kernels of at most this many columns keep them in fewer registers.
inline constexpr int kNarrowTaps = 16;
/// Warps of a block, each with a part of the shared memory of its own.
inline constexpr int kRingWarps = 8;

/// Compiled for an older architecture than `ring_copy_capability` asks for, it does nothing.
Kernel<RingArguments> ring_filter_kernel(const RingVariant& variant) noexcept;
/// 10 x major + minor.
int ring_copy_capability(RingCopy copy) noexcept;
std::size_t ring_shared_bytes(const RingVariant& variant, int warps) noexcept;

// ---- uniform kernels

inline constexpr int kMaxUniformKernels = kMaxConvolutions * kMaxKernelTerms;
/// Spatial taps are computed with in fours; those beyond the profile's are zero.
inline constexpr int kPaddedTaps = 28;

/// In device memory.
struct UniformTaps {
  float temporal[kMaxUniformKernels][kMaxKernelTaps];
  float horizontal[kMaxUniformKernels][kPaddedTaps];
  float vertical[kMaxUniformKernels][kPaddedTaps];
};

/// The sums over time of each distinct temporal profile, over the pixels that the support's kernels
/// reach; keeps the frame for later sums.
struct TemporalArguments {
  const FrameParams* frame;
  TemporalState* state;
  const UniformTaps* taps;
  int x;  ///< of the region, in the image
  int y;
  int width;
  int height;
  int nt;
  int profiles;
  void* kept;                ///< nt frames of the region
  std::int64_t kept_stride;  ///< pixels, whole vectors
  float* sums;               ///< a plane for each profile
  std::int64_t sums_stride;  ///< floats, whole vectors
  std::int64_t sums_plane;   ///< floats
};

/// Neighboring pixels that one thread sums.
inline constexpr int kTemporalPixels = 4;
inline constexpr int kTemporalAcross = 32;  ///< threads of a block side by side
inline constexpr int kTemporalWidth = kTemporalPixels * kTemporalAcross;
inline constexpr int kTemporalHeight = 4;
inline constexpr int kTemporalThreads = kTemporalAcross * kTemporalHeight;
/// Profiles that one thread sums; grid.z counts groups of them.
inline constexpr int kTemporalProfiles = 4;

Kernel<TemporalArguments> temporal_sums_kernel(PixelFormat format) noexcept;

/// One vertical profile.
struct SpatialPass {
  std::uint8_t temporal;
  std::uint8_t horizontal;
  std::uint8_t convolution;  ///< to which it adds; those of one convolution follow each other
};

/// The separable spatial filters of those sums.
struct SpatialArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null: a later kernel ends the frame
  const UniformTaps* taps;
  int sums_width;
  int sums_height;
  int x;  ///< of the support, in the sums' region
  int y;
  int width;
  int height;
  int nx;
  int ny;
  int nt;
  int horizontals;
  int kernels;
  SpatialPass pass[kMaxUniformKernels];
  const float* sums;
  std::int64_t sums_stride;
  std::int64_t sums_plane;
  ResultPlanes result;
};

inline constexpr int kSpatialWidth = 32;
inline constexpr int kSpatialHeight = 32;
/// Neighbors along y that one thread computes.
inline constexpr int kSpatialRows = 8;
inline constexpr int kSpatialThreads = kSpatialWidth * kSpatialHeight / kSpatialRows;

Kernel<SpatialArguments> spatial_sums_kernel() noexcept;
std::size_t spatial_shared_bytes(int nx, int ny, int horizontals, int kernels) noexcept;

// ---- both

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

/// Pixels of a block; it is twice as high as the part of a column that one thread sums.
inline constexpr int kWindowWidth = 64;
enum class WindowShape : std::uint8_t {
  kLow,   ///< 8 rows: more blocks, for small images
  kHigh,  ///< 16 rows: each derivative is read for more windows
};
constexpr int window_height(WindowShape shape) {
  return shape == WindowShape::kHigh ? 16 : 8;
}

Kernel<WindowArguments> window_kernel(WindowShape shape, int radius) noexcept;
int window_threads(int radius) noexcept;
std::size_t window_shared_bytes(WindowShape shape, int radius) noexcept;

}  // namespace ocellus::cuda
