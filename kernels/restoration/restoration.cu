// Restoration in the frequency domain: rows forward; columns forward, product, columns back; rows
// back. The spectrum is read and written twice, which is the least traffic without a cache that
// holds it.
#include "kernels/core/overlap.cuh"
#include "kernels/image/fft.cuh"
#include "kernels/image/pixels.cuh"
#include "kernels/restoration/kernels.h"

namespace ocellus::cuda {
namespace {

/// Blocks of kMaxFilterThreads that a multiprocessor holds: 64 registers for a thread. Butterflies
/// of radix 16 fit in them.
constexpr int kFilterBlocks = kResidentThreads / kMaxFilterThreads;

/// A row of the continued image; null: all of it is 0.
template <typename Pixel>
__device__ const Pixel* continued_row(const RestorationArguments& a, int y) {
  const int row = detail::border_position(y, a.size.height, a.border);
  if (row < 0) return nullptr;
  return row_at(static_cast<const Pixel*>(a.frame->image), a.frame->image_stride, row);
}

/// A pixel in gray levels of 8 bits. It is read once, so it should not displace the spectrum in the
/// cache.
template <typename Pixel>
__device__ float gray_at(const Pixel* row, int column) {
  if (row == nullptr || column < 0) return 0.0f;
  const auto pixel = static_cast<float>(__ldcs(row + column));
  return std::is_same_v<Pixel, std::uint16_t> ? pixel * (255.0f / 65535.0f) : pixel;
}

template <typename Pixel>
__global__ void __launch_bounds__(kMaxFilterThreads, kFilterBlocks)
    forward_rows(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int y = static_cast<int>(blockIdx.x) - a.padding;
  const Pixel* const upper = continued_row<Pixel>(a, y);
  const Pixel* const lower = continued_row<Pixel>(a, y + a.half);
  bool finite = true;
  BlockFft<1> fft(a.rows, a.row_roots, shared);
  fft.begin_forward([&](int i, int) -> Complex32 {
    const int column = a.source_columns[i];
    const Complex32 value = {gray_at(upper, column), gray_at(lower, column)};
    if constexpr (std::is_same_v<Pixel, float>)
      finite = finite && isfinite(value.re) && isfinite(value.im);
    return value;
  });
  if (!finite) atomicOr(&a.state->bad, 1u);
  Complex32* const out = a.spectrum + static_cast<std::size_t>(blockIdx.x) * a.pitch;
  fft.end_forward([&]<int kRadix>(Complex32(&e)[kRadix], int t, int) {
#pragma unroll
    for (int s = 0; s < kRadix; ++s) out[s * a.rows.last().butterflies + t] = e[s];
  });
}

template <int kColumns>
__global__ void __launch_bounds__(kMaxFilterThreads, kFilterBlocks)
    filter_columns(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int first = static_cast<int>(blockIdx.x) * kColumns;
  const int end = a.half + 2 * a.padding;
  Complex32* const spectrum = a.spectrum + first;
  BlockFft<kColumns> fft(a.columns, a.column_roots, shared);
  wait_for_kernels_before();
  fft.begin_forward([&](int i, int c) {
    return i < end ? spectrum[static_cast<std::size_t>(i) * a.pitch + c] : Complex32{0.0f, 0.0f};
  });
  const int butterflies = a.columns.last().butterflies;
  const Complex32* const transfer =
      a.transfer + static_cast<std::size_t>(blockIdx.x) * a.columns.length * kColumns;
  fft.turn([&]<int kRadix>(Complex32(&e)[kRadix], int t, int c) {
#pragma unroll
    for (int s = 0; s < kRadix; ++s) e[s] = e[s] * transfer[(s * butterflies + t) * kColumns + c];
  });
  // The rest of the rows is padding.
  fft.end_inverse([&](int i, int c, Complex32 value) {
    if (i >= a.padding && i < a.padding + a.half)
      spectrum[static_cast<std::size_t>(i) * a.pitch + c] = value;
  });
}

template <typename Pixel>
__global__ void __launch_bounds__(kMaxFilterThreads, kFilterBlocks)
    inverse_rows(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int y = static_cast<int>(blockIdx.x);
  const Complex32* const in = a.spectrum + static_cast<std::size_t>(y + a.padding) * a.pitch;
  BlockFft<1> fft(a.rows, a.row_roots, shared);
  wait_for_kernels_before();
  fft.begin_inverse([&]<int kRadix>(Complex32(&e)[kRadix], int t, int) {
#pragma unroll
    for (int s = 0; s < kRadix; ++s) e[s] = in[s * a.rows.last().butterflies + t];
  });
  const bool bad = a.state->bad != 0;
  Pixel* const out = out_plane<Pixel>(*a.frame, 0);
  Pixel* const upper = row_at(out, a.frame->out_stride[0], y);
  const bool has_lower = a.half + y < a.size.height;
  Pixel* const lower = row_at(out, a.frame->out_stride[0], has_lower ? a.half + y : y);
  fft.end_inverse([&](int i, int, Complex32 value) {
    const int x = i - a.padding;
    if (x < 0 || x >= a.size.width) return;
    __stcs(upper + x, bad ? Pixel{0} : detail::pixel_of<Pixel>(value.re));
    if (has_lower) __stcs(lower + x, bad ? Pixel{0} : detail::pixel_of<Pixel>(value.im));
  });
  constexpr int kFrames = 1;  // that a result is computed from
  if (threadIdx.x == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

Kernel<RestorationArguments> forward_rows_kernel(PixelFormat format) noexcept {
  return kernel_for<RestorationArguments>(format, forward_rows<std::uint8_t>,
                                          forward_rows<std::uint16_t>, forward_rows<float>);
}

Kernel<RestorationArguments> columns_kernel(int columns) noexcept {
  switch (columns) {
    case 4:
      return filter_columns<4>;
    case 2:
      return filter_columns<2>;
    default:
      return filter_columns<1>;
  }
}

Kernel<RestorationArguments> inverse_rows_kernel(PixelFormat format) noexcept {
  return kernel_for<RestorationArguments>(format, inverse_rows<std::uint8_t>,
                                          inverse_rows<std::uint16_t>, inverse_rows<float>);
}

}  // namespace ocellus::cuda
