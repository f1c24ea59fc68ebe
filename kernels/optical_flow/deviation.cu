// The standard deviation of the flow, from the residual of the final flow, the structure tensor and
// the differences of the flow, tile by tile.
#include "kernels/optical_flow/pyramid.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;
constexpr int kHeight = kDeviationTileHeight;
constexpr int kRadius = detail::kDeviationRadius;
constexpr int kSums = detail::kDeviationSums;
// Samples of a tile, and those around them. Where the first pixel of a tile is none, the tile has
// one more along that axis.
constexpr int kSampleColumns = kWidth / 2 + 1;
constexpr int kSampleRows = kHeight / 2 + 1;
constexpr int kColumns = kSampleColumns + 2 * kRadius;
constexpr int kRows = kSampleRows + 2 * kRadius;

/// The flow of a pixel; 0 where it is invalid.
template <FlowMethod kMethod>
__device__ inline float2 known_flow(const DeviationArguments& a, int x, int y) {
  if constexpr (kMethod == FlowMethod::kPyramid) {
    return flow_at(a.source, x, y);
  } else {
    const float* const at = a.solved.base + y * a.solved.stride + x;
    const float u = at[0];
    const float v = at[a.solved.plane];
    return make_float2(isnan(u) ? 0.0f : u, isnan(v) ? 0.0f : v);
  }
}

/// What the means of a sample are made of.
struct Sample {
  float ix;
  float iy;
  float residual;
};

/// The sample at a pixel of the region of the flow.
template <FlowMethod kMethod>
__device__ inline Sample sample_at(const DeviationArguments& a, int x, int y) {
  if constexpr (kMethod == FlowMethod::kPyramid) {
    constexpr int kReach = detail::kGradientReach;
    const LevelFrames frames(a);
    float row[2 * kReach + 1];
    float column[2 * kReach + 1];
#pragma unroll
    for (int k = -kReach; k <= kReach; ++k) {
      row[kReach + k] = frames.reference(clamp_to(x + k, a.level.region.width), y);
      column[kReach + k] = frames.reference(x, clamp_to(y + k, a.level.region.height));
    }
    const float warped = frames.warped<true>(x, y, known_flow<kMethod>(a, x, y));
    return {derivative_at(row + kReach, 1), derivative_at(column + kReach, 1),
            warped - row[kReach]};
  } else {
    const float* const from = a.derivatives.base + y * a.derivatives.stride + x;
    const float ix = from[0];
    const float iy = from[a.derivatives.plane];
    const float2 flow = known_flow<kMethod>(a, x, y);
    return {ix, iy, fmaf(iy, flow.y, fmaf(ix, flow.x, from[2 * a.derivatives.plane]))};
  }
}

/// The texture at a pixel of the region of the flow.
template <FlowMethod kMethod>
__device__ inline float texture_at(const DeviationArguments& a, int x, int y) {
  if constexpr (kMethod == FlowMethod::kPyramid) {
    const float* const guide = reference_region(a, a.level.guide);
    float pixel[3][3];
#pragma unroll
    for (int j = 0; j < 3; ++j)
#pragma unroll
      for (int i = 0; i < 3; ++i)
        pixel[j][i] = guide[clamp_to(y + j - 1, a.level.region.height) * a.level.guide.stride +
                            clamp_to(x + i - 1, a.level.region.width)];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      sum += squared(pixel[k][1] - pixel[k][0]) + squared(pixel[k][2] - pixel[k][1]);
      sum += squared(pixel[1][k] - pixel[0][k]) + squared(pixel[2][k] - pixel[1][k]);
    }
    return sum;
  } else {
    const float* const from = a.derivatives.base + y * a.derivatives.stride + x;
    return fmaf(from[0], from[0], from[a.derivatives.plane] * from[a.derivatives.plane]);
  }
}

