// The kernels of the paper's schedules, and their arguments as plain data.
#pragma once

#include <cstdint>

#include "bench/papers/optical_flow/paper_flow.h"
#include "kernels/optical_flow/kernels.h"

namespace ocellus::paper {

using cuda::FloatPlanes;
using cuda::FrameArguments;
using cuda::FrameParams;
using cuda::Kernel;
using cuda::TemporalState;

/// Stores the new frame.
struct KeepArguments {
  const FrameParams* frame;
  TemporalState* state;
  int width;
  int height;
  int nx;
  int ny;
  /// Frames with a border as wide as the reach of the kernels, so that the sums need not check for
  /// the edges of the image.
  FloatPlanes kept;
  float scale;  ///< factor from pixel values to 8-bit gray levels
};

/// Computes the convolutions of one package. The taps are [nx + ny + nt][pixel] pairs of floats for
/// every two convolutions, and [nx + ny + nt][pixel] floats for a remaining one. wx and wy are
/// stored in image order, which reverses the index of the convolution.
struct ConvolveArguments : FrameArguments {
  int width;
  int height;
  int nx;
  int ny;
  FloatPlanes kept;
  const float* taps;
  std::int64_t pixels;  ///< floats (or pairs) from tap to tap
  int first;            ///< first convolution of the package
  FloatPlanes result;   ///< without a base: the output planes
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
