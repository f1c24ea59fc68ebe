// Smoothing of the pyramid's flow: box means, weighted by the confidence or not, and medians.
#include "kernels/image/median.cuh"
#include "kernels/optical_flow/pyramid.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;
constexpr int kHeight = kRefineTileHeight;
constexpr int kAcross = 4;  // neighboring sums that a thread computes along a row
constexpr int kDown = 2;    // neighboring sums that a thread computes along a column

/// Number of columns of the smoothed flow: the tile and the columns beyond it that the median
/// reads, rounded up to whole groups.
__host__ __device__ constexpr int smoothed_columns(int median) {
  return (kWidth + median / 2 * 2 + kAcross - 1) / kAcross * kAcross;
}
__host__ __device__ constexpr int smoothed_rows(int median) {
  return kHeight + median / 2 * 2;
}
__host__ __device__ constexpr int planes_of(FlowSmoothing smoothing) {
  return smoothing == FlowSmoothing::kConfidence ? 3 : 2;
}
// Odd, because lanes read along columns as well.
__host__ __device__ constexpr int source_stride(int median, int radius) {
  return (smoothed_columns(median) + 2 * radius) | 1;
}
__host__ __device__ constexpr int filtered_stride(int median) {
  return smoothed_columns(median) + 1;
}

/// Computes kOut neighboring sums of 2 radius + 1 values (radius > 0), each in the order of the
/// values.
template <int kOut, typename Load>
__device__ void box_sums(int radius, const Load& load, float (&sum)[kOut]) {
#pragma unroll
  for (int o = 0; o < kOut; ++o) sum[o] = 0.0f;
#pragma unroll
  for (int j = 0; j < kOut - 1; ++j) {
    const float value = load(j);
#pragma unroll
    for (int o = 0; o <= j; ++o) sum[o] += value;
  }
#pragma unroll 4
  for (int j = kOut - 1; j <= 2 * radius; ++j) {
    const float value = load(j);
#pragma unroll
    for (int o = 0; o < kOut; ++o) sum[o] += value;
  }
#pragma unroll
  for (int j = 1; j < kOut; ++j) {
    const float value = load(2 * radius + j);
#pragma unroll
    for (int o = j; o < kOut; ++o) sum[o] += value;
  }
}

