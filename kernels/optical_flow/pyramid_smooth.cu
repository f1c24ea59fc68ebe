// Smoothing of the pyramid's flow by box means, and the warp by it.
#include "kernels/core/shared_memory.cuh"
#include "kernels/optical_flow/pyramid.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;
constexpr int kHeight = kSmoothTileHeight;
constexpr int kAcross = 4;  // neighboring sums that a thread computes along a row
constexpr int kDown = 2;    // neighboring sums that a thread computes along a column

constexpr int kFilteredStride = kWidth + 1;
// Odd, because lanes read along columns as well.
__host__ __device__ constexpr int source_stride(int radius) {
  return (kWidth + 2 * radius) | 1;
}
static_assert(kWidth % kAcross == 0 && kHeight % kDown == 0);

/// If kRadius is 0, the radius of the box is an argument.
template <int kRadius, bool kCoarse>
__global__ void __launch_bounds__(kPyramidThreads)
    smooth(const __grid_constant__ SmoothArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, flat);
  constexpr int kPlanes = 2;
  const Rect& region = a.level.region;
  const int radius = kRadius > 0 ? kRadius : a.radius;
  const int columns = kWidth + 2 * radius;
  const int rows = kHeight + 2 * radius;
  const int stride = source_stride(radius);
  float* const source = flat;                              // [kPlanes][rows][stride]
  float* const filtered = flat + kPlanes * rows * stride;  // [kPlanes][rows][kFilteredStride]

  let_next_begin();
  const LevelFrames frames(a);
  wait_for_kernels_before();
  const int x0 = static_cast<int>(blockIdx.x) * kWidth;
  const int y0 = static_cast<int>(blockIdx.y) * kHeight;
  constexpr int kBatch =
      kRadius == 0 ? 4
                   : ((kWidth + 2 * kRadius) * (kHeight + 2 * kRadius) + kPyramidThreads - 1) /
                         kPyramidThreads;
  copy_block<kBatch>(
      columns, rows,
      [&](int column, int row) {
        const int x = clamp_to(x0 - radius + column, region.width);
        const int y = clamp_to(y0 - radius + row, region.height);
        return kCoarse ? coarse_flow_at(a.source, x, y) : flow_at(a.source, x, y);
      },
      [&](int column, int row, float2 flow) {
        float* const to = source + row * stride + column;
        to[0] = flow.x;
        to[rows * stride] = flow.y;
      });
  __syncthreads();

  const float share = 1.0f / static_cast<float>(2 * radius + 1);
  for (BlockWalk<> at(rows, kWidth / kAcross); at.more(); at.next()) {
    const int row = at.column();
    const int column = at.row() * kAcross;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      const float* const in = source + (p * rows + row) * stride + column;
      float sum[kAcross];
      box_sums(
          radius, [&](int j) { return in[j]; }, sum);
#pragma unroll
      for (int o = 0; o < kAcross; ++o)
        filtered[(p * rows + row) * kFilteredStride + column + o] = share * sum[o];
    }
  }
  __syncthreads();
  for (BlockWalk<> at(kWidth, kHeight / kDown); at.more(); at.next()) {
    const int row = at.row() * kDown;
    float sum[kPlanes][kDown];
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      const float* const in = filtered + (p * rows + row) * kFilteredStride + at.column();
      box_sums(
          radius, [&](int j) { return in[j * kFilteredStride]; }, sum[p]);
    }
    const int x = min(x0 + at.column(), region.width - 1);
    float2 flow[kDown];
    float2 warped[kDown];
    // All pixels are warped, needed or not, because a branch would separate the loads.
#pragma unroll
    for (int o = 0; o < kDown; ++o) {
      const int y = min(y0 + row + o, region.height - 1);
      flow[o] = make_float2(share * sum[0][o], share * sum[1][o]);
      const float here = frames.reference(x, y);
      const float there = frames.warped<true>(x, y, flow[o]);
      warped[o] = make_float2(0.5f * (here + there), there - here);
    }
#pragma unroll
    for (int o = 0; o < kDown; ++o) {
      const int y = y0 + row + o;
      if (x0 + at.column() >= region.width || y >= region.height) continue;
      a.target.flow[y * a.level.stride + x] = flow[o];
      a.warped[y * a.level.stride + x] = warped[o];
    }
  }
}

}  // namespace

Kernel<SmoothArguments> smooth_kernel(const SmoothArguments& a) noexcept {
  // Specialized kernels for the box of the preset `fast`.
  if (a.radius == 7) return a.source.coarse ? smooth<7, true> : smooth<7, false>;
  return a.source.coarse ? smooth<0, true> : smooth<0, false>;
}

std::size_t smooth_shared_bytes(int radius) noexcept {
  return static_cast<std::size_t>(2 * (kHeight + 2 * radius) *
                                  (source_stride(radius) + kFilteredStride)) *
         sizeof(float);
}

}  // namespace ocellus::cuda
