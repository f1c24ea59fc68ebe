// The standard deviation of the flow, from the residual of the final flow, the structure tensor and
// the differences of the flow, tile by tile.
#include "kernels/core/shared_memory.cuh"
#include "kernels/optical_flow/deviation_kernels.h"
#include "kernels/optical_flow/pyramid.cuh"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;
constexpr int kHeight = kDeviationTileHeight;
constexpr int kRadius = detail::kDeviationRadius;
constexpr int kReach = detail::kGradientReach;
constexpr int kColumns = kWidth + 2 * kRadius;  // of the terms
constexpr int kRows = kHeight + 2 * kRadius;
constexpr int kStride = kColumns | 1;  // odd, because lanes read along rows and along columns
constexpr int kFilteredStride = kWidth + 1;
constexpr int kTermPlane = kRows * kStride;
constexpr int kFilteredPlane = kRows * kFilteredStride;
constexpr int kMeanColumns = kColumns + 2 * kReach;
constexpr int kMeanRows = kRows + 2 * kReach;
constexpr int kSums = detail::kDeviationSums;
constexpr int kAcross = 4;  // neighboring sums that a thread computes along a row
constexpr int kDown = kWidth * kHeight / kPyramidThreads;
static_assert(kMeanColumns * kMeanRows <= kSums * kFilteredPlane);

/// The flow of a pixel; 0 where it is invalid.
template <FlowMethod kMethod>
__device__ inline float2 known_flow(const DeviationArguments& a, int x, int y) {
  if constexpr (kMethod == FlowMethod::kPyramid) {
    return a.pyramid.flow[y * a.pyramid.stride + x];
  } else {
    const float* const at = a.kernels.solved.base + y * a.kernels.solved.stride + x;
    const float u = at[0];
    const float v = at[a.kernels.solved.plane];
    return make_float2(isnan(u) ? 0.0f : u, isnan(v) ? 0.0f : v);
  }
}

/// Stores the terms of the means. `x` and `y`: a pixel of the region of the flow.
template <FlowMethod kMethod>
__device__ inline void store_terms(const DeviationArguments& a, float ix, float iy, float residual,
                                   int x, int y, float* to) {
  const float xx = ix * ix;
  const float yy = iy * iy;
  const float q = 1.0f / (xx + yy + a.model.gradient_floor * a.model.gradient_floor);
  to[0] = q * xx;
  to[kTermPlane] = q * (ix * iy);
  to[2 * kTermPlane] = q * yy;
  to[3 * kTermPlane] = q * (residual * residual);
  const float2 left = known_flow<kMethod>(a, clamp_to(x - 1, a.flow_size.width), y);
  const float2 right = known_flow<kMethod>(a, clamp_to(x + 1, a.flow_size.width), y);
  const float2 above = known_flow<kMethod>(a, x, clamp_to(y - 1, a.flow_size.height));
  const float2 below = known_flow<kMethod>(a, x, clamp_to(y + 1, a.flow_size.height));
  const auto squares = [](float2 p, float2 q2) {
    return (q2.x - p.x) * (q2.x - p.x) + (q2.y - p.y) * (q2.y - p.y);
  };
  to[4 * kTermPlane] = 0.25f * (squares(left, right) + squares(above, below));
}

