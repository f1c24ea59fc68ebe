// Solves equation (3) for the remaining difference between the warped and the reference frame.
#include "kernels/core/shared_memory.cuh"
#include "kernels/optical_flow/pyramid.cuh"
#include "optical_flow/plan.h"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;

constexpr int kProducts = 5;
constexpr int kFilteredStride = kWidth + 1;  // odd, because lanes read along rows and along columns
constexpr int kReach = detail::kGradientReach;

__host__ __device__ constexpr int data_columns(int radius) {
  return kWidth + 2 * radius;
}
__host__ __device__ constexpr int data_stride(int radius) {
  return data_columns(radius) | 1;
}

/// Weight of a residual, by the distance of the pixel and of its warped position from the edges of
/// the image.
__device__ float edge_ramp(const FlowLevel& level, int x, int y, float2 flow) {
  const float right = static_cast<float>(level.stored.width - 1);
  const float bottom = static_cast<float>(level.stored.height - 1);
  const float here_x = static_cast<float>(x);
  const float here_y = static_cast<float>(y);
  const float there_x = here_x + flow.x;
  const float there_y = here_y + flow.y;
  const float here = fminf(fminf(here_x, right - here_x), fminf(here_y, bottom - here_y));
  const float there = fminf(fminf(there_x, right - there_x), fminf(there_y, bottom - there_y));
  const float distance = fminf(here, there) + 0.5f;
  return fminf(1.0f, fmaxf(detail::kLeastRamp, distance * (1.0f / detail::kBorderRamp)));
}

/// Number of rows that a thread solves.
__host__ __device__ constexpr int rows_of_thread(int height, int threads) {
  return (height + threads / kWidth - 1) / (threads / kWidth);
}
/// Number of rows that are filtered along x. It includes rows that the last threads read but do not
/// use.
__host__ __device__ constexpr int filtered_rows(int height, int radius, int threads) {
  return rows_of_thread(height, threads) * (threads / kWidth) + 2 * radius;
}

/// The solution of a block's tile in shared memory: of its pixels, and those at most a window's
/// radius outside. If kRadius is 0, the radius of the window is an argument.
template <int kHeight, int kRadius, int kThreads>
struct Solver {
  static constexpr int kDown = rows_of_thread(kHeight, kThreads);
  static constexpr int kBatch = 3;

  const SolveArguments& a;
  const int radius = kRadius > 0 ? kRadius : a.radius;
  const int columns = data_columns(radius);  ///< of `data`
  const int rows = kHeight + 2 * radius;
  const int stride = data_stride(radius);
  const int plane = filtered_rows(kHeight, radius, kThreads) * kFilteredStride;
  const int mean_columns = columns + 2 * kReach;
  /// Position in the region of the first pixel of `mean`.
  const int left = a.target.part.x + static_cast<int>(blockIdx.x) * kWidth - radius - kReach;
  const int top = a.target.part.y + static_cast<int>(blockIdx.y) * kHeight - radius - kReach;
  float4* const data;  ///< x and y derivatives, weight and weighted residual, [rows][stride]
  float* const filtered = reinterpret_cast<float*>(data + rows * stride);  ///< [kProducts][plane]
  /// The image of both frames, [rows + 2 kReach][mean_columns], in `filtered`.
  float* const mean = filtered;

  __device__ Solver(const SolveArguments& arguments, float4* shared) : a(arguments), data(shared) {}

  /// The mean of the reference and the warped frame, the weight of their difference and the
  /// weighted difference.
  __device__ __forceinline__ void load() {
    const Rect& region = a.level.region;
    wait_for_kernels_before();
    struct Pixel {
      float2 flow;
      float2 warped;
    };
    copy_block<kBatch, kThreads>(
        mean_columns, rows + 2 * kReach,
        [&](int column, int row) {
          const int x = clamp_to(left + column, region.width);
          const int y = clamp_to(top + row, region.height);
          return Pixel{flow_at(a.source, x, y), a.warped[y * a.level.stride + x]};
        },
        [&](int column, int row, const Pixel& pixel) {
          mean[row * mean_columns + column] = pixel.warped.x;
          const int to_column = column - kReach;
          const int to_row = row - kReach;
          if (static_cast<unsigned>(to_row) >= static_cast<unsigned>(rows) ||
              static_cast<unsigned>(to_column) >= static_cast<unsigned>(columns))
            return;
          const float weight =
              squared(edge_ramp(a.level, region.x + clamp_to(left + column, region.width),
                                region.y + clamp_to(top + row, region.height), pixel.flow));
          *reinterpret_cast<float2*>(&data[to_row * stride + to_column].z) =
              make_float2(weight, weight * pixel.warped.y);
        });
  }

  __device__ __forceinline__ void derive() {
    const Rect& region = a.level.region;
    copy_block<kBatch, kThreads>(
        columns, rows,
        [&](int column, int row) {
          // Outside the region, the products of its edge are repeated.
          const int x = clamp_to(left + kReach + column, region.width) - left;
          const int y = clamp_to(top + kReach + row, region.height) - top;
          // The mean at this position. Its neighbors outside the region repeat the edge.
          const float* const under = mean + y * mean_columns + x;
          return make_float2(derivative_at(under, 1), derivative_at(under, mean_columns));
        },
        [&](int column, int row, float2 gradient) {
          float4& point = data[row * stride + column];
          point.x = gradient.x;
          point.y = gradient.y;
        });
  }

