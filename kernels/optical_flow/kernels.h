// The CUDA kernels of KernelFlow, and their arguments as plain data. The functions return kernels,
// which the host launches.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/core/frame_params.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/moving_objects.h"

namespace ocellus::cuda {

/// The arguments of every kernel that may end the frame.
struct FrameArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null if a later kernel ends the frame
  int frames;             ///< temporal support
};

#if defined(__CUDACC__)

/// Must be called at the end of such a kernel, by all threads.
__device__ inline void end_frame(const FrameArguments& a) {
  if (a.outcome == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) finish_frame(a.state, a.outcome, a.frames, gridDim.x * gridDim.y);
}

#endif

struct FloatPlanes {
  float* base;
  std::int64_t stride;  ///< floats from row to row
  std::int64_t plane;   ///< floats from plane to plane
};

/// Planes with aligned rows, without memory.
constexpr FloatPlanes float_planes(int width, int height) {
  const std::int64_t stride = (width + 31) / 32 * 32;
  return {nullptr, stride, stride * height};
}

/// The rectangle with its position relative to that of `frame`.
constexpr Rect moved_into(const Rect& rect, const Rect& frame) {
  return {rect.x - frame.x, rect.y - frame.y, rect.width, rect.height};
}

/// What the convolutions write to the output planes for a bad frame.
inline constexpr float kBadResult = std::numeric_limits<float>::quiet_NaN();

// ---- a kernel for each pixel

/// A warp computes one tile at once. Each lane computes N neighboring pixels along x. The tile is
/// 16 pixels wide and 2 N pixels high.
inline constexpr int kTileWidth = 16;
constexpr int tile_height(int lane_pixels) {
  return 32 * lane_pixels / kTileWidth;
}
constexpr int tile_pixels(int lane_pixels) {
  return 32 * lane_pixels;
}

/// All taps that a warp needs for one term of one convolution form one piece of memory, and so does
/// the ring. A frame reads the bank once from start to end:
///   taps: [tile][convolution][term][wx nx | wy ny | wt nt][pixels of a tile]
///   ring: [tile][convolution][term][nt elements][pixels of a tile]
/// wx and wy are stored in image order, which reverses the index of the convolution. Pixels outside
/// the support have zero taps.
struct RingArguments : FrameArguments {
  PixelFormat format;
  ImageSize image;
  Rect support;
  int tiles_x;
  int tiles;
  int nx;
  int ny;
  int convolutions;
  int terms;
  char* bank;
  char* ring;
  FloatPlanes result;  ///< over the support; without a base: the output planes
  float scale;         ///< factor from pixel values to 8-bit gray levels
};

/// How taps and ring are copied to the warp.
enum class RingCopy : std::uint8_t {
  kDirect,  ///< loaded into registers
  /// Copied asynchronously into shared memory while the warp computes; compute capability 8.0.
  kAsync,
  kBulk,  ///< the same, by the copy engine of the multiprocessor; compute capability 9.0
};

struct RingVariant {
  CoefficientStorage storage;
  RingCopy copy;
  int lane_pixels;  ///< 2, or with half storage also 4
  int nx;
  int ny;
  int nt;
};

/// Kernels with at most this many columns use fewer registers.
inline constexpr int kNarrowTaps = 16;
/// Largest number of warps of a block. Each warp has its own part of the shared memory.
inline constexpr int kRingWarps = 8;

/// Returns the kernel. If it is compiled for an older architecture than ring_copy_capability()
/// requires, the kernel does nothing.
Kernel<RingArguments> ring_filter_kernel(const RingVariant& variant) noexcept;
/// The compute capability that a way of copying requires, 10 x major + minor.
constexpr int ring_copy_capability(RingCopy copy) {
  return copy == RingCopy::kBulk ? 90 : copy == RingCopy::kAsync ? 80 : 0;
}
std::size_t ring_shared_bytes(const RingVariant& variant, int warps) noexcept;

// ---- a kernel for each pixel that is not separable

/// Pixels of a tile along x. A warp computes a tile, which is one row high, two pixels in a lane.
inline constexpr int kFullWidth = 64;
inline constexpr int kFullThreads = 128;

/// A frame reads the bank once from start to end:
///   taps: [row][tile][convolution][tau][eta][xi][pixels of a tile]
/// eta and xi are stored in image order. Pixels outside the support have zero taps.
struct FullArguments : FrameArguments {
  ImageSize image;
  Rect support;
  int tiles_x;
  int nx;
  int ny;
  int convolutions;
  char* bank;
  /// The last frames, one in each plane: the pixels that whole tiles read, in 8-bit gray levels.
  FloatPlanes kept;
  FloatPlanes result;  ///< as in RingArguments
  float scale;         ///< factor from pixel values to 8-bit gray levels
};

/// Stores the frame for this and later sums; a thread for each pixel of a plane's rows.
Kernel<FullArguments> keep_frame_kernel(PixelFormat format) noexcept;
Kernel<FullArguments> full_filter_kernel(CoefficientStorage storage) noexcept;

