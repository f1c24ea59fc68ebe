// The kernels of PaperRestoration and the plain data that they take.
#pragma once

#include <bit>

#include "kernels/restoration/kernels.h"

namespace ocellus::paper {

using cuda::ContinuedImage;
using cuda::Kernel;

/// Threads of a block, as in the paper.
inline constexpr int kBlockThreads = 32;

/// What the blocks of a flexible allocation have done.
struct StepCounts {
  unsigned long long pixels;
  unsigned long long changes;   ///< pixels in another column than the block's pixel before
  unsigned long long columns;   ///< between these two columns, added up
  unsigned long long rows;      ///< of neighborhoods, read from global memory
  unsigned long long accesses;  ///< to `done` and `locks`, of a warp

  /// p1 of (12): the share of pixels for which a block changes its column.
  double p1() const { return static_cast<double>(changes) / static_cast<double>(pixels); }
  /// c1 of (12): the mean number of columns by which it changes.
  double c1() const {
    return changes == 0 ? 0.0 : static_cast<double>(columns) / static_cast<double>(changes);
  }
};

struct PaperRestorationArguments {
  ContinuedImage image;
  int support;
  /// Coefficients of the four quadrants: a, then b, each of support x support.
  const float* taps;
  /// Results of the four quadrants, each as large as the image. Without the kernel that adds both
  /// sums, they hold x1 until their pixels are computed.
  float* planes;
  /// Fixed allocation: `planes` has the planes of the schedule, each with plane_values() for all
  /// quadrants in their mirrored coordinates. Pixel (i, j) of quadrant q is in plane i + j at
  /// q * width + j.
  bool by_planes;
  /// Flexible allocation: for each column of each quadrant, the number of rows that are done, and
  /// whether a block works on it. Cleared before each frame.
  int* done;
  int* locks;
  int plane_of_schedule;  ///< fixed allocation
  StepCounts* counts;     ///< flexible allocation: blocks add to it; null: they do not
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

/// PaperRestorationArguments::by_planes: floats of a plane.
constexpr std::size_t plane_values(const ContinuedImage& image) noexcept {
  return kFilterQuadrants * static_cast<std::size_t>(image.width);
}

/// Writes x1, the sum (4). A block for each column, and for each quadrant.
extern const Kernel<PaperRestorationArguments> kFeedforwardKernel;
/// A block for each point of a plane of the schedule, and for each quadrant. `fused`: adds both
/// sums; otherwise x1 has been written.
Kernel<PaperRestorationArguments> fixed_kernel(bool fused) noexcept;
/// Any number of blocks for each quadrant.
Kernel<PaperRestorationArguments> flexible_kernel(bool fused) noexcept;
/// Shared memory of a block, for the neighborhood of a pixel.
constexpr std::size_t paper_shared_bytes(int support, bool fused) noexcept {
  return (fused ? 2 : 1) * sizeof(float) * static_cast<std::size_t>(support * support);
}

// ---- what the paper estimates

/// (11): the operations one after another. A reduction of m^2 products by as many threads takes
/// [log2 m^2] + 1.
constexpr int paper_operations(const ContinuedImage& image, int m) noexcept {
  return planes_of_schedule(image) * std::bit_width(static_cast<unsigned>(m * m));
}
/// The same for the kernels: a thread adds up every 32nd product, then 32 threads add their sums.
constexpr int kernel_operations(const ContinuedImage& image, int m) noexcept {
  const int products = (m * m + kBlockThreads - 1) / kBlockThreads;
  return planes_of_schedule(image) * (products + std::bit_width(unsigned{kBlockThreads}) - 1);
}
/// (12): the accesses to global memory that the flexible allocation saves for a pixel.
constexpr double saved_accesses(int m, double p1, double c1) noexcept {
  return m - 5 - p1 * (c1 * m - 5);
}

}  // namespace ocellus::paper
