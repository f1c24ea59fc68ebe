// Equation (2) of Ohmura et al. 2011, evaluated term by term. Each thread computes one pixel.
// Frames are in global or shared memory. One to four convolutions are computed at once.
#include "bench/papers/optical_flow/paper_kernels.h"
#include "kernels/image/pixels.cuh"

namespace ocellus::paper {
namespace {

constexpr int kThreads = kBlockWidth * kBlockHeight;
/// Number of columns in the paper's experiments, as a compile-time constant.
constexpr int kUsualColumns = 15;
/// Blocks that must fit on a multiprocessor. The number is so small that a thread may use 128
/// registers. With fewer registers, the loads of a package of three would wait for each other.
constexpr int kLeastBlocks = 512 / kThreads;
/// Number of rows of taps whose loads are in flight at once.
constexpr int kRowsAtOnce = 5;

template <typename Pixel>
__global__ void __launch_bounds__(kThreads) keep(const __grid_constant__ KeepArguments a) {
  const int x = blockIdx.x * kBlockWidth + threadIdx.x;
  const int y = blockIdx.y * kBlockHeight + threadIdx.y;
  if (x >= a.width + a.nx - 1 || y >= a.height + a.ny - 1) return;
  const int from_x = cuda::clamp_to(x - (a.nx - 1 - a.nx / 2), a.width);
  const int from_y = cuda::clamp_to(y - (a.ny - 1 - a.ny / 2), a.height);
  a.kept.base[a.state->head * a.kept.plane + y * a.kept.stride + x] =
      a.scale * cuda::pixel_at<Pixel>(a.frame->image, a.frame->image_stride, from_x, from_y);
}

/// One number for each convolution of a package.
template <int kPackage>
struct Numbers {
  float of[kPackage];
};

/// Reads the taps of a pixel's kernels in order, those of two convolutions in one access.
template <int kPackage>
class Taps {
 public:
  /// Starts at tap `index`.
  __device__ __forceinline__ Taps(const ConvolveArguments& a, std::int64_t pixel, int index)
      : step_(a.pixels) {
    const std::int64_t of_convolution = (a.nx + a.ny + a.frames) * a.pixels;
    const std::int64_t at = index * a.pixels + pixel;
#pragma unroll
    for (int p = 0; p < kPairs; ++p)
      pairs_[p] = reinterpret_cast<const float2*>(a.taps + 2 * p * of_convolution) + at;
    single_ = a.taps + (kPackage - 1) * of_convolution + at;
  }

  __device__ __forceinline__ Numbers<kPackage> next() {
    Numbers<kPackage> taps;
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      const float2 pair = __ldg(pairs_[p]);
      taps.of[2 * p] = pair.x;
      taps.of[2 * p + 1] = pair.y;
      pairs_[p] += step_;
    }
    if constexpr (kPackage % 2 == 1) {
      taps.of[kPackage - 1] = __ldg(single_);
      single_ += step_;
    }
    return taps;
  }

