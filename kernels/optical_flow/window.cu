// The Lucas-Kanade window and the 2x2 solution: equation (3) of Ohmura et al. 2011.
//
// The sums along the columns come first and read global memory. Only the three derivatives are
// read, not their five products, and each derivative is used for all windows of a thread. The sums
// along the rows follow, in shared memory.
#include "kernels/core/shared_memory.cuh"
#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/kernels.h"
#include "optical_flow/plan.h"

namespace ocellus::cuda {
namespace {

constexpr int kProducts = 5;
constexpr int kResults = 3;  // u, v and confidence
/// Number of parts of a block's height that threads sum along the columns.
constexpr int kParts = 2;
/// Number of neighboring windows that a thread solves.
constexpr int kSide = 4;
constexpr int kMostThreads = 192;
/// Radius of window 15, as a compile-time constant.
constexpr int kUsualRadius = 7;

/// Number of columns before and after those of the block, in whole vectors.
__host__ __device__ constexpr int lead(int radius) {
  return (radius + 3) / 4 * 4;
}
__host__ __device__ constexpr int columns(int radius) {
  return kWindowWidth + 2 * lead(radius);
}

/// Weight of a pixel at distance `away` from the window's center along one axis.
__device__ __forceinline__ float weight_at(const WindowArguments& a, int radius, int away) {
  const int distance = away < 0 ? -away : away;
  return distance <= radius ? a.weight[distance] : 0.0f;
}

template <bool kAnyValues>
__device__ __forceinline__ void solve(const float* sum, const WindowArguments& a, bool bad,
                                      int side, float (&result)[kResults][kSide]) {
  // These two sums have a factor It and, together, both others.
  if constexpr (kAnyValues) bad = bad || !isfinite(sum[3] + sum[4]);
  // Eigenvalues of the structure tensor: mean -/+ spread.
  const float mean = 0.5f * (sum[0] + sum[2]);
  const float difference = 0.5f * (sum[0] - sum[2]);
  const float spread = sqrtf(fmaf(difference, difference, sum[1] * sum[1]));
  const float smaller = fmaxf(mean - spread, 0.0f);
  const float larger = mean + spread;
  const float determinant = fmaf(sum[0], sum[2], -sum[1] * sum[1]);
  const float inverse = 1.0f / determinant;
  const float least = fmaxf(detail::kFlat, detail::kSingularRatio * larger);
  const bool valid = !bad && smaller > least && smaller >= a.threshold;
  // The minus sign of equation (3) is in the order of the differences.
  const float u = fmaf(sum[1], sum[4], -sum[2] * sum[3]) * inverse;
  const float v = fmaf(sum[1], sum[3], -sum[0] * sum[4]) * inverse;
  result[0][side] = valid ? u : a.invalid;
  result[1][side] = valid ? v : a.invalid;
  result[2][side] = bad ? 0.0f : smaller;
}

/// Stores four values. `whole`: all four are inside the plane, and the address is aligned.
__device__ __forceinline__ void put(float* to, const float (&values)[kSide], bool whole,
                                    int present) {
  if (whole) {
    __stcs(reinterpret_cast<float4*>(to), make_float4(values[0], values[1], values[2], values[3]));
    return;
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i)
    if (i < present) to[i] = values[i];
}

// If kRadius is 0, the radius is an argument.

/// Sums along a column, of kRows windows one below the other. `in` has the column, `top` is the
/// first row of the first window.
template <int kRadius, int kRows, bool kAnyValues>
__device__ __forceinline__ void sum_column(const WindowArguments& a, const FloatPlanes& in,
                                           int radius, int top, float (&sum)[kProducts][kRows]) {
  // Several rows are read before the first one is used.
  constexpr int kBatch = kRadius > 0 ? (kRows + 2 * kRadius + 1) / 2 : kRows;
  const int rows = kRows + 2 * radius;
  float recent[kRows] = {};  // weights for the first window, if the radius is not a constant
#pragma unroll(kRadius > 0 ? 2 : 1)
  for (int first = 0; first < rows; first += kBatch) {
    float d[kBatch][3];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const float* at =
          in.base + clamp_to(top + min(first + k, rows - 1), a.support.height) * in.stride;
#pragma unroll
      for (int c = 0; c < 3; ++c) d[k][c] = at[c * in.plane];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const float product[kProducts] = {d[k][0] * d[k][0], d[k][0] * d[k][1], d[k][1] * d[k][1],
                                        d[k][0] * d[k][2], d[k][1] * d[k][2]};
      if constexpr (kRadius == 0) recent[k] = weight_at(a, radius, first + k - radius);
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const int away = first + k - row - radius;
        // A weight of 0 does not remove a value that is not finite.
        if ((kRadius > 0 || kAnyValues) && (away < -radius || away > radius)) continue;
        const float weight =
            kRadius > 0 ? weight_at(a, radius, away) : recent[(k - row + kRows) % kRows];
#pragma unroll
        for (int p = 0; p < kProducts; ++p) sum[p][row] = fmaf(weight, product[p], sum[p][row]);
      }
    }
  }
}

