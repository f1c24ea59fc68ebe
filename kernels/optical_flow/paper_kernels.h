// The kernels of the paper's schedules and the plain data that they take.
#pragma once

#include <cstdint>

#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/paper_flow.h"

namespace ocellus::paper {

using cuda::FrameOutcome;
using cuda::FrameParams;
using cuda::Kernel;
using cuda::ResultPlanes;
using cuda::TemporalState;

/// Frames as floats with a border as wide as the kernels reach, so that the sums need not ask where
/// the image ends.
struct KeptFrames {
  float* pixels;
  std::int64_t stride;  ///< floats
  std::int64_t plane;   ///< floats
};

/// Puts the new frame among the kept ones.
struct KeepArguments {
  const FrameParams* frame;
  TemporalState* state;
  int width;
  int height;
  int nx;
  int ny;
  KeptFrames kept;
  float scale;  ///< from a pixel's value to gray levels of 8 bits
};

/// The convolutions of one package. Taps: for each two convolutions [nx + ny + nt][pixel] of pairs,
/// for one that is left over the same of single floats. wx and wy are stored in the order in which
/// pixels lie in the image (reversed against the convolution's index).
struct ConvolveArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;  ///< null: a later kernel ends the frame
  int width;
  int height;
  int nx;
  int ny;
  int nt;
  KeptFrames kept;
  const float* taps;
  std::int64_t pixels;  ///< from tap to tap
  int first;            ///< convolution of the package
  ResultPlanes result;
};

/// Pixels, and threads, of a block. The paper does not tell its own; a warp along a row makes every
/// access to taps whole lines.
inline constexpr int kBlockWidth = 32;
inline constexpr int kBlockHeight = 4;

Kernel<KeepArguments> keep_kernel(PixelFormat format) noexcept;
/// `package` convolutions with kernels of nx columns.
Kernel<ConvolveArguments> convolve_kernel(FrameMemory frames, int package, int nx) noexcept;
/// Bytes of shared memory of a block.
std::size_t convolve_shared_bytes(FrameMemory frames, int nx, int ny) noexcept;

}  // namespace ocellus::paper
