// The kernels of Restoration and the plain data that they take.
#pragma once

#include "kernels/core/frame_params.h"
#include "kernels/image/fft.h"
#include "restoration/plan.h"

namespace ocellus::cuda {

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

}  // namespace ocellus::cuda