  /// Window sums along the rows. Weights outside the window are zero.
  __device__ __forceinline__ void sum_rows() {
    constexpr int kAcross = kThreads > kPyramidThreads ? 2 : 4;
    for (BlockWalk<kThreads> at(rows, kWidth / kAcross); at.more(); at.next()) {
      const int row = at.column();
      const int column = at.row() * kAcross;
      const float4* const in = data + row * stride + column;
      float sum[kProducts][kAcross] = {};
      const auto add = [&](int j) {
        const float4 p = in[j];
        const float product[kProducts] = {p.z * (p.x * p.x), p.z * (p.x * p.y), p.z * (p.y * p.y),
                                          p.w * p.x, p.w * p.y};
#pragma unroll
        for (int o = 0; o < kAcross; ++o) {
          if (kRadius > 0 && (j < o || j - o > 2 * kRadius)) continue;
          const float weight = a.weight[3 + j - o];
#pragma unroll
          for (int i = 0; i < kProducts; ++i) sum[i][o] = fmaf(weight, product[i], sum[i][o]);
        }
      };
#pragma unroll(kRadius > 0 ? 2 * kRadius + kAcross : 4)
      for (int j = 0; j < 2 * radius + kAcross; ++j) add(j);
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
#pragma unroll
        for (int o = 0; o < kAcross; ++o)
          filtered[i * plane + row * kFilteredStride + column + o] = sum[i][o];
      }
    }
  }

  /// Window sums along the columns, of kDown pixels.
  __device__ __forceinline__ void sum_columns(int column, int row, float (&sum)[kDown][kProducts]) {
    const auto add = [&](int j) {
      const float* const in = filtered + (row + j) * kFilteredStride + column;
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        const float value = in[i * plane];
#pragma unroll
        for (int o = 0; o < kDown; ++o) {
          if (kRadius > 0 && (j < o || j - o > 2 * kRadius)) continue;
          sum[o][i] = fmaf(a.weight[3 + j - o], value, sum[o][i]);
        }
      }
    };
#pragma unroll(kRadius > 0 ? 2 * kRadius + kDown : 4)
    for (int j = 0; j < 2 * radius + kDown; ++j) add(j);
  }

  /// Adds the solution of equation (3) to the flow. `smaller`: the smaller eigenvalue.
  __device__ __forceinline__ void refine(const float (&sum)[kProducts], float2& flow,
                                         float& smaller) {
    const auto& [xx, xy, yy, xt, yt] = sum;
    // Eigenvalues of the structure tensor: mean -/+ spread.
    const float middle = 0.5f * (xx + yy);
    const float difference = 0.5f * (xx - yy);
    const float spread = sqrtf(fmaf(difference, difference, xy * xy));
    smaller = fmaxf(middle - spread, 0.0f);
    const float larger = middle + spread;
    const float c = xx + a.ridge;
    const float d = yy + a.ridge;
    const float inverse = inverse_of(fmaf(c, d, -xy * xy));
    // Two comparisons, so that NaN sums are not solvable.
    const float least = smaller + a.ridge;
    const bool solvable =
        least > detail::kFlat && least > detail::kSingularRatio * (larger + a.ridge);
    // The minus sign of equation (3) is in the order of the differences.
    const float du = fmaf(xy, yt, -d * xt) * inverse;
    const float dv = fmaf(xy, xt, -c * yt) * inverse;
    if (solvable) {
      flow.x += fminf(1.0f, fmaxf(-1.0f, du));
      flow.y += fminf(1.0f, fmaxf(-1.0f, dv));
    }
  }
};

template <int kHeight, int kRadius, int kThreads>
__global__ void __launch_bounds__(kThreads) solve(const __grid_constant__ SolveArguments a) {
  OCELLUS_DYNAMIC_SHARED(float4, shared);
  Solver<kHeight, kRadius, kThreads> solver(a, shared);
  constexpr int kDown = solver.kDown;
  let_next_begin();
  solver.load();
  __syncthreads();
  solver.derive();
  __syncthreads();
  solver.sum_rows();
  __syncthreads();
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth * kDown;
  float sum[kDown][kProducts] = {};
  solver.sum_columns(column, row, sum);
  const bool bad = a.state->bad != 0;
#pragma unroll
  for (int o = 0; o < kDown; ++o) {
    const int x = static_cast<int>(blockIdx.x) * kWidth + column;
    const int y = static_cast<int>(blockIdx.y) * kHeight + row + o;
    if (row + o >= kHeight || x >= a.target.part.width || y >= a.target.part.height) continue;
    float2 flow = flow_at(a.source, a.target.part.x + x, a.target.part.y + y);
    float smaller;
    solver.refine(sum[o], flow, smaller);
    write_flow(a, bad, x, y, flow, smaller);
  }
  end_frame(a);
}

}  // namespace

Kernel<SolveArguments> solve_kernel(int radius, int threads) noexcept {
  if (radius != kUsualWindowRadius)
    return solve_tile_height(radius) == 16 ? solve<16, 0, kPyramidThreads>
                                           : solve<8, 0, kPyramidThreads>;
  constexpr int kHeight = solve_tile_height(kUsualWindowRadius);
  return threads == kSolveThreadsMany ? solve<kHeight, kUsualWindowRadius, kSolveThreadsMany>
                                      : solve<kHeight, kUsualWindowRadius, kPyramidThreads>;
}

int solve_threads(int radius, int blocks, int multiprocessors) noexcept {
  return radius == kUsualWindowRadius && blocks <= 2 * multiprocessors ? kSolveThreadsMany
                                                                       : kPyramidThreads;
}

std::size_t solve_shared_bytes(int radius, int threads) noexcept {
  const int height = solve_tile_height(radius);
  return static_cast<std::size_t>((height + 2 * radius) * data_stride(radius)) * sizeof(float4) +
         static_cast<std::size_t>(kProducts * filtered_rows(height, radius, threads) *
                                  kFilteredStride) *
             sizeof(float);
}

}  // namespace ocellus::cuda