/// The terms of a tile, from derivatives of the warped and the reference frame. `mean` may be the
/// memory of the filtered terms.
__device__ inline void terms_of_pyramid(const DeviationArguments& a, int left, int top,
                                        float* terms, float* mean) {
  const References r = references(a.state);
  const LevelFrames frames(a.pyramid.window, a.pyramid.level, r);
  for (BlockWalk<> at(kMeanColumns, kMeanRows); at.more(); at.next()) {
    const int x = clamp_to(left - kReach + at.column(), a.flow_size.width);
    const int y = clamp_to(top - kReach + at.row(), a.flow_size.height);
    const float2 flow = a.pyramid.flow[y * a.pyramid.stride + x];
    const float here = frames.reference(x, y);
    const float warped = frames.warped<true>(x, y, flow);
    mean[at.row() * kMeanColumns + at.column()] = 0.5f * (here + warped);
    const int column = at.column() - kReach;
    const int row = at.row() - kReach;
    if (column >= 0 && column < kColumns && row >= 0 && row < kRows)
      terms[3 * kTermPlane + row * kStride + column] = warped - here;
  }
  __syncthreads();
  for (BlockWalk<> at(kColumns, kRows); at.more(); at.next()) {
    // Outside the region, the terms of its edge are repeated.
    const int x = clamp_to(left + at.column(), a.flow_size.width);
    const int y = clamp_to(top + at.row(), a.flow_size.height);
    const float* const under = mean + (y - top + kReach) * kMeanColumns + (x - left + kReach);
    float* const to = terms + at.row() * kStride + at.column();
    store_terms<FlowMethod::kPyramid>(a, derivative_at(under, 1),
                                      derivative_at(under, kMeanColumns), to[3 * kTermPlane], x, y,
                                      to);
  }
}

__device__ inline void terms_of_kernels(const DeviationArguments& a, int left, int top,
                                        float* terms) {
  for (BlockWalk<> at(kColumns, kRows); at.more(); at.next()) {
    const int x = clamp_to(left + at.column(), a.flow_size.width);
    const int y = clamp_to(top + at.row(), a.flow_size.height);
    const float* const from = a.kernels.derivatives.base + y * a.kernels.derivatives.stride + x;
    const float ix = from[0];
    const float iy = from[a.kernels.derivatives.plane];
    const float2 flow = known_flow<FlowMethod::kKernels>(a, x, y);
    const float residual =
        fmaf(iy, flow.y, fmaf(ix, flow.x, from[2 * a.kernels.derivatives.plane]));
    store_terms<FlowMethod::kKernels>(a, ix, iy, residual, x, y,
                                      terms + at.row() * kStride + at.column());
  }
}

/// The texture at a pixel of the region of the flow.
template <FlowMethod kMethod>
__device__ inline float texture_at(const DeviationArguments& a, int x, int y) {
  if constexpr (kMethod == FlowMethod::kPyramid) {
    const References r = references(a.state);
    const Rect& region = a.pyramid.level.region;
    return stored(a.pyramid.window, a.pyramid.texture, r,
                  r.reference_age)[(region.y + y) * a.pyramid.texture.stride + region.x + x];
  } else {
    const float* const from = a.kernels.derivatives.base + y * a.kernels.derivatives.stride + x;
    return fmaf(from[0], from[0],
                from[a.kernels.derivatives.plane] * from[a.kernels.derivatives.plane]);
  }
}

__device__ inline float deviation_of(const detail::DeviationModel& model,
                                     const float (&mean)[kSums], float texture) {
  const float weight = (1.0f - mean[0] - mean[2]) / (model.gradient_floor * model.gradient_floor);
  const float residual = fmaxf(mean[3], model.rounding * weight);
  const float c = fmaf(-model.gradient_rounding, weight, mean[0]);
  const float d = fmaf(-model.gradient_rounding, weight, mean[2]);
  const float trace = c + d;
  const float determinant = fmaf(c, d, -mean[1] * mean[1]);
  if (!(trace > 0.0f) || !(determinant > detail::kSingularDeterminant * (trace * trace)))
    return detail::kNoDeviation;
  // The trace of the inverse of a symmetric matrix is trace / determinant.
  return sqrtf(model.least * model.least + model.noise * residual * trace / determinant +
               model.bend * mean[4] +
               model.pixel_rounding / fmaxf(texture - model.texture_noise, 0.0f));
}

