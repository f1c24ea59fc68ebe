// The kernels of Restoration and the plain data that they take.
#pragma once

#include <cstddef>

#include "kernels/core/frame_params.h"
#include "kernels/image/fft.h"
#include "restoration/plan.h"

namespace ocellus::cuda {

// ---- the frequency domain

struct RestorationArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  ImageSize size;
  int padding;
  int half;  ///< rows of the image in the real part
  RestorationBorder border;
  DeviceFft rows;
  DeviceFft columns;
  int pitch;  ///< values from row to row of the spectrum
  /// For each element of a transformed row, the column of the image that it is read from; -1: 0.
  const int* source_columns;
  const detail::Complex32* row_roots;
  const detail::Complex32* column_roots;
  /// In the order of the threads that use it: value s of butterfly t of column c of a block is at
  /// ((block * radix + s) * butterflies + t) * columns + c.
  const detail::Complex32* transfer;
  /// half + 2 padding rows of `pitch` values.
  detail::Complex32* spectrum;
};

inline constexpr int kMaxFilterThreads = 256;
/// Threads that a multiprocessor holds.
inline constexpr int kResidentThreads = 1024;
/// Largest number of columns of a block: 4 of 8 bytes fill a sector of memory. More columns take
/// more shared memory and leave fewer blocks that overlap.
inline constexpr int kMaxColumns = 4;

/// Reads the image, looks for values that are not finite, continues the image and transforms its
/// rows. A block for each row of the spectrum.
Kernel<RestorationArguments> forward_rows_kernel(PixelFormat format) noexcept;
/// Transforms columns, multiplies by the transfer function and transforms back. `columns` is 1, 2
/// or 4.
Kernel<RestorationArguments> columns_kernel(int columns) noexcept;
/// Transforms the rows of the image back and writes the result. A block for each row of a half.
Kernel<RestorationArguments> inverse_rows_kernel(PixelFormat format) noexcept;

// ---- the recursion

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
/// The same for supports above 11.
RecursionVariant large_recursion_variant(int support) noexcept;

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
