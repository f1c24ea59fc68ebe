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

struct Solution {
  float u;
  float v;
  float confidence;
};

template <bool kAnyValues>
__device__ __forceinline__ Solution solve(const float* sum, const WindowArguments& a, bool bad) {
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
  return {valid ? u : a.invalid, valid ? v : a.invalid, bad ? 0.0f : smaller};
}

__device__ inline bool is_aligned(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % sizeof(float4) == 0;
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

/// Planes of the three derivatives.
struct Derivatives {
  const float* pixels;
  std::int64_t stride;
  std::int64_t plane;
};

// If kRadius is 0, the radius is an argument.

/// Sums along a column, of kRows windows one below the other. `in` has the column, `top` is the
/// first row of the first window.
template <int kRadius, int kRows, bool kAnyValues>
__device__ __forceinline__ void sum_column(const WindowArguments& a, const Derivatives& in,
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
          in.pixels + clamp_to(top + min(first + k, rows - 1), a.support_height) * in.stride;
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
  Derivatives derivatives = {a.derivatives, a.stride, a.plane};
  if constexpr (kSource == WindowSource::kFrame) {
    derivatives.pixels = static_cast<const float*>(a.frame->image);
    derivatives.stride = a.frame->image_stride / static_cast<int>(sizeof(float));
    derivatives.plane = derivatives.stride * a.support_height;
  }
  const bool bad = a.state->bad != 0;
  const bool own = a.solved != nullptr;
  float* const us = own ? a.solved : out_plane<float>(*a.frame, 0);
  float* const vs = own ? a.solved + a.solved_plane : out_plane<float>(*a.frame, 1);
  float* const confidences = own ? a.solved + 2 * a.solved_plane : out_plane<float>(*a.frame, 2);
  const std::int64_t out_stride =
      own ? a.solved_stride * static_cast<int>(sizeof(float)) : a.frame->out_stride[0];

  for (int i = threadIdx.x; i < kParts * stride; i += blockDim.x) {
    const int part = i / stride;
    const int column = i - part * stride;
    Derivatives in = derivatives;
    in.pixels += clamp_to(a.x + x0 + column - lead(radius), a.support_width);
    float sum[kProducts][kRows] = {};
    sum_column<kRadius, kRows, kAnyValues>(a, in, radius, a.y + y0 + part * kRows - radius, sum);
#pragma unroll
    for (int p = 0; p < kProducts; ++p)
#pragma unroll
      for (int row = 0; row < kRows; ++row)
        shared[(p * kHeight + part * kRows + row) * stride + column] = sum[p][row];
  }
  __syncthreads();

  const bool aligned = is_aligned(us) && is_aligned(vs) && is_aligned(confidences) &&
                       out_stride % static_cast<int>(sizeof(float4)) == 0;
  constexpr int kAcross = kWindowWidth / kSide;
  for (int i = threadIdx.x; i < kAcross * kHeight; i += blockDim.x) {
    const int row = i / kAcross;
    const int column = i % kAcross * kSide;
    const int x = x0 + column;
    const int y = y0 + row;
    if (x >= a.width || y >= a.height) continue;
    float sum[kSide][kProducts] = {};
    sum_row<kRadius, kAnyValues>(a, shared + row * stride + column, kHeight * stride, radius, sum);
    float u[kSide], v[kSide], confidence[kSide];
#pragma unroll
    for (int side = 0; side < kSide; ++side) {
      const Solution solution = solve<kAnyValues>(sum[side], a, bad);
      u[side] = solution.u;
      v[side] = solution.v;
      confidence[side] = solution.confidence;
    }
    const int present = a.width - x;
    const bool whole = aligned && present >= kSide;
    put(row_at(us, out_stride, y) + x, u, whole, present);
    put(row_at(vs, out_stride, y) + x, v, whole, present);
    if (confidences != nullptr)
      put(row_at(confidences, out_stride, y) + x, confidence, whole, present);
  }
  __syncthreads();
  if (threadIdx.x == 0 && a.outcome != nullptr)
    finish_frame(a.state, a.outcome, a.frames, gridDim.x * gridDim.y);
}

template <int kRadius, WindowSource kSource>
Kernel<WindowArguments> window_of(WindowShape shape) noexcept {
  return shape == WindowShape::kHigh
             ? window<kRadius, window_height(WindowShape::kHigh) / kParts, kSource>
             : window<kRadius, window_height(WindowShape::kLow) / kParts, kSource>;
}

template <WindowSource kSource>
Kernel<WindowArguments> window_of(WindowShape shape, int radius) noexcept {
  return radius == kUsualRadius ? window_of<kUsualRadius, kSource>(shape)
                                : window_of<0, kSource>(shape);
}

}  // namespace

Kernel<WindowArguments> window_kernel(WindowShape shape, int radius, WindowSource source) noexcept {
  return source == WindowSource::kFrame ? window_of<WindowSource::kFrame>(shape, radius)
                                        : window_of<WindowSource::kKernels>(shape, radius);
}

int window_threads(int radius) noexcept {
  return (kParts * columns(radius) + 31) / 32 * 32;
}

std::size_t window_shared_bytes(WindowShape shape, int radius) noexcept {
  return static_cast<std::size_t>(kProducts * window_height(shape) * columns(radius)) *
         sizeof(float);
}

}  // namespace ocellus::cuda