/// Sums along a row, of kSide windows side by side. `under` has the sums along the columns, from
/// lead(radius) columns before the first window on, in planes of `plane` values.
template <int kRadius, bool kAnyValues>
__device__ __forceinline__ void sum_row(const WindowArguments& a, const float* under, int plane,
                                        int radius, float (&sum)[kSide][kProducts]) {
  const int before = lead(radius) - radius;  // columns that the first window does not use
  // Weights of the columns that the four windows read, if the radius is not a constant.
  float recent[kSide + 3] = {};
#pragma unroll(kRadius > 0 ? (2 * lead(kRadius) + kSide) / 4 : 1)
  for (int k = 0; k < 2 * lead(radius) + kSide; k += 4) {
    float4 some[kProducts];
#pragma unroll
    for (int p = 0; p < kProducts; ++p)
      some[p] = *reinterpret_cast<const float4*>(under + p * plane + k);
    // Offset of the first column from the first window's center.
    const int away = k - before - radius;
    if constexpr (kRadius == 0) {
#pragma unroll
      for (int w = 0; w < kSide - 1; ++w) recent[w] = recent[4 + w];
#pragma unroll
      for (int w = 0; w < 4; ++w) recent[kSide - 1 + w] = weight_at(a, radius, away + w);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int side = 0; side < kSide; ++side) {
        const int from = away + e - side;
        if ((kRadius > 0 || kAnyValues) && (from < -radius || from > radius)) continue;
        const float weight =
            kRadius > 0 ? weight_at(a, radius, from) : recent[kSide - 1 + e - side];
#pragma unroll
        for (int p = 0; p < kProducts; ++p) {
          const float value = e == 0   ? some[p].x
                              : e == 1 ? some[p].y
                              : e == 2 ? some[p].z
                                       : some[p].w;
          sum[side][p] = fmaf(weight, value, sum[side][p]);
        }
      }
    }
  }
}

template <int kRadius, int kRows, WindowSource kSource>
__global__ void __launch_bounds__(kMostThreads) window(const __grid_constant__ WindowArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, shared);  // [kProducts][kHeight][stride]
  constexpr int kHeight = kParts * kRows;
  const int radius = kRadius > 0 ? kRadius : a.radius;
  const int stride = columns(radius);
  const int x0 = blockIdx.x * kWindowWidth;
  const int y0 = blockIdx.y * kHeight;
  constexpr bool kAnyValues = kSource == WindowSource::kFrame;
  FloatPlanes derivatives = a.derivatives;
  if constexpr (kSource == WindowSource::kFrame) {
    derivatives.base = static_cast<float*>(const_cast<void*>(a.frame->image));
    derivatives.stride = a.frame->image_stride / static_cast<int>(sizeof(float));
    derivatives.plane = derivatives.stride * a.support.height;
  }
  const bool bad = a.state->bad != 0;
  const bool own = a.solved.base != nullptr;
  const std::int64_t out_stride =
      own ? a.solved.stride * static_cast<int>(sizeof(float)) : a.frame->out_stride[0];
  float* out[kResults];
  bool aligned = out_stride % static_cast<int>(sizeof(float4)) == 0;
#pragma unroll
  for (int p = 0; p < kResults; ++p) {
    out[p] = own ? a.solved.base + p * a.solved.plane : out_plane<float>(*a.frame, p);
    aligned = aligned && reinterpret_cast<std::uintptr_t>(out[p]) % sizeof(float4) == 0;
  }

  for (int i = threadIdx.x; i < kParts * stride; i += blockDim.x) {
    const int part = i / stride;
    const int column = i - part * stride;
    FloatPlanes in = derivatives;
    in.base += clamp_to(a.region.x + x0 + column - lead(radius), a.support.width);
    float sum[kProducts][kRows] = {};
    sum_column<kRadius, kRows, kAnyValues>(a, in, radius, a.region.y + y0 + part * kRows - radius,
                                           sum);
#pragma unroll
    for (int p = 0; p < kProducts; ++p)
#pragma unroll
      for (int row = 0; row < kRows; ++row)
        shared[(p * kHeight + part * kRows + row) * stride + column] = sum[p][row];
  }
  __syncthreads();

  constexpr int kAcross = kWindowWidth / kSide;
  for (int i = threadIdx.x; i < kAcross * kHeight; i += blockDim.x) {
    const int row = i / kAcross;
    const int column = i % kAcross * kSide;
    const int x = x0 + column;
    const int y = y0 + row;
    if (x >= a.region.width || y >= a.region.height) continue;
    float sum[kSide][kProducts] = {};
    sum_row<kRadius, kAnyValues>(a, shared + row * stride + column, kHeight * stride, radius, sum);
    float result[kResults][kSide];
#pragma unroll
    for (int side = 0; side < kSide; ++side) solve<kAnyValues>(sum[side], a, bad, side, result);
    const int present = a.region.width - x;
    const bool whole = aligned && present >= kSide;
#pragma unroll
    for (int p = 0; p < kResults; ++p)
      if (p < 2 || out[p] != nullptr)
        put(row_at(out[p], out_stride, y) + x, result[p], whole, present);
  }
  end_frame(a);
}

template <int kRadius, WindowSource kSource>
Kernel<WindowArguments> window_of(int height) noexcept {
  return height == kHighWindow ? window<kRadius, kHighWindow / kParts, kSource>
                               : window<kRadius, kLowWindow / kParts, kSource>;
}

}  // namespace

Kernel<WindowArguments> window_kernel(int height, int radius, WindowSource source) noexcept {
  constexpr WindowSource kFrame = WindowSource::kFrame;
  constexpr WindowSource kKernels = WindowSource::kKernels;
  if (radius == kUsualRadius)
    return source == kFrame ? window_of<kUsualRadius, kFrame>(height)
                            : window_of<kUsualRadius, kKernels>(height);
  return source == kFrame ? window_of<0, kFrame>(height) : window_of<0, kKernels>(height);
}

int window_threads(int radius) noexcept {
  return (kParts * columns(radius) + 31) / 32 * 32;
}

std::size_t window_shared_bytes(int height, int radius) noexcept {
  return static_cast<std::size_t>(kProducts * height * columns(radius)) * sizeof(float);
}

}  // namespace ocellus::cuda
