// The CUDA kernels of PyramidFlow, and their arguments as plain data. A kernel executes several
// steps of the CPU backend tile by tile, and keeps intermediate results in shared memory.
#pragma once

#include <cstdint>

#include "kernels/core/frame_params.h"
#include "kernels/optical_flow/kernels.h"
#include "optical_flow/deviation.h"

namespace ocellus::cuda {

/// Number of threads of a block, unless stated otherwise, and width of its tile in pixels.
inline constexpr int kPyramidThreads = 256;
inline constexpr int kPyramidTileWidth = 32;

// ---- a new frame

/// Reduces one level to the next, which has half the size. Level 0 is read from the camera's image.
struct ReduceArguments {
  const FrameParams* frame;
  const float* from;         ///< null: level 0
  std::int64_t from_stride;  ///< floats from row to row
  float* to;
  std::int64_t to_stride;  ///< floats from row to row
  int from_width;
  int from_height;
  int width;
  int height;
  float scale;  ///< factor to 8-bit gray levels
};

inline constexpr int kReduceTileHeight = 8;

/// `format`: of the pixels that are read.
Kernel<ReduceArguments> reduce_kernel(PixelFormat format) noexcept;

/// A level of a stored frame. Planes are readable one pixel before the image and two pixels after
/// it, where they repeat its edges.
struct StoredLevel {
  std::int64_t origin;  ///< position of pixel (0, 0), in floats from the start of the frame
  int stride;           ///< floats from row to row
  int width;
  int height;
};

/// All levels of both stored frames, and their guides: `frame_floats` floats each.
struct FlowWindow {
  float* base;
  std::int64_t frame_floats;
};

/// Normalizes and smooths all levels, and stores them in the window of frames.
struct PrepareArguments : FrameArguments {
  FlowWindow window;
  int levels;
  struct Level {
    const float* raw;  ///< null: level 0, which is read from the camera's image
    std::int64_t raw_stride;
    StoredLevel stored;
    int tiles_x;
    int first_tile;  ///< index of the level's first tile in the launch
  } level[detail::kMaxPyramidLevels];
  /// Level 0 before it is normalized or smoothed, in the window; without pixels if it is not wanted
  StoredLevel guide;
  float scale;
  float presmoothing[detail::kPresmoothingRadius + 1];
};

inline constexpr int kPrepareTileHeight = 24;

Kernel<PrepareArguments> prepare_kernel(PixelFormat format, bool normalize) noexcept;

// ---- the flow of the reference frame

/// Source of the present flow, at pixels of the level's region. Pixel indices fit in 32 bits
/// because of kMaxImageSide.
struct FlowSource {
  const float2* flow;
  int stride;  ///< float2 from row to row; 0 repeats one row
  /// True: flow of the next coarser level, which is doubled; false: flow of this level.
  bool coarse = false;
  // for `coarse`
  int region_y = 0;  ///< position of this level's region in its image
  int first_x = 0;   ///< column of the coarse plane that corresponds to the region's first pixel
  int coarse_y = 0;  ///< position of the coarse region in its image
  int coarse_width = 0;
  int coarse_height = 0;
};

/// Destination of results: planes of this level for the whole region or, in the kernel that ends
/// the frame, the output planes for the region of interest.
struct FlowTarget {
  float2* flow;
  float* confidence;  ///< null: confidence is not written
  Rect part;          ///< the pixels to write, in the region
  // For the output planes.
  float threshold;
  float invalid;
};

/// The parameters of a level for the flow kernels.
struct FlowLevel {
  StoredLevel stored;
  StoredLevel guide;  ///< the same before it was normalized or smoothed
  Rect region;
  int stride;  ///< elements from row to row, of all planes of the region
};

/// What the kernels of a level have in common.
struct FlowArguments : FrameArguments {
  FlowWindow window;
  FlowLevel level;
  FlowSource source;
  FlowTarget target;
};

/// Solves for the remaining motion.
struct SolveArguments : FlowArguments {
  /// The mean of the reference and the warped frame, and their difference
  const float2* warped;
  int radius;
  /// Weights of the window along one axis, with three zeros before and after them, because four
  /// neighboring pixels read the same values.
  float weight[2 * (detail::kMaxWindow / 2) + 1 + 6];
  float ridge;
};
/// Radius of the window of the preset `fast`, for which there are kernels of their own.
inline constexpr int kUsualWindowRadius = 5;
/// Number of rows of a tile. The pixels that a tile reads should occupy the threads well, and the
/// tile must fit in the shared memory of all devices.
inline constexpr int solve_tile_height(int radius) {
  return radius == kUsualWindowRadius ? 18 : radius <= 12 ? 16 : 8;
}
/// Number of threads of a block if a level has at most two tiles for each multiprocessor. With more
/// threads, a tile takes less time.
inline constexpr int kSolveThreadsMany = 512;
int solve_threads(int radius, int blocks, int multiprocessors) noexcept;
Kernel<SolveArguments> solve_kernel(int radius, int threads) noexcept;
std::size_t solve_shared_bytes(int radius, int threads) noexcept;

/// Computes the box mean of the flow and warps the next frame by it.
struct SmoothArguments : FlowArguments {
  float2* warped;  ///< as in SolveArguments
  int radius;      ///< of the box
};
inline constexpr int kSmoothTileHeight = 16;
/// Of `arguments`, it uses the radius and whether the source is coarse.
Kernel<SmoothArguments> smooth_kernel(const SmoothArguments& arguments) noexcept;
std::size_t smooth_shared_bytes(int radius) noexcept;

// ---- the standard deviation of the flow, of both methods

/// The cells whose deviation a frame without this plane needs: those that may move.
struct DeviationCells {
  detail::CellGrid grid;
  detail::MotionThreshold motion;
  float* deviation;  ///< null: it is not needed
};

/// Computes the deviation, writes all planes and ends the frame.
struct DeviationArguments : FlowArguments {
  detail::DeviationModel model;
  DeviationCells cells;
  const float* confidence;  // kPyramid: of level 0
  // kKernels: planes u, v and confidence, NaN where the flow is invalid, and Ix, Iy and It from the
  // same pixel on
  FloatPlanes solved;
  FloatPlanes derivatives;
};

inline constexpr int kDeviationTileHeight = 16;

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept;

}  // namespace ocellus::cuda