/// The variance of a sample, without what depends on the pixel itself.
__device__ inline float variance_of(const detail::DeviationModel& model,
                                    const float (&mean)[kSums]) {
  const float weight = (1.0f - mean[0] - mean[2]) / (model.gradient_floor * model.gradient_floor);
  const float residual = fmaxf(mean[3], model.rounding * weight);
  const float c = fmaf(-model.gradient_rounding, weight, mean[0]);
  const float d = fmaf(-model.gradient_rounding, weight, mean[2]);
  const float trace = c + d;
  const float determinant = fmaf(c, d, -mean[1] * mean[1]);
  if (!(trace > 0.0f) || !(determinant > detail::kSingularDeterminant * (trace * trace)))
    return detail::kNoDeviation;
  // The trace of the inverse of a symmetric matrix is trace / determinant.
  return model.least * model.least + model.noise * residual * trace / determinant +
         model.bend * mean[4];
}

/// The samples of a tile.
struct SampleTile {
  float terms[kSums][kRows][kColumns];
  float filtered[kSums][kRows][kSampleColumns];  ///< along rows
  float variance[kSampleRows][kSampleColumns];

  /// Outside the region, the terms of its edge are repeated.
  template <FlowMethod kMethod>
  __device__ void take_terms(const DeviationArguments& a, int left, int top) {
    for (BlockWalk<> at(kColumns, kRows); at.more(); at.next()) {
      const int x = 2 * clamp_to(left - kRadius + at.column(), (a.level.region.width + 1) / 2);
      const int y = 2 * clamp_to(top - kRadius + at.row(), (a.level.region.height + 1) / 2);
      const Sample sample = sample_at<kMethod>(a, x, y);
      const float xx = sample.ix * sample.ix;
      const float yy = sample.iy * sample.iy;
      const float rr = sample.residual * sample.residual;
      const float squares = xx + yy + a.model.gradient_floor * a.model.gradient_floor;
      const float q = 1.0f / squares;
      const auto put = [&](int p, float value) { terms[p][at.row()][at.column()] = value; };
      put(0, q * xx);
      put(1, q * (sample.ix * sample.iy));
      put(2, q * yy);
      put(3, rr / fmaf(detail::kResidualShare, rr, squares));
      const auto step = [&](int x0, int y0, int x1, int y1) {
        const float2 p = known_flow<kMethod>(a, clamp_to(x0, a.level.region.width),
                                             clamp_to(y0, a.level.region.height));
        const float2 r = known_flow<kMethod>(a, clamp_to(x1, a.level.region.width),
                                             clamp_to(y1, a.level.region.height));
        return (r.x - p.x) * (r.x - p.x) + (r.y - p.y) * (r.y - p.y);
      };
      put(4, 0.25f * (step(x - 1, y, x + 1, y) + step(x, y - 1, x, y + 1)));
    }
  }

  __device__ void filter(const detail::DeviationModel& model) {
    constexpr float kShare = 1.0f / (2 * kRadius + 1);
    for (BlockWalk<> at(kSampleColumns, kRows); at.more(); at.next()) {
#pragma unroll
      for (int p = 0; p < kSums; ++p) {
        float sum = 0.0f;
        for (int i = 0; i <= 2 * kRadius; ++i) sum += terms[p][at.row()][at.column() + i];
        filtered[p][at.row()][at.column()] = kShare * sum;
      }
    }
    __syncthreads();
    for (BlockWalk<> at(kSampleColumns, kSampleRows); at.more(); at.next()) {
      float mean[kSums];
#pragma unroll
      for (int p = 0; p < kSums; ++p) {
        float sum = 0.0f;
        for (int j = 0; j <= 2 * kRadius; ++j) sum += filtered[p][at.row() + j][at.column()];
        mean[p] = kShare * sum;
      }
      variance[at.row()][at.column()] = variance_of(model, mean);
    }
  }
};