// ---- uniform kernels

inline constexpr int kMaxUniformKernels = kMaxConvolutions * kMaxKernelTerms;
/// Spatial taps are processed in groups of four; taps beyond the profile are zero.
inline constexpr int kPaddedTaps = 28;

/// The taps of uniform kernels, in device memory.
struct UniformTaps {
  float temporal[kMaxUniformKernels][kMaxKernelTaps];
  float horizontal[kMaxUniformKernels][kPaddedTaps];
  float vertical[kMaxUniformKernels][kPaddedTaps];
};

/// Computes the sum over time of each distinct temporal profile, for the pixels that the kernels of
/// the support read. Also stores the frame for later sums.
struct TemporalArguments : FrameArguments {
  UniformTaps* taps;
  Rect region;
  int profiles;
  void* kept;                ///< the last frames of the region
  std::int64_t kept_stride;  ///< pixels from row to row, in whole vectors
  FloatPlanes sums;          ///< one plane for each profile, with rows of whole vectors
};

/// Number of neighboring pixels that a thread sums.
inline constexpr int kTemporalPixels = 4;
inline constexpr int kTemporalAcross = 32;  ///< threads of a block along x
inline constexpr int kTemporalWidth = kTemporalPixels * kTemporalAcross;
inline constexpr int kTemporalHeight = 4;
inline constexpr int kTemporalThreads = kTemporalAcross * kTemporalHeight;
/// Number of profiles that a thread sums; grid.z is the number of groups of profiles.
inline constexpr int kTemporalProfiles = 4;

Kernel<TemporalArguments> temporal_sums_kernel(PixelFormat format) noexcept;

/// A vertical profile.
struct SpatialPass {
  std::uint8_t temporal;
  std::uint8_t horizontal;
  /// Convolution that the result is added to; passes of one convolution are consecutive.
  std::uint8_t convolution;
};

/// Applies separable spatial filters to these sums.
struct SpatialArguments : FrameArguments {
  const UniformTaps* taps;
  ImageSize sums_size;
  Rect support;  ///< in the region of the sums
  int nx;
  int ny;
  int horizontals;
  int kernels;
  SpatialPass pass[kMaxUniformKernels];
  FloatPlanes sums;
  FloatPlanes result;  ///< as in RingArguments
};

inline constexpr int kSpatialWidth = 32;
inline constexpr int kSpatialHeight = 32;
/// Number of neighboring pixels along y that a thread computes.
inline constexpr int kSpatialRows = 8;
inline constexpr int kSpatialThreads = kSpatialWidth * kSpatialHeight / kSpatialRows;

Kernel<SpatialArguments> spatial_sums_kernel() noexcept;
std::size_t spatial_shared_bytes(int nx, int ny, int horizontals, int kernels) noexcept;

// ---- both

/// Images of at least this many pixels give all multiprocessors enough work with larger pieces.
constexpr bool is_large(const Rect& rect) {
  return static_cast<std::int64_t>(rect.width) * rect.height >= 250'000;
}

/// Where the window kernel reads Ix, Iy and It.
enum class WindowSource : std::uint8_t {
  kKernels,  ///< what the convolutions wrote; finite, unless the frame is bad
  kFrame,    ///< the frame, planes below each other; a window with a value that is not finite is
             ///< invalid
};

/// Applies the Lucas-Kanade window, solves equation (3), and ends the frame unless a later kernel
/// does.
struct WindowArguments : FrameArguments {
  FloatPlanes solved;       ///< for u, v and confidence; without a base: the output planes
  FloatPlanes derivatives;  ///< Ix, Iy, It over the support; for kKernels only
  ImageSize support;
  Rect region;  ///< in which flow is computed, in the support
  int radius;
  float weight[16];  ///< OpticalFlowPlan::weight
  float threshold;
  float invalid;
};

/// Width of a block's tile in pixels. Its height is twice that of the column segment that a thread
/// sums.
inline constexpr int kWindowWidth = 64;
inline constexpr int kLowWindow = 8;    ///< more blocks, for small images
inline constexpr int kHighWindow = 16;  ///< each derivative is read for more windows

Kernel<WindowArguments> window_kernel(int height, int radius, WindowSource source) noexcept;
int window_threads(int radius) noexcept;
std::size_t window_shared_bytes(int height, int radius) noexcept;

/// Samples the planes of a result in the centers of cells, for the search for moving objects.
struct ObjectCellArguments {
  const FrameParams* frame;
  detail::CellGrid grid;
  detail::CellSamples samples;  ///< pinned memory
  /// Of the cells that may move, for a frame without this plane; null: it is not needed.
  const float* deviation;
};
inline constexpr int kObjectCellThreads = 128;
Kernel<ObjectCellArguments> object_cells_kernel() noexcept;

}  // namespace ocellus::cuda
