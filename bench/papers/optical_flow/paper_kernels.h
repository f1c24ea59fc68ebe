// The kernels of the paper's schedules, and their arguments as plain data.
#pragma once

#include <cstdint>

#include "bench/papers/optical_flow/paper_flow.h"
#include "kernels/optical_flow/kernels.h"

namespace ocellus::paper {

using cuda::FrameOutcome;
using cuda::FrameParams;
using cuda::Kernel;
using cuda::ResultPlanes;
using cuda::TemporalState;

/// Frames as floats with a border as wide as the reach of the kernels, so that the sums need not
/// check for the edges of the image.
struct KeptFrames {
  float* pixels;
  std::int64_t stride;  ///< floats from row to row
  std::int64_t plane;   ///< floats from frame to frame
};

/// Stores the new frame.
struct KeepArguments {
  const FrameParams* frame;
  TemporalState* state;
  int width;
  int height;
  int nx;
  int ny;
  KeptFrames kept;
  float scale;  ///< factor from pixel values to 8-bit gray levels
};

/// Computes the convolutions of one package. The taps are [nx + ny + nt][pixel] pairs of floats for
/// every two convolutions, and [nx + ny + nt][pixel] floats for a remaining one. wx and wy are
/// stored in image order, which reverses the index of the convolution.
struct ConvolveArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null if a later kernel ends the frame
  int width;
  int height;
  int nx;
  int ny;
  int nt;
  KeptFrames kept;
  const float* taps;
  std::int64_t pixels;  ///< floats (or pairs) from tap to tap
  int first;            ///< first convolution of the package
  ResultPlanes result;
};

/// Pixels and threads of a block. The paper does not state its block size. With a warp along a row,
/// every access to taps reads whole cache lines.
inline constexpr int kBlockWidth = 32;
inline constexpr int kBlockHeight = 4;

Kernel<KeepArguments> keep_kernel(PixelFormat format) noexcept;
/// Returns the kernel that computes `package` convolutions of nx columns.
Kernel<ConvolveArguments> convolve_kernel(FrameMemory frames, int package, int nx) noexcept;
/// Shared memory of a block in bytes.
std::size_t convolve_shared_bytes(FrameMemory frames, int nx, int ny) noexcept;

}  // namespace ocellus::paper