template <FlowMethod kMethod>
__global__ void __launch_bounds__(kPyramidThreads)
    deviation(const __grid_constant__ DeviationArguments a) {
  OCELLUS_DYNAMIC_SHARED(float, shared);
  float* const terms = shared;                         // [kSums][kRows][kStride]
  float* const filtered = terms + kSums * kTermPlane;  // [kSums][kRows][kFilteredStride]
  constexpr float kShare = 1.0f / (2 * kRadius + 1);
  let_next_begin();
  wait_for_kernels_before();
  const bool wanted = a.frame->out[3] != nullptr;
  const bool bad = a.state->bad != 0;
  if (wanted && !bad) {
    const int left = a.roi.x + static_cast<int>(blockIdx.x) * kWidth - kRadius;
    const int top = a.roi.y + static_cast<int>(blockIdx.y) * kHeight - kRadius;
    if constexpr (kMethod == FlowMethod::kPyramid) {
      terms_of_pyramid(a, left, top, terms, filtered);
    } else {
      terms_of_kernels(a, left, top, terms);
    }
    __syncthreads();
    for (BlockWalk<> at(kRows, kWidth / kAcross); at.more(); at.next()) {
      const int row = at.column();
      const int column = at.row() * kAcross;
#pragma unroll
      for (int p = 0; p < kSums; ++p) {
        const float* const in = terms + p * kTermPlane + row * kStride + column;
        float sum[kAcross];
        box_sums<2 * kRadius>(
            kRadius, [&](int j) { return in[j]; }, sum);
#pragma unroll
        for (int o = 0; o < kAcross; ++o)
          filtered[p * kFilteredPlane + row * kFilteredStride + column + o] = kShare * sum[o];
      }
    }
    __syncthreads();
  }
  const int column = static_cast<int>(threadIdx.x) % kWidth;
  const int x = static_cast<int>(blockIdx.x) * kWidth + column;
  for (int o = 0; o < kDown; ++o) {
    const int row = static_cast<int>(threadIdx.x) / kWidth * kDown + o;
    const int y = static_cast<int>(blockIdx.y) * kHeight + row;
    if (x >= a.roi.width || y >= a.roi.height) continue;
    const int flow_x = a.roi.x + x;
    const int flow_y = a.roi.y + y;
    float2 flow;
    float confidence;
    bool valid = !bad;
    if constexpr (kMethod == FlowMethod::kPyramid) {
      const int at = flow_y * a.pyramid.stride + flow_x;
      flow = a.pyramid.flow[at];
      confidence = a.pyramid.confidence[at];
      valid = valid && (a.threshold <= 0.0f || confidence >= a.threshold);
    } else {
      const float* const at = a.kernels.solved.base + flow_y * a.kernels.solved.stride + flow_x;
      flow = make_float2(at[0], at[a.kernels.solved.plane]);
      confidence = at[2 * a.kernels.solved.plane];
      valid = valid && !isnan(flow.x);
    }
    const std::int64_t stride = a.frame->out_stride[0];
    row_at(out_plane<float>(*a.frame, 0), stride, y)[x] = valid ? flow.x : a.invalid;
    row_at(out_plane<float>(*a.frame, 1), stride, y)[x] = valid ? flow.y : a.invalid;
    if (a.frame->out[2] != nullptr)
      row_at(out_plane<float>(*a.frame, 2), stride, y)[x] = bad ? 0.0f : confidence;
    if (!wanted) continue;
    float deviation = detail::kNoDeviation;
    if (valid) {
      float mean[kSums];
      for (int p = 0; p < kSums; ++p) {
        float sum = 0.0f;
        for (int j = 0; j <= 2 * kRadius; ++j)
          sum += filtered[p * kFilteredPlane + (row + j) * kFilteredStride + column];
        mean[p] = kShare * sum;
      }
      deviation = deviation_of(a.model, mean, texture_at<kMethod>(a, flow_x, flow_y));
    }
    row_at(out_plane<float>(*a.frame, 3), stride, y)[x] = deviation;
  }
  end_frame(a);
}

}  // namespace

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept {
  return method == FlowMethod::kPyramid ? deviation<FlowMethod::kPyramid>
                                        : deviation<FlowMethod::kKernels>;
}

std::size_t deviation_shared_bytes() noexcept {
  return sizeof(float) * static_cast<std::size_t>(kSums) * (kTermPlane + kFilteredPlane);
}

}  // namespace ocellus::cuda
