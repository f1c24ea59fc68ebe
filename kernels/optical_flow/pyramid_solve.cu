// The pyramid's solution of equation (3) for what the warped frames still differ by.
#include "kernels/optical_flow/pyramid.cuh"
#include "optical_flow/plan.h"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;

// ---- further frames

__global__ void __launch_bounds__(kPyramidThreads) warp(const __grid_constant__ WarpArguments a) {
  let_next_begin();
  const References r = references(a.state, a.level);
  wait_for_kernels_before();
  const int k = blockIdx.z;
  const int x = blockIdx.x * kWidth + threadIdx.x % kWidth;
  const int y = blockIdx.y * kWarpTileHeight + threadIdx.x / kWidth;
  const Rect& region = a.level.region;
  if (k >= r.partners || x >= region.width || y >= region.height) return;
  const Partner from = partner(r, k);
  a.warped[k * a.plane + y * a.stride + x] =
      warped_pixel(stored(a.window, a.level.stored, r, from.age), a.level.stored, a.level.cubic,
                   region.x + x, region.y + y, from.offset, flow_at(a.source, x, y));
}
static_assert(kPyramidThreads == kWidth * kWarpTileHeight);

__global__ void __launch_bounds__(kPyramidThreads) fit(const __grid_constant__ FitArguments a) {
  constexpr int kRadius = detail::kFitRadius;
  constexpr int kColumns = kWidth + 2 * kRadius;
  constexpr int kRows = kFitTileHeight + 2 * kRadius;
  constexpr int kAcross = 4;
  constexpr int kDown = kWidth * kFitTileHeight / kPyramidThreads;
  constexpr float kShare = 1.0f / (2 * kRadius + 1);
  __shared__ float squared[kRows][kColumns + 1];
  __shared__ float filtered[kRows][kWidth + 1];
  let_next_begin();
  const References r = references(a.state, a.level);
  wait_for_kernels_before();
  const Rect& region = a.level.region;
  const float* const reference = stored(a.window, a.level.stored, r, r.reference_age) +
                                 region.y * a.level.stored.stride + region.x;
  const int x0 = blockIdx.x * kWidth;
  const int y0 = blockIdx.y * kFitTileHeight;
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth * kDown;
  float error[detail::kMaxPyramidPartners][kDown];
  float least[kDown];
#pragma unroll
  for (int k = 0; k < detail::kMaxPyramidPartners; ++k) {
    if (k >= r.partners) break;
    const float* const warped = a.warped + k * a.plane;
    copy_block<4>(
        kColumns, kRows,
        [&](int at_column, int at_row) {
          const int x = clamp_to(x0 - kRadius + at_column, region.width);
          const int y = clamp_to(y0 - kRadius + at_row, region.height);
          return warped[y * a.stride + x] - reference[y * a.level.stored.stride + x];
        },
        [&](int at_column, int at_row, float residual) {
          squared[at_row][at_column] = residual * residual;
        });
    __syncthreads();
    for (BlockWalk at(kRows, kWidth / kAcross); at.more(); at.next()) {
      const float* in = &squared[at.column()][at.row() * kAcross];
      float sum[kAcross] = {};
#pragma unroll
      for (int j = 0; j < 2 * kRadius + kAcross; ++j) {
        const float value = in[j];
#pragma unroll
        for (int o = 0; o < kAcross; ++o)
          if (j >= o && j - o <= 2 * kRadius) sum[o] += value;
      }
      for (int o = 0; o < kAcross; ++o)
        filtered[at.column()][at.row() * kAcross + o] = kShare * sum[o];
    }
    __syncthreads();
#pragma unroll
    for (int o = 0; o < kDown; ++o) {
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j <= 2 * kRadius; ++j) sum += filtered[row + o + j][column];
      error[k][o] = kShare * sum;
      least[o] = k == 0 ? error[k][o] : fminf(least[o], error[k][o]);
    }
  }
  const int x = x0 + column;
  if (x >= region.width) return;
