// Restoration in the frequency domain: rows forward; columns forward, product, columns back; rows
// back. The spectrum is read and written twice, which is the least traffic without a cache that
// holds it.
#include "kernels/image/pixels.cuh"
#include "kernels/restoration/kernels.h"

namespace ocellus::cuda {
namespace {

using detail::Complex32;
using detail::FftPlan;

/// Transforms arrays in shared memory with all threads of the block. Array c of `arrays` begins at
/// c * pitch, and its element i is at shared_place(i) from there.
template <bool kInverse>
__device__ void transform(const FftPlan& plan, const Complex32* roots, Complex32* shared,
                          int arrays, int pitch) {
  int block = kInverse ? 1 : plan.length;
  for (int p = 0; p < plan.passes; ++p) {
    const int radix = plan.radix[kInverse ? plan.passes - 1 - p : p];
    if (kInverse) block *= radix;
    const int butterflies = plan.length / radix;
    detail::with_radix(radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      for (int t = threadIdx.x; t < butterflies * arrays; t += blockDim.x) {
        const int array = t / butterflies;
        Complex32* const from = shared + array * pitch;
        detail::run_butterfly<kRadix, kInverse>(
            t - array * butterflies, plan.length, block, roots,
            [&](int i) -> Complex32& { return from[shared_place(i)]; });
      }
    });
    if (!kInverse) block /= radix;
    __syncthreads();
  }
}

/// Pixel (x, y) of the continued image, in gray levels of 8 bits; (0, 0) is that of the image.
template <typename Pixel>
__device__ float continued(const RestorationArguments& a, int x, int y) {
  const int column = detail::border_position(x, a.size.width, a.border);
  const int row = detail::border_position(y, a.size.height, a.border);
  if (column < 0 || row < 0) return 0.0f;
  const float pixel = pixel_at<Pixel>(a.frame->image, a.frame->image_stride, column, row);
  return std::is_same_v<Pixel, std::uint16_t> ? pixel * (255.0f / 65535.0f) : pixel;
}

template <typename Pixel>
__global__ void __launch_bounds__(kRowThreads)
    forward_rows(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int y = static_cast<int>(blockIdx.x) - a.padding;
  const int end = a.size.width + a.padding;
  for (int i = threadIdx.x; i < a.rows.length; i += blockDim.x) {
    const int x = i - a.padding;
    const bool inside = x < end && y < a.half + a.padding;
    shared[shared_place(i)] = {inside ? continued<Pixel>(a, x, y) : 0.0f,
                               inside ? continued<Pixel>(a, x, a.half + y) : 0.0f};
  }
  __syncthreads();
  transform<false>(a.rows, a.row_roots, shared, 1, 0);
  Complex32* const out = a.spectrum + static_cast<std::size_t>(blockIdx.x) * a.rows.length;
  for (int i = threadIdx.x; i < a.rows.length; i += blockDim.x) out[i] = shared[shared_place(i)];
}

template <int kColumns>
__global__ void __launch_bounds__(kColumnThreads)
    filter_columns(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int first = static_cast<int>(blockIdx.x) * kColumns;
  const int pitch = shared_elements(a.columns.length) + 1;
  const int values = a.columns.length * kColumns;
  for (int t = threadIdx.x; t < values; t += blockDim.x) {
    const int i = t / kColumns;
    const int c = t % kColumns;
    const bool inside = first + c < a.rows.length;
    shared[c * pitch + shared_place(i)] =
        inside ? a.spectrum[static_cast<std::size_t>(i) * a.rows.length + first + c]
               : Complex32{0.0f, 0.0f};
  }
  __syncthreads();
  transform<false>(a.columns, a.column_roots, shared, kColumns, pitch);
  for (int t = threadIdx.x; t < values; t += blockDim.x) {
    const int i = t / kColumns;
    const int c = t % kColumns;
    if (first + c >= a.rows.length) continue;
    Complex32& value = shared[c * pitch + shared_place(i)];
    value = value * a.transfer[static_cast<std::size_t>(i) * a.rows.length + first + c];
  }
  __syncthreads();
  transform<true>(a.columns, a.column_roots, shared, kColumns, pitch);
  // The rest of the rows is padding.
  for (int t = threadIdx.x; t < a.half * kColumns; t += blockDim.x) {
    const int i = a.padding + t / kColumns;
    const int c = t % kColumns;
    if (first + c < a.rows.length)
      a.spectrum[static_cast<std::size_t>(i) * a.rows.length + first + c] =
          shared[c * pitch + shared_place(i)];
  }
}

template <typename Pixel>
__global__ void __launch_bounds__(kRowThreads)
    inverse_rows(const __grid_constant__ RestorationArguments a) {
  extern __shared__ Complex32 shared[];
  const int y = static_cast<int>(blockIdx.x);
  const Complex32* const in = a.spectrum + static_cast<std::size_t>(y + a.padding) * a.rows.length;
  for (int i = threadIdx.x; i < a.rows.length; i += blockDim.x) shared[shared_place(i)] = in[i];
  __syncthreads();
  transform<true>(a.rows, a.row_roots, shared, 1, 0);
  const bool bad = a.state->bad != 0;
  Pixel* const out = out_plane<Pixel>(*a.frame, 0);
  Pixel* const upper = row_at(out, a.frame->out_stride[0], y);
  const bool has_lower = a.half + y < a.size.height;
  Pixel* const lower = row_at(out, a.frame->out_stride[0], has_lower ? a.half + y : y);
  for (int x = threadIdx.x; x < a.size.width; x += blockDim.x) {
    const Complex32 value = shared[shared_place(x + a.padding)];
    upper[x] = bad ? Pixel{0} : detail::pixel_of<Pixel>(value.re);
    if (has_lower) lower[x] = bad ? Pixel{0} : detail::pixel_of<Pixel>(value.im);
  }
  __syncthreads();
  constexpr int kFrames = 1;  // that a result is computed from
  if (threadIdx.x == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

Kernel<RestorationArguments> forward_rows_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return forward_rows<std::uint8_t>;
    case PixelFormat::kGray16:
      return forward_rows<std::uint16_t>;
    case PixelFormat::kFloat32:
      break;
  }
  return forward_rows<float>;
}

Kernel<RestorationArguments> columns_kernel(int columns) noexcept {
  switch (columns) {
    case 16:
      return filter_columns<16>;
    case 8:
      return filter_columns<8>;
    case 4:
      return filter_columns<4>;
    case 2:
      return filter_columns<2>;
    default:
      return filter_columns<1>;
  }
}

Kernel<RestorationArguments> inverse_rows_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return inverse_rows<std::uint8_t>;
    case PixelFormat::kGray16:
      return inverse_rows<std::uint16_t>;
    case PixelFormat::kFloat32:
      break;
  }
  return inverse_rows<float>;
}

}  // namespace ocellus::cuda