/// If kRadius is 0, the radius of the box is an argument.
template <FlowSmoothing kSmoothing, int kMedian, int kRadius, SourceKind kSource>
__global__ void __launch_bounds__(kPyramidThreads)
    refine(const __grid_constant__ RefineArguments a) {
  extern __shared__ float flat[];
  constexpr bool kWeighted = kSmoothing == FlowSmoothing::kConfidence;
  constexpr bool kBox = kSmoothing != FlowSmoothing::kNone;
  constexpr int kPlanes = planes_of(kSmoothing);
  constexpr int kColumns = smoothed_columns(kMedian);
  constexpr int kRows = smoothed_rows(kMedian);
  constexpr int kMargin = kMedian / 2;
  constexpr int kFilteredStride = filtered_stride(kMedian);
  const int radius = !kBox ? 0 : kRadius > 0 ? kRadius : a.radius;
  // The last group may have columns beyond these; they are not computed.
  const int columns = kWidth + 2 * kMargin + 2 * radius;
  const int rows = kRows + 2 * radius;
  const int stride = source_stride(kMedian, radius);
  float* const source = flat;                              // [kPlanes][rows][stride]
  float* const filtered = flat + kPlanes * rows * stride;  // [kPlanes][rows][kFilteredStride]

  let_next_begin();
  wait_for_kernels_before();
  const TargetFrame frame = target_frame(a.target, a.frame, a.state);
  const int x0 = a.target.x + static_cast<int>(blockIdx.x) * kWidth;
  const int y0 = a.target.y + static_cast<int>(blockIdx.y) * kHeight;
  const auto write = [&](int column, int row, float u, float v) {
    const int x = static_cast<int>(blockIdx.x) * kWidth + column;
    const int y = static_cast<int>(blockIdx.y) * kHeight + row;
    if (x >= a.target.width || y >= a.target.height) return;
    const float confidence = a.target.outcome == nullptr
                                 ? 0.0f
                                 : a.confidence[(a.target.y + y) * a.stride + a.target.x + x];
    write_flow(a.target, frame, x, y, make_float2(u, v), confidence);
  };

  constexpr int kBatch =
      kBox && kRadius == 0
          ? 4
          : ((kWidth + 2 * kMargin + 2 * kRadius) * (kRows + 2 * kRadius) + kPyramidThreads - 1) /
                kPyramidThreads;
  copy_block<kBatch>(
      columns, rows,
      [&](int column, int row) {
        const int x = clamp_to(x0 - kMargin - radius + column, a.region.width);
        const int y = clamp_to(y0 - kMargin - radius + row, a.region.height);
        const float2 flow = flow_at<kSource>(a.source, x, y);
        float3 value = make_float3(flow.x, flow.y, 0.0f);
        if constexpr (kWeighted) value.z = a.confidence[y * a.stride + x];
        return value;
      },
      [&](int column, int row, float3 value) {
        float* const to = source + row * stride + column;
        if constexpr (kWeighted) {
          const float weight = value.z + detail::kLeastConfidence;
          to[0] = weight * value.x;
          to[rows * stride] = weight * value.y;
          to[2 * rows * stride] = weight;
        } else {
          to[0] = value.x;
          to[rows * stride] = value.y;
        }
      });
  __syncthreads();

  if constexpr (kBox) {
    const float share = 1.0f / static_cast<float>(2 * radius + 1);
    for (BlockWalk<> at(rows, kColumns / kAcross); at.more(); at.next()) {
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
    for (BlockWalk<> at(kWidth + 2 * kMargin, kRows / kDown); at.more(); at.next()) {
      const int column = at.column();
      const int row = at.row() * kDown;
      float sum[kPlanes][kDown];
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const float* const in = filtered + (p * rows + row) * kFilteredStride + column;
        box_sums(
            radius, [&](int j) { return in[j * kFilteredStride]; }, sum[p]);
      }
#pragma unroll
      for (int o = 0; o < kDown; ++o) {
        float u = share * sum[0][o];
        float v = share * sum[1][o];
        if constexpr (kWeighted) {
          const float inverse = quick_ratio(1.0f, share * sum[2][o]);
          u *= inverse;
          v *= inverse;
        }
        if constexpr (kMedian == 0) {
          write(column, row + o, u, v);
        } else {
          source[(row + o) * stride + column] = u;
          source[(rows + row + o) * stride + column] = v;
        }
      }
    }
    if constexpr (kMedian > 0) __syncthreads();
  }

  if constexpr (kMedian > 0) {
    const int column = threadIdx.x % kWidth;
    for (int row = threadIdx.x / kWidth; row < kHeight; row += kPyramidThreads / kWidth) {
      int at_row[kMedian];
      int at_column[kMedian];
#pragma unroll
      for (int k = 0; k < kMedian; ++k) {
        at_row[k] = (clamp_to(y0 + row + k - kMargin, a.region.height) - (y0 - kMargin)) * stride;
        at_column[k] = clamp_to(x0 + column + k - kMargin, a.region.width) - (x0 - kMargin);
      }
      const auto one = [&](const float* plane) {
        return median_of<kMedian>([&](int j, int i) { return plane[at_row[j] + at_column[i]]; });
      };
      const bool inside = x0 + column < a.region.width && y0 + row < a.region.height;
      if (inside) write(column, row, one(source), one(source + rows * stride));
    }
  }
  end_target(a.target, a.state);
}

template <int kRadius>
Kernel<RefineArguments> before_warp(const RefineArguments& a) noexcept {
  return a.source.coarse ? refine<FlowSmoothing::kBeforeWarp, 0, kRadius, SourceKind::kCoarse>
                         : refine<FlowSmoothing::kBeforeWarp, 0, kRadius, SourceKind::kPlane>;
}
template <int kRadius>
Kernel<RefineArguments> by_confidence(int median) noexcept {
  constexpr FlowSmoothing kSmoothing = FlowSmoothing::kConfidence;
  return median == 0   ? refine<kSmoothing, 0, kRadius, SourceKind::kPlane>
         : median == 3 ? refine<kSmoothing, 3, kRadius, SourceKind::kPlane>
                       : refine<kSmoothing, 5, kRadius, SourceKind::kPlane>;
}

}  // namespace

Kernel<RefineArguments> refine_kernel(FlowSmoothing smoothing, int median,
                                      const RefineArguments& arguments) noexcept {
  // Specialized kernels for the box sizes of the presets.
  switch (smoothing) {
    case FlowSmoothing::kNone:
      return median == 3 ? refine<FlowSmoothing::kNone, 3, 0, SourceKind::kPlane>
                         : refine<FlowSmoothing::kNone, 5, 0, SourceKind::kPlane>;
    case FlowSmoothing::kBeforeWarp:
      return arguments.radius == 7 ? before_warp<7>(arguments) : before_warp<0>(arguments);
    case FlowSmoothing::kConfidence:
      break;
  }
  return arguments.radius == 5 ? by_confidence<5>(median) : by_confidence<0>(median);
}

std::size_t refine_shared_bytes(FlowSmoothing smoothing, int radius, int median) noexcept {
  const int rows = smoothed_rows(median) + 2 * radius;
  const int filtered = smoothing == FlowSmoothing::kNone ? 0 : filtered_stride(median);
  return static_cast<std::size_t>(planes_of(smoothing) * rows *
                                  (source_stride(median, radius) + filtered)) *
         sizeof(float);
}

}  // namespace ocellus::cuda
