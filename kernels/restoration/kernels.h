// The kernels of Restoration and the plain data that they take.
#pragma once

#include "image/fft.h"
#include "kernels/core/frame_params.h"
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
  detail::FftPlan rows;
  detail::FftPlan columns;
  const detail::Complex32* row_roots;
  const detail::Complex32* column_roots;
  const detail::Complex32* transfer;  ///< columns.length rows of rows.length values
  detail::Complex32* spectrum;        ///< as `transfer`
};

/// Position of element i of a transform in shared memory. The gaps spread strides that are powers
/// of 2 over the banks.
constexpr int shared_place(int i) {
  return i + (i >> 4);
}
constexpr int shared_elements(int length) {
  return shared_place(length - 1) + 1;
}

inline constexpr int kRowThreads = 256;
inline constexpr int kColumnThreads = 512;
/// Largest number of columns of a block: 16 of 8 bytes fill four sectors of memory.
inline constexpr int kMaxColumns = 16;

/// Reads the image, continues it and transforms its rows. A block for each row of the spectrum.
Kernel<RestorationArguments> forward_rows_kernel(PixelFormat format) noexcept;
/// Transforms columns, multiplies by the transfer function and transforms back. `columns` is 1, 2,
/// 4, 8 or 16.
Kernel<RestorationArguments> columns_kernel(int columns) noexcept;
/// Transforms the rows of the image back and writes the result. A block for each row of a half.
Kernel<RestorationArguments> inverse_rows_kernel(PixelFormat format) noexcept;

}  // namespace ocellus::cuda
