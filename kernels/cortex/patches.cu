// The LGN cells of patches.
#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/kernels.h"

namespace ocellus::cuda {
namespace {

struct Sum {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};
struct Most {
  __device__ int operator()(int a, int b) const { return max(a, b); }
};

__device__ bool has_dark_ink(const std::uint8_t* pixels, int width, int height) {
  // The least one as the largest negative one.
  int extremes[2] = {-255, 0};
  std::int64_t border[1] = {0};
  for (int i = static_cast<int>(threadIdx.x); i < width * height; i += kCellThreads) {
    const int value = pixels[i];
    extremes[0] = max(extremes[0], -value);
    extremes[1] = max(extremes[1], value);
    const int x = i % width;
    const int y = i / width;
    if (x == 0 || x == width - 1 || y == 0 || y == height - 1) border[0] += value;
  }
  combine_block<kCellThreads>(extremes, Most());
  combine_block<kCellThreads>(border, Sum());
  return detail::is_ink_dark(border[0], detail::border_pixels(width, height), -extremes[0],
                             extremes[1]);
}

__device__ detail::InkMoments moments_of(const std::uint8_t* pixels, int width, int height) {
  std::int64_t sums[5] = {0, 0, 0, 0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < width * height; i += kCellThreads) {
    const std::int64_t ink = pixels[i];
    const int x = i % width;
    const int y = i / width;
    sums[0] += ink;
    sums[1] += ink * x;
    sums[2] += ink * y;
    sums[3] += ink * x * y;
    sums[4] += ink * y * y;
  }
  combine_block<kCellThreads>(sums, Sum());
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

__global__ void __launch_bounds__(kCellThreads)
    write_cells(const __grid_constant__ CellArguments a) {
  __shared__ std::uint8_t pixels[kMaxCortexSide * kMaxCortexSide];
  wait_for_kernels_before();
  let_next_begin();
  const int count = a.width * a.height;
  const int patch = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < count; i += kCellThreads) pixels[i] = a.gray[patch * count + i];
  __syncthreads();
  bool dark = a.ink == CortexInk::kDark;
  if (a.ink == CortexInk::kAuto) dark = has_dark_ink(pixels, a.width, a.height);
  if (dark)
    for (int i = thread; i < count; i += kCellThreads)
      pixels[i] = static_cast<std::uint8_t>(255 - pixels[i]);
  __syncthreads();
  std::uint8_t* const cells = a.cells + patch * count;
  int brightest[1] = {0};
  const auto write = [&](int i, int value) {
    cells[i] = value >= a.threshold ? 1 : 0;
    brightest[0] = max(brightest[0], value);
  };
  if (a.deslant) {
    const detail::InkMoments moments = moments_of(pixels, a.width, a.height);
    const std::int64_t slant = detail::slant_of(moments);
    for (int i = thread; i < count; i += kCellThreads) {
      const int y = i / a.width;
      const detail::RowShift shift = detail::shift_of_row(moments, slant, y);
      write(i, detail::shifted_pixel(pixels + y * a.width, a.width, shift, i % a.width));
    }
  } else {
    for (int i = thread; i < count; i += kCellThreads) write(i, pixels[i]);
  }
  if (a.has_ink == nullptr) return;
  __syncthreads();
  combine_to_first_warp<kCellThreads>(brightest, Most());
  if (thread == 0) a.has_ink[patch] = brightest[0] >= a.threshold ? 1 : 0;
}

}  // namespace

const Kernel<CellArguments> kCellKernel = write_cells;

}  // namespace ocellus::cuda