#pragma unroll
  for (int k = 0; k < detail::kMaxPyramidPartners; ++k) {
    if (k >= r.partners) break;
#pragma unroll
    for (int o = 0; o < kDown; ++o) {
      const int y = y0 + row + o;
      if (y >= region.height) continue;
      const float q = (least[o] + detail::kFitFloor) / (error[k][o] + detail::kFitFloor);
      a.fit[k * a.plane + y * a.stride + x] = q * q * q;
    }
  }
}

// ---- solution

constexpr int kProducts = 5;
constexpr int kFilteredStride = kWidth + 1;  // odd: lanes go along rows, then along columns
constexpr int kReach = detail::kGradientReach;

__host__ __device__ constexpr int data_columns(int radius) {
  return kWidth + 2 * radius;
}
__host__ __device__ constexpr int data_stride(int radius) {
  return data_columns(radius) | 1;
}

/// Weight of a residual by the distance from the image's edges, of the pixel and of where it came
/// from.
__device__ float edge_ramp(const FlowLevel& level, int x, int y, float offset, float2 flow,
                           float inverse_border) {
  const float right = static_cast<float>(level.stored.width - 1);
  const float bottom = static_cast<float>(level.stored.height - 1);
  const float here_x = static_cast<float>(x);
  const float here_y = static_cast<float>(y);
  const float there_x = fmaf(offset, flow.x, here_x);
  const float there_y = fmaf(offset, flow.y, here_y);
  const float here = fminf(fminf(here_x, right - here_x), fminf(here_y, bottom - here_y));
  const float there = fminf(fminf(there_x, right - there_x), fminf(there_y, bottom - there_y));
  const float distance = fminf(here, there) + 0.5f;
  return fminf(1.0f, fmaxf(detail::kLeastRamp, distance * inverse_border));
}

/// What a pixel gives to the equations.
struct Point {
  float2 flow;
  float reference;
  float warped;  ///< the next frame
};

