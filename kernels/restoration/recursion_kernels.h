// The kernels of Restoration by recursion and the plain data that they take.
#pragma once

#include <cstddef>

#include "kernels/core/frame_params.h"
#include "restoration/plan.h"

namespace ocellus::cuda {

/// Columns of a thread. They are one aligned vector of floats.
inline constexpr int kRecursionColumns = 4;
inline constexpr int kMaxRecursionThreads = 256;

/// The image in gray levels of 8 bits, continued on all sides.
struct ContinuedImage {
  float* pixels;
  int width;     ///< with both margins; a multiple of kRecursionColumns, and the row length
  int height;    ///< with both margins
  int margin_x;  ///< on each side, at least the padding; a multiple of kRecursionColumns
  int margin_y;  ///< the padding
};

struct ContinueArguments {
  const FrameParams* frame;
  ImageSize size;
  RestorationBorder border;
  ContinuedImage to;
};

/// A tile is computed by one block, for one quadrant. In the coordinates of the quadrant's mirrored
/// image, tile (i, j) begins at row i * tile_height and column j * tile_width, at rest. Its results
/// begin at the margins from there.
struct RecursionArguments {
  ContinuedImage image;
  const float* tables;  ///< of the four quadrants: see write_recursion_table
  float* planes;        ///< the results of the four quadrants, one after the other
  std::size_t plane_pixels;
  int plane_width;  ///< row length; a multiple of kRecursionColumns
  int plane_height;
  int tile_width;   ///< without the margin; a multiple of kRecursionColumns
  int tile_height;  ///< without the margin
};

/// Adds the planes of the quadrants, writes the result and ends the frame.
struct AddQuadrantsArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  ImageSize size;
  const float* planes;       ///< the pixel of the image's top left corner, of quadrant 0
  std::size_t plane_pixels;  ///< from plane to plane
  int pitch;                 ///< row length
};

inline constexpr int kContinueThreads = 256;
inline constexpr int kAddThreads = 256;

/// A block for each row of the continued image.
Kernel<ContinueArguments> continue_kernel(PixelFormat format) noexcept;
/// A block for each row of the image.
Kernel<AddQuadrantsArguments> add_quadrants_kernel(PixelFormat format) noexcept;

/// A kernel of the recursion is compiled for some supports; smaller ones use the next larger one.
struct RecursionVariant {
  int support;
  Kernel<RecursionArguments> kernel;
  int ring_rows;  ///< rows of x and of y that a block keeps in shared memory
};
/// The variant for a support from 1 to kMaxFilterSupport.
RecursionVariant recursion_variant(int support) noexcept;
/// Those of the two source files.
RecursionVariant small_recursion_variant(int support) noexcept;  ///< up to kLargestSmallSupport
RecursionVariant large_recursion_variant(int support) noexcept;
inline constexpr int kLargestSmallSupport = 11;

constexpr int round_up_to_columns(int n) noexcept {
  return (n + kRecursionColumns - 1) / kRecursionColumns * kRecursionColumns;
}
/// Floats of the table of one quadrant: the columns of a, then those of b. Element r1 of column r2
/// is a(r1, r2). Columns and their number are filled up with zeros to multiples of 4.
constexpr int recursion_table_floats(int support) noexcept {
  return 2 * round_up_to_columns(support) * round_up_to_columns(support);
}

/// Columns of zeros at the left end of each row in shared memory.
inline constexpr int kRecursionZeros = 32;
constexpr std::size_t recursion_shared_bytes(const RecursionVariant& variant,
                                             int threads) noexcept {
  const int row = kRecursionZeros + threads * kRecursionColumns;
  return sizeof(float) * static_cast<std::size_t>(2 * variant.ring_rows * row +
                                                  recursion_table_floats(variant.support));
}

}  // namespace ocellus::cuda