 private:
  static constexpr int kPairs = kPackage / 2;
  const float2* pairs_[kPairs + 1];
  const float* single_;
  std::int64_t step_;
};

/// kColumns is nx, or the largest possible nx.
template <FrameMemory kFrames, int kPackage, int kColumns>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    convolve(const __grid_constant__ ConvolveArguments a) {
  extern __shared__ float tile[];
  constexpr bool kKnown = kColumns == kUsualColumns;
  const int nx = kKnown ? kColumns : a.nx;
  const int x0 = blockIdx.x * kBlockWidth;
  const int y0 = blockIdx.y * kBlockHeight;
  // Threads outside the image repeat its last pixels and write nothing.
  const int x = min(x0 + static_cast<int>(threadIdx.x), a.width - 1);
  const int y = min(y0 + static_cast<int>(threadIdx.y), a.height - 1);
  const bool inside =
      x == x0 + static_cast<int>(threadIdx.x) && y == y0 + static_cast<int>(threadIdx.y);
  const std::int64_t pixel = static_cast<std::int64_t>(y) * a.width + x;
  const int head = a.state->head;
  const int count = a.state->count;
  const bool bad = a.state->bad != 0;

  // The row of taps that all rows and frames use remains in registers.
  Numbers<kPackage> wx[kColumns];
  Taps<kPackage> columns_of_taps(a, pixel, 0);
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    if (kKnown || i < nx) wx[i] = columns_of_taps.next();
  Taps<kPackage> frames_of_taps(a, pixel, nx + a.ny);

  Numbers<kPackage> sum{};
  for (int tau = 0; tau < a.frames; ++tau) {
    const float* const frame =
        a.kept.base + cuda::ring_index(head, count, a.frames, tau) * a.kept.plane;
    const float* row = frame + y * a.kept.stride + x;
    std::int64_t stride = a.kept.stride;
    if constexpr (kFrames == FrameMemory::kShared) {
      const int columns = kBlockWidth + nx - 1;
      const int rows = kBlockHeight + a.ny - 1;
      __syncthreads();
      for (int j = threadIdx.y; j < rows; j += kBlockHeight) {
        const float* const from = frame + min(y0 + j, a.height + a.ny - 2) * a.kept.stride;
        for (int i = threadIdx.x; i < columns; i += kBlockWidth)
          tile[j * columns + i] = __ldg(from + min(x0 + i, a.width + nx - 2));
      }
      __syncthreads();
      row = tile + (y - y0) * columns + (x - x0);
      stride = columns;
    }
    const Numbers<kPackage> wt = frames_of_taps.next();
    Taps<kPackage> rows_of_taps(a, pixel, nx);
#pragma unroll kRowsAtOnce
    for (int j = 0; j < a.ny; ++j, row += stride) {
      Numbers<kPackage> wyt = rows_of_taps.next();
#pragma unroll
      for (int c = 0; c < kPackage; ++c) wyt.of[c] *= wt.of[c];
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        if (!kKnown && i >= nx) continue;
        const float value = kFrames == FrameMemory::kShared ? row[i] : __ldg(row + i);
#pragma unroll
        for (int c = 0; c < kPackage; ++c)
          sum.of[c] = fmaf(wx[i].of[c] * wyt.of[c], value, sum.of[c]);
      }
    }
  }

  if (inside) {
#pragma unroll
    for (int c = 0; c < kPackage; ++c) {
      const int convolution = a.first + c;
      if (a.result.base != nullptr) {
        a.result.base[convolution * a.result.plane + y * a.result.stride + x] = sum.of[c];
      } else {
        cuda::row_at(cuda::out_plane<float>(*a.frame, convolution), a.frame->out_stride[0], y)[x] =
            bad ? cuda::kBadResult : sum.of[c];
      }
    }
  }
  if (a.outcome == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    cuda::finish_frame(a.state, a.outcome, a.frames, gridDim.x * gridDim.y);
}

template <FrameMemory kFrames, int kColumns>
Kernel<ConvolveArguments> convolve_package(int package) noexcept {
  switch (package) {
    case 1:
      return convolve<kFrames, 1, kColumns>;
    case 2:
      return convolve<kFrames, 2, kColumns>;
    case 3:
      return convolve<kFrames, 3, kColumns>;
    default:
      return convolve<kFrames, 4, kColumns>;
  }
}

template <FrameMemory kFrames>
Kernel<ConvolveArguments> convolve_columns(int package, int nx) noexcept {
  return nx == kUsualColumns ? convolve_package<kFrames, kUsualColumns>(package)
                             : convolve_package<kFrames, kMaxKernelTaps>(package);
}

}  // namespace

Kernel<KeepArguments> keep_kernel(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return keep<std::uint8_t>;
    case PixelFormat::kGray16:
      return keep<std::uint16_t>;
    default:  // kFloat32; no color comes here
      break;
  }
  return keep<float>;
}

Kernel<ConvolveArguments> convolve_kernel(FrameMemory frames, int package, int nx) noexcept {
  return frames == FrameMemory::kShared ? convolve_columns<FrameMemory::kShared>(package, nx)
                                        : convolve_columns<FrameMemory::kGlobal>(package, nx);
}

std::size_t convolve_shared_bytes(FrameMemory frames, int nx, int ny) noexcept {
  if (frames == FrameMemory::kGlobal) return 0;
  return static_cast<std::size_t>((kBlockWidth + nx - 1) * (kBlockHeight + ny - 1)) * sizeof(float);
}

}  // namespace ocellus::paper