/// kRadius 0 takes the window's radius from the arguments.
template <int kHeight, int kRadius, bool kAllFrames>
__global__ void __launch_bounds__(kPyramidThreads) solve(const __grid_constant__ SolveArguments a) {
  extern __shared__ __align__(16) float4 shared[];
  const int radius = kRadius > 0 ? kRadius : a.radius;
  const int columns = data_columns(radius);
  const int rows = kHeight + 2 * radius;
  const int stride = data_stride(radius);
  float4* const data = shared;  // x and y derivatives and the two weighted sums, [rows][stride]
  // [kProducts][rows][kFilteredStride]; before that the mean image.
  float* const filtered = reinterpret_cast<float*>(shared + rows * stride);
  float* const mean = filtered;
  const int mean_columns = columns + 2 * kReach;
  const int mean_rows = rows + 2 * kReach;

  let_next_begin();
  const References r = references(a.state, a.level);
  const StoredLevel& level = a.level.stored;
  const Rect& region = a.level.region;
  const float* const reference = stored(a.window, level, r, r.reference_age);
  const int x0 = a.target.x + static_cast<int>(blockIdx.x) * kWidth;
  const int y0 = a.target.y + static_cast<int>(blockIdx.y) * kHeight;
  const int left = x0 - radius - kReach;
  const int top = y0 - radius - kReach;
  const Partner next = partner(r, 0);
  const float* const next_frame = stored(a.window, level, r, next.age);
  const float share = 1.0f / static_cast<float>(r.partners + 1);
  wait_for_kernels_before();

  // Several pixels at once, so that a thread waits for their flow and then for their neighbours
  // once and not for each.
  constexpr int kBatch = 3;
  for (BlockWalk at(mean_columns, mean_rows); at.more();) {
    int column[kBatch];
    int row[kBatch];
    bool inside[kBatch];
    Point point[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b, at.next()) {
      column[b] = at.column();
      row[b] = at.row();
      inside[b] = at.more();  // loaded in any case: a branch would part the loads
      const int x = clamp_to(left + column[b], region.width);
      const int y = clamp_to(top + row[b], region.height);
      point[b].flow = flow_at(a.source, x, y);
      point[b].reference = reference[(region.y + y) * level.stride + region.x + x];
    }
    if constexpr (!kAllFrames) {
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int x = clamp_to(left + column[b], region.width);
        const int y = clamp_to(top + row[b], region.height);
        point[b].warped = warped_pixel(next_frame, level, a.level.cubic, region.x + x, region.y + y,
                                       next.offset, point[b].flow);
      }
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (!inside[b]) continue;
      const int x = clamp_to(left + column[b], region.width);
      const int y = clamp_to(top + row[b], region.height);
      const float here = point[b].reference;
      float sum = here;
      float s2 = 0.0f;
      float st = 0.0f;
      const auto add = [&](float warped, float offset, float fit) {
        sum += warped;
        const float residual = warped - here;
        const float ramp =
            edge_ramp(a.level, region.x + x, region.y + y, offset, point[b].flow, a.inverse_border);
        float weight = ramp * ramp * fit;
        if (a.inverse_robust2 > 0.0f) weight /= fmaf(residual * residual, a.inverse_robust2, 1.0f);
        s2 += weight * offset * offset;
        st += weight * offset * residual;
      };
      if constexpr (kAllFrames) {
        for (int k = 0; k < r.partners; ++k) {
          const std::int64_t at_pixel = k * a.plane + y * a.stride + x;
          add(a.warped[at_pixel], partner(r, k).offset, a.fit[at_pixel]);
        }
      } else {
        add(point[b].warped, next.offset, 1.0f);
      }
      mean[row[b] * mean_columns + column[b]] = share * sum;
      const int in_row = row[b] - kReach;
      const int in_column = column[b] - kReach;
      if (in_row >= 0 && in_row < rows && in_column >= 0 && in_column < columns) {
        float4& to = data[in_row * stride + in_column];
        to.z = s2;
        to.w = st;
      }
    }
  }
  __syncthreads();

  const float floor2 = a.gradient_floor * a.gradient_floor;
  copy_block<4>(
      columns, rows,
      [&](int column, int row) {
        // Beyond the region the products of its edge are repeated.
        const int x = clamp_to(left + kReach + column, region.width) - left;
        const int y = clamp_to(top + kReach + row, region.height) - top;
        // The mean there, whose own neighbours repeat its edge.
        const float* const under = mean + y * mean_columns + x;
        const auto derivative = [&](int step) {
          return fmaf(-1.0f / 12.0f, under[2 * step] - under[-2 * step],
                      8.0f / 12.0f * (under[step] - under[-step]));
        };
        return make_float2(derivative(1), derivative(mean_columns));
      },
      [&](int column, int row, float2 gradient) {
        float4& point = data[row * stride + column];
        float even = 1.0f;
        if (floor2 > 0.0f)
          even = 1.0f / (gradient.x * gradient.x + gradient.y * gradient.y + floor2);
        point = make_float4(gradient.x, gradient.y, even * point.z, even * point.w);
      });
  __syncthreads();

  // Window sums along the rows, then along the columns. The weights are zero beyond the window.
  constexpr int kAcross = 4;
  for (BlockWalk at(rows, kWidth / kAcross); at.more(); at.next()) {
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
    if constexpr (kRadius > 0) {
#pragma unroll
      for (int j = 0; j < 2 * kRadius + kAcross; ++j) add(j);
    } else {
#pragma unroll 4
      for (int j = 0; j < 2 * radius + kAcross; ++j) add(j);
    }
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
#pragma unroll
      for (int o = 0; o < kAcross; ++o)
        filtered[(i * rows + row) * kFilteredStride + column + o] = sum[i][o];
    }
  }
  __syncthreads();

  constexpr int kDown = kHeight * kWidth / kPyramidThreads;
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth * kDown;
  float sum[kDown][kProducts] = {};
  const auto add = [&](int j) {
    const float* const in = filtered + (row + j) * kFilteredStride + column;
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
      const float value = in[i * rows * kFilteredStride];
#pragma unroll
      for (int o = 0; o < kDown; ++o) {
        if (kRadius > 0 && (j < o || j - o > 2 * kRadius)) continue;
        sum[o][i] = fmaf(a.weight[3 + j - o], value, sum[o][i]);
      }
    }
  };
  if constexpr (kRadius > 0) {
#pragma unroll
    for (int j = 0; j < 2 * kRadius + kDown; ++j) add(j);
  } else {
#pragma unroll 4
    for (int j = 0; j < 2 * radius + kDown; ++j) add(j);
  }
  const TargetFrame frame = target_frame(a.target, a.frame, a.state);