/// Calls use(x, y) for the pixels of this block's tile that are in the part that is written.
template <typename Use>
__device__ inline void for_pixels(const DeviationArguments& a, const Use& use) {
  for (BlockWalk<> at(kWidth, kHeight); at.more(); at.next()) {
    const int x = static_cast<int>(blockIdx.x) * kWidth + at.column();
    const int y = static_cast<int>(blockIdx.y) * kHeight + at.row();
    if (x < a.target.part.width && y < a.target.part.height) use(x, y);
  }
}

/// The cell whose sample the pixel is, or -1.
__device__ inline int cell_at(const detail::CellGrid& grid, int x, int y) {
  const int row = grid.row_at(y);
  const int column = grid.column_at(x);
  return row < 0 || column < 0 ? -1 : row * grid.columns + column;
}

/// Whether this block's tile has the sample of a cell that may move. All threads must call it.
template <FlowMethod kMethod>
__device__ inline bool any_moves(const DeviationArguments& a) {
  bool any = false;
  for_pixels(a, [&](int x, int y) {
    if (cell_at(a.cells.grid, x, y) < 0) return;
    const float2 flow = known_flow<kMethod>(a, a.target.part.x + x, a.target.part.y + y);
    any = any || a.cells.motion.may_pass(flow.x, flow.y);
  });
  return __syncthreads_or(any ? 1 : 0) != 0;
}

template <FlowMethod kMethod>
__global__ void __launch_bounds__(kPyramidThreads)
    deviation(const __grid_constant__ DeviationArguments a) {
  __shared__ SampleTile tile;
  let_next_begin();
  wait_for_kernels_before();
  const bool bad = a.state->bad != 0;
  const bool plane = a.frame->out[3] != nullptr;
  // Cells have the deviation of the same code, so that it is that of the plane.
  const bool cells = !plane && !bad && a.cells.deviation != nullptr && any_moves<kMethod>(a);
  // The first sample of the tile.
  const int left = (a.target.part.x + static_cast<int>(blockIdx.x) * kWidth) / 2;
  const int top = (a.target.part.y + static_cast<int>(blockIdx.y) * kHeight) / 2;
  if ((plane && !bad) || cells) {
    tile.take_terms<kMethod>(a, left, top);
    __syncthreads();
    tile.filter(a.model);
    __syncthreads();
  }
  for_pixels(a, [&](int x, int y) {
    const int flow_x = a.target.part.x + x;
    const int flow_y = a.target.part.y + y;
    float2 flow;
    float confidence;
    bool valid = !bad;
    if constexpr (kMethod == FlowMethod::kPyramid) {
      flow = flow_at(a.source, flow_x, flow_y);
      confidence = a.confidence[flow_y * a.level.stride + flow_x];
      valid = valid && is_valid(a.target, confidence);
    } else {
      const float* const from = a.solved.base + flow_y * a.solved.stride + flow_x;
      flow = make_float2(from[0], from[a.solved.plane]);
      confidence = from[2 * a.solved.plane];
      valid = valid && !isnan(flow.x);
    }
    write_planes(a, bad, valid, x, y, flow, confidence);
    const int cell = cells ? cell_at(a.cells.grid, x, y) : -1;
    if (!plane && cell < 0) return;
    float deviation = detail::kNoDeviation;
    if (valid) {
      const float own = fmaxf(texture_at<kMethod>(a, flow_x, flow_y) - a.model.texture_noise, 0.0f);
      deviation =
          sqrtf(tile.variance[flow_y / 2 - top][flow_x / 2 - left] + a.model.pixel_rounding / own);
    }
    if (plane) {
      row_at(out_plane<float>(*a.frame, 3), a.frame->out_stride[0], y)[x] = deviation;
    } else {
      a.cells.deviation[cell] = deviation;
    }
  });
  end_frame(a);
}

}  // namespace

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept {
  return method == FlowMethod::kPyramid ? deviation<FlowMethod::kPyramid>
                                        : deviation<FlowMethod::kKernels>;
}

}  // namespace ocellus::cuda
