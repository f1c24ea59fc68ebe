// The kernels of PaperRestoration and the plain data that they take.
#pragma once

#include "kernels/restoration/kernels.h"

namespace ocellus::paper {

using cuda::ContinuedImage;
using cuda::Kernel;

/// Threads of a block, as in the paper.
inline constexpr int kBlockThreads = 32;

struct PaperArguments {
  ContinuedImage image;
  int support;
  /// Coefficients of the four quadrants: a, then b, each of support x support.
  const float* taps;
  /// Results of the four quadrants, each as large as the image.
  float* planes;
  /// Flexible allocation: for each column of each quadrant, the number of rows that are done, and
  /// whether a block works on it. Cleared before each frame.
  int* done;
  int* locks;
  int plane_of_schedule;  ///< fixed allocation
};

/// Points of the image on plane t of the schedule: those with row + column = t.
constexpr int points_on_plane(const ContinuedImage& image, int t) noexcept {
  const int first = t < image.width ? 0 : t - image.width + 1;
  const int last = t < image.height ? t : image.height - 1;
  return last - first + 1;
}
constexpr int planes_of_schedule(const ContinuedImage& image) noexcept {
  return image.width + image.height - 1;
}

/// A block for each point of a plane of the schedule, and for each quadrant.
Kernel<PaperArguments> fixed_kernel() noexcept;
/// Any number of blocks for each quadrant.
Kernel<PaperArguments> flexible_kernel() noexcept;
/// Shared memory of a block, for the neighborhood of a pixel.
constexpr std::size_t paper_shared_bytes(int support) noexcept {
  return 2 * sizeof(float) * static_cast<std::size_t>(support * support);
}

}  // namespace ocellus::paper