#pragma unroll
  for (int o = 0; o < kDown; ++o) {
    const int x = static_cast<int>(blockIdx.x) * kWidth + column;
    const int y = static_cast<int>(blockIdx.y) * kHeight + row + o;
    if (x >= a.target.width || y >= a.target.height) continue;
    const float xx = sum[o][0];
    const float xy = sum[o][1];
    const float yy = sum[o][2];
    const float xt = sum[o][3];
    const float yt = sum[o][4];
    // Eigenvalues of the structure tensor: mean -/+ spread.
    const float middle = 0.5f * (xx + yy);
    const float difference = 0.5f * (xx - yy);
    const float spread = sqrtf(fmaf(difference, difference, xy * xy));
    const float smaller = fmaxf(middle - spread, 0.0f);
    const float larger = middle + spread;
    const float c = xx + a.ridge;
    const float d = yy + a.ridge;
    const float inverse = 1.0f / fmaf(c, d, -xy * xy);
    // Two comparisons, so that sums that are no numbers are not solvable.
    const float least = smaller + a.ridge;
    const bool solvable =
        least > detail::kFlat && least > detail::kSingularRatio * (larger + a.ridge);
    // The minus of equation (3) is in the order of the differences.
    const float du = fmaf(xy, yt, -d * xt) * inverse;
    const float dv = fmaf(xy, xt, -c * yt) * inverse;
    float2 flow = flow_at(a.source, a.target.x + x, a.target.y + y);
    if (solvable) {
      flow.x += fminf(1.0f, fmaxf(-1.0f, du));
      flow.y += fminf(1.0f, fmaxf(-1.0f, dv));
    }
    write_flow(a.target, frame, x, y, flow, smaller);
  }
  end_target(a.target, a.state);
}

/// Kernels of their own for the presets' windows and the default.
template <bool kAllFrames>
Kernel<SolveArguments> solve_of(int radius) noexcept {
  switch (radius) {
    case 3:
      return solve<16, 3, kAllFrames>;
    case 5:
      return solve<16, 5, kAllFrames>;
    case 7:
      return solve<16, 7, kAllFrames>;
    default:
      return solve_tile_height(radius) == 16 ? solve<16, 0, kAllFrames> : solve<8, 0, kAllFrames>;
  }
}

}  // namespace

Kernel<WarpArguments> warp_kernel() noexcept {
  return warp;
}
Kernel<FitArguments> fit_kernel() noexcept {
  return fit;
}
Kernel<SolveArguments> solve_kernel(int radius, bool all_frames) noexcept {
  return all_frames ? solve_of<true>(radius) : solve_of<false>(radius);
}
std::size_t solve_shared_bytes(int radius) noexcept {
  const int rows = solve_tile_height(radius) + 2 * radius;
  return static_cast<std::size_t>(rows) *
         (static_cast<std::size_t>(data_stride(radius)) * sizeof(float4) +
          static_cast<std::size_t>(kProducts * kFilteredStride) * sizeof(float));
}

}  // namespace ocellus::cuda
