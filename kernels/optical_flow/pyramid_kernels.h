// The kernels of PyramidFlow on CUDA and the plain data that they take. A kernel does several of
// the CPU's steps at once, tile by tile: what lies between them stays in shared memory.
#pragma once

#include <cstdint>

#include "kernels/core/frame_params.h"
#include "kernels/optical_flow/kernels.h"
#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::cuda {

/// Threads of a block, but where it says otherwise, and pixels along x of its tile.
inline constexpr int kPyramidThreads = 256;
inline constexpr int kPyramidTileWidth = 32;

// ---- a new frame

/// One level to the half-size next one. Level 0 is read from the camera's image.
struct ReduceArguments {
  const FrameParams* frame;
  const float* from;         ///< null for level 0
  std::int64_t from_stride;  ///< floats
  float* to;
  std::int64_t to_stride;  ///< floats
  int from_width;
  int from_height;
  int width;
  int height;
  float scale;  ///< from a pixel's value to gray levels of 8 bits; level 0
};

inline constexpr int kReduceTileHeight = 8;

Kernel<ReduceArguments> reduce_kernel(PixelFormat format, bool from_camera) noexcept;

/// A level of a frame of the window; planes are readable one pixel before and two behind the image,
/// where they repeat its edges.
struct StoredLevel {
  std::int64_t origin;  ///< floats, of pixel (0, 0) from the beginning of the frame
  int stride;           ///< floats
  int width;
  int height;
};

/// All levels of all frames: `frames` times `frame_floats`.
struct Window {
  float* base;
  std::int64_t frame_floats;
  int frames;
};

/// Normalizes and smooths all levels into the window of frames.
struct PrepareArguments {
  const FrameParams* frame;
  const TemporalState* state;
  Window window;
  int levels;
  struct Level {
    const float* raw;  ///< null for level 0, which is read from the camera's image
    std::int64_t raw_stride;
    StoredLevel stored;
    int tiles_x;
    int first_tile;  ///< of the launch
  } level[detail::kMaxPyramidLevels];
  float scale;
  float presmoothing[detail::kPresmoothingRadius + 1];
};

inline constexpr int kPrepareTileHeight = 24;

Kernel<PrepareArguments> prepare_kernel(PixelFormat format, bool normalize) noexcept;

// ---- the flow of the reference frame

/// Where a kernel finds the flow so far, at pixels of its level's region. Indices of pixels fit
/// into 32 bits: kMaxImageSide.
struct FlowSource {
  const float2* flow;
  int stride;   ///< float2; 0 repeats a row
  bool coarse;  ///< flow of the level above, to be doubled; else of the same level
  // coarse
  int region_y;  ///< of this level, in its image
  int first_x;   ///< column of the coarse plane under this region's first pixel
  int coarse_y;  ///< of the coarse region, in its image
  int coarse_width;
  int coarse_height;
};

/// Where results go: to planes of this level, over the whole region; or, in the frame's last
/// kernel, to the user, over the region of interest only.
struct FlowTarget {
  float2* flow;
  float* confidence;  ///< may be null: not changed
  int stride;         ///< float2, and floats for confidence
  int x;              ///< of what is to be written, in the region
  int y;
  int width;
  int height;
  // Of the last kernel only.
  FrameOutcome* outcome;  ///< null: not the last
  int frames;
  float threshold;
  float invalid;
};

/// A level as the kernels of its flow see it.
struct FlowLevel {
  StoredLevel stored;
  Rect region;
  int delay;        ///< frames from the reference to the newest, when so many have come
  bool all_frames;  ///< all partners of the reference, not the next frame only
  bool cubic;
};

/// All frames of the window back to the reference; only for `all_frames`.
struct WarpArguments {
  const TemporalState* state;
  Window window;
  FlowLevel level;
  FlowSource source;
  float* warped;  ///< a plane for each partner
  int stride;
  std::int64_t plane;
};
inline constexpr int kWarpTileHeight = 8;
Kernel<WarpArguments> warp_kernel() noexcept;

/// How well each warped frame fits beside the one that fits best.
struct FitArguments {
  const TemporalState* state;
  Window window;
  FlowLevel level;
  const float* warped;
  float* fit;  ///< a plane for each partner
  int stride;
  std::int64_t plane;
};
inline constexpr int kFitTileHeight = 16;
Kernel<FitArguments> fit_kernel() noexcept;

/// Warps (unless all frames have been already) and solves for what is left.
struct SolveArguments {
  const FrameParams* frame;
  TemporalState* state;
  Window window;
  FlowLevel level;
  FlowSource source;
  FlowTarget target;
  // all_frames
  const float* warped;
  const float* fit;
  int stride;
  std::int64_t plane;

  int radius;
  /// Of the window along one axis, with three zeros before and behind: four neighboring pixels
  /// look at the same values.
  float weight[2 * (detail::kMaxWindow / 2) + 1 + 6];
  float inverse_robust2;  ///< 1 / robust^2, or 0
  float inverse_border;
  float gradient_floor;
  float ridge;
};
/// Rows of a tile: such that the pixels that it looks at fill the threads well, and few enough that
/// it fits into the shared memory of all devices.
inline constexpr int solve_tile_height(int radius) {
  switch (radius) {
    case 3:
      return 14;
    case 5:
      return 18;
    case 7:
      return 22;
    default:
      return radius <= 12 ? 16 : 8;
  }
}
/// Threads of a block where a level has so few tiles that each multiprocessor gets one or two: the
/// more threads share a tile, the sooner it is done.
inline constexpr int kSolveThreadsMany = 512;
int solve_threads(const SolveArguments& arguments, int blocks, int multiprocessors) noexcept;
Kernel<SolveArguments> solve_kernel(const SolveArguments& arguments, int threads) noexcept;
std::size_t solve_shared_bytes(int radius, int threads) noexcept;

/// Box mean of the flow, weighted by the confidence or not, then the median.
struct RefineArguments {
  const FrameParams* frame;
  TemporalState* state;
  Rect region;
  FlowSource source;
  const float* confidence;
  int stride;  ///< of confidence
  FlowTarget target;
  int radius;  ///< of the box
};
inline constexpr int kRefineTileHeight = 16;
/// `arguments`: the radius and whether the source is coarse, which it is for kBeforeWarp only.
Kernel<RefineArguments> refine_kernel(FlowSmoothing smoothing, int median,
                                      const RefineArguments& arguments) noexcept;
std::size_t refine_shared_bytes(FlowSmoothing smoothing, int radius, int median) noexcept;

}  // namespace ocellus::cuda
