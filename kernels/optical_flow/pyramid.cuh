// Device functions that the kernels of the pyramid share.
#pragma once

#include "kernels/core/overlap.cuh"
#include "kernels/image/pixels.cuh"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "kernels/optical_flow/values.cuh"

namespace ocellus::cuda {

/// Iterates over a block of columns x rows in steps of kThreads, without a division in each step.
template <int kThreads = kPyramidThreads>
class BlockWalk {
 public:
  __device__ BlockWalk(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        row_(static_cast<int>(threadIdx.x) / columns),
        column_(static_cast<int>(threadIdx.x) - row_ * columns),
        row_step_(kThreads / columns),
        column_step_(kThreads - row_step_ * columns) {}
  __device__ bool more() const { return row_ < rows_; }
  __device__ void next() {
    row_ += row_step_;
    column_ += column_step_;
    if (column_ >= columns_) {
      column_ -= columns_;
      ++row_;
    }
  }
  __device__ int row() const { return row_; }
  __device__ int column() const { return column_; }

 private:
  int columns_;
  int rows_;
  int row_;
  int column_;
  int row_step_;
  int column_step_;
};

/// Calls store(column, row, load(column, row)) for a block of columns x rows. kBatch loads are in
/// flight before their values are stored, so a thread waits for memory once per batch.
template <int kBatch, int kThreads = kPyramidThreads, typename Load, typename Store>
__device__ inline void copy_block(int columns, int rows, const Load& load, const Store& store) {
  for (BlockWalk<kThreads> at(columns, rows); at.more();) {
    decltype(load(0, 0)) value[kBatch];
    int column[kBatch];
    int row[kBatch];
    bool inside[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b, at.next()) {
      column[b] = at.column();
      row[b] = min(at.row(), rows - 1);  // always loaded, because a branch would separate the loads
      inside[b] = at.more();
      value[b] = load(column[b], row[b]);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (inside[b]) store(column[b], row[b], value[b]);
  }
}

/// Computes kOut neighboring sums of 2 radius + 1 values each, in the order of the values. kOut is
/// at most 2 radius + 2. kTogether values are read at once.
template <int kTogether = 4, int kOut, typename Load>
__device__ __forceinline__ void box_sums(int radius, const Load& load, float (&sum)[kOut]) {
#pragma unroll
  for (int o = 0; o < kOut; ++o) sum[o] = -0.0f;  // adding it changes no value
#pragma unroll
  for (int j = 0; j < kOut - 1; ++j) {
    const float value = load(j);
#pragma unroll
    for (int o = 0; o <= j; ++o) sum[o] += value;
  }
#pragma unroll kTogether
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

/// The derivative filter (1 -8 0 8 -1) / 12 at a pixel; `step` is the distance of its neighbors.
__device__ inline float derivative_at(const float* pixel, int step) {
  return fmaf(-1.0f / 12.0f, pixel[2 * step] - pixel[-2 * step],
              8.0f / 12.0f * (pixel[step] - pixel[-step]));
}

// ---- frames of the window

/// Pointer to pixel (0, 0) of a level of the frame `age` frames before the newest one. As long as
/// only one frame has come, it is both the reference frame and the next one.
__device__ inline const float* stored(const FlowArguments& a, const StoredLevel& level, int age) {
  return a.window.base +
         ring_index(a.state->head, a.state->count, detail::kPyramidFrames, age) *
             a.window.frame_floats +
         level.origin;
}

/// Pointer to the region's first pixel in a plane of the reference frame.
__device__ inline const float* reference_region(const FlowArguments& a, const StoredLevel& plane) {
  return stored(a, plane, 1) + a.level.region.y * plane.stride + a.level.region.x;
}

__device__ inline float squared(float value) {
  return value * value;
}
/// Approximate, without the special cases and the last bits of an exact division.
__device__ inline float inverse_of(float value) {
  return __fdividef(1.0f, value);
}

/// Samples the frame at (x + u, y + v), with the position clamped to the image. A NaN position
/// counts as 0.
template <bool kCubic>
__device__ inline float warped_pixel(const float* pixels, const StoredLevel& level, int x, int y,
                                     float2 flow) {
  const auto hold = [](float position, int size) {
    // fmaxf returns the other argument if one is NaN.
    return fminf(fmaxf(position, 0.0f), static_cast<float>(size - 1));
  };
  const float at_x = hold(static_cast<float>(x) + flow.x, level.width);
  const float at_y = hold(static_cast<float>(y) + flow.y, level.height);
  const int column = static_cast<int>(at_x);
  const int row = static_cast<int>(at_y);
  const float tx = at_x - static_cast<float>(column);
  const float ty = at_y - static_cast<float>(row);
  const float* const at = pixels + (row * level.stride + column);
  if constexpr (!kCubic) {
    const float* const below = at + level.stride;
    const float upper = fmaf(tx, at[1] - at[0], at[0]);
    const float lower = fmaf(tx, below[1] - below[0], below[0]);
    return fmaf(ty, lower - upper, upper);
  } else {
    // Catmull-Rom.
    const auto weights = [](float t, float* w) {
      const float t2 = t * t;
      const float t3 = t2 * t;
      w[0] = fmaf(-0.5f, t3 + t, t2);
      w[1] = fmaf(1.5f, t3, -2.5f * t2) + 1.0f;
      w[2] = fmaf(-1.5f, t3, fmaf(0.5f, t, 2.0f * t2));
      w[3] = 0.5f * (t3 - t2);
    };
    float wx[4];
    float wy[4];
    weights(tx, wx);
    weights(ty, wy);
    const float* line = at - level.stride;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j, line += level.stride) {
      const float across =
          fmaf(wx[3], line[2], fmaf(wx[2], line[1], fmaf(wx[1], line[0], wx[0] * line[-1])));
      sum = fmaf(wy[j], across, sum);
    }
    return sum;
  }
}

/// The reference frame and the next one on a level, at pixels (x, y) of its region.
class LevelFrames {
 public:
  __device__ explicit LevelFrames(const FlowArguments& a)
      : level_(a.level),
        reference_(reference_region(a, a.level.stored)),
        next_(stored(a, a.level.stored, 0)) {}
  __device__ float reference(int x, int y) const {
    return reference_[y * level_.stored.stride + x];
  }
  /// The next frame at (x + u, y + v).
  template <bool kCubic>
  __device__ float warped(int x, int y, float2 flow) const {
    return warped_pixel<kCubic>(next_, level_.stored, level_.region.x + x, level_.region.y + y,
                                flow);
  }

 private:
  const FlowLevel& level_;
  const float* reference_;
  const float* next_;
};

// ---- flow

/// The present flow at (x, y) of the region, from this level.
__device__ inline float2 flow_at(const FlowSource& source, int x, int y) {
  return source.flow[y * source.stride + x];
}
/// The same from the coarser level.
__device__ inline float2 coarse_flow_at(const FlowSource& source, int x, int y) {
  // The mean of the nearest coarse values, times 2, because one coarse pixel spans two pixels of
  // this level. In odd columns it is the mean of two neighbors; in even columns both are the same
  // pixel.
  const int fine = source.region_y + y;
  const int upper = min((fine >> 1) - source.coarse_y, source.coarse_height - 1) * source.stride;
  const int lower =
      min(((fine + 1) >> 1) - source.coarse_y, source.coarse_height - 1) * source.stride;
  const int here = min(source.first_x + (x >> 1), source.coarse_width - 1);
  const int next = min(source.first_x + ((x + 1) >> 1), source.coarse_width - 1);
  const float2 a = source.flow[upper + here];
  const float2 b = source.flow[lower + here];
  const float2 c = source.flow[upper + next];
  const float2 d = source.flow[lower + next];
  return make_float2(0.5f * ((a.x + b.x) + (c.x + d.x)), 0.5f * ((a.y + b.y) + (c.y + d.y)));
}

/// Whether flow of this confidence is valid.
__device__ inline bool is_valid(const FlowTarget& target, float confidence) {
  return target.threshold <= 0.0f || confidence >= target.threshold;
}

/// Writes u, v and confidence at (x, y) of the region of interest.
__device__ inline void write_planes(const FlowArguments& a, bool bad, bool valid, int x, int y,
                                    float2 flow, float confidence) {
  const FrameParams& frame = *a.frame;
  const std::int64_t stride = frame.out_stride[0];
  row_at(out_plane<float>(frame, 0), stride, y)[x] = valid ? flow.x : a.target.invalid;
  row_at(out_plane<float>(frame, 1), stride, y)[x] = valid ? flow.y : a.target.invalid;
  if (frame.out[2] != nullptr)
    row_at(out_plane<float>(frame, 2), stride, y)[x] = bad ? 0.0f : confidence;
}

/// Writes the result at (x, y) of the target's rectangle.
__device__ inline void write_flow(const FlowArguments& a, bool bad, int x, int y, float2 flow,
                                  float confidence) {
  const FlowTarget& target = a.target;
  if (a.outcome != nullptr)
    return write_planes(a, bad, !bad && is_valid(target, confidence), x, y, flow, confidence);
  target.flow[y * a.level.stride + x] = flow;
  if (target.confidence != nullptr) target.confidence[y * a.level.stride + x] = confidence;
}

}  // namespace ocellus::cuda
