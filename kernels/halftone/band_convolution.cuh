// Computes the initial states of a band, B u + A y + T, in blocks of columns.
//
// If A = -B except at the center, one convolution of u - y computes both sums.
#pragma once

#include "kernels/halftone/band.cuh"

namespace ocellus::cuda {
namespace {

using detail::kBinaryLimit;
using detail::kInputBits;
using detail::kInputOne;

/// The elements that are summed: u - y, u, or y.
enum class Sum { kFused, kControl, kFeedback };

__device__ inline std::int32_t element(Sum sum, std::int32_t u, bool one) {
  const std::int32_t y = one ? 1 : -1;
  return sum == Sum::kFused ? u - kInputOne * y : sum == Sum::kControl ? u : y;
}

/// Elements, starting at row begin - R. Element 0 is column `first` - 4.
template <int R, StatePlace kPlace>
__device__ std::int16_t* inputs_of(Band<R, kPlace>& band, int row) {
  return reinterpret_cast<std::int16_t*>(band.shared + band.at.inputs) +
         (row - band.begin + R) * (band.a.columns + 2 * kGroup);
}

/// Loads the elements of columns first - 4 to first + columns + 4, of all rows that the band reads.
template <Sum kSum, int R, StatePlace kPlace>
__device__ void load_inputs(Band<R, kPlace>& band, int first) {
  const int rows = band.x_rows + 2 * R;
  const int quads = (band.a.columns + kGroup) / 4;
  const bool bytes =
      kSum != Sum::kFeedback && band.a.u.k == nullptr && band.a.u.format == PixelFormat::kGray8;
  const char* image = nullptr;
  std::int64_t stride = 0;
  if (bytes) {
    image = static_cast<const char*>(band.a.u.frame->image);
    stride = band.a.u.frame->image_stride;
  }
  const bool aligned = (reinterpret_cast<std::uintptr_t>(image) | stride) % 4 == 0;
  // A batch of loads is in flight at once to hide latency.
  constexpr int kBatch = 6;
  int row = band.tid / quads;
  int quad = band.tid % quads;
  const int next_row = kBandThreads / quads;
  const int next_quad = kBandThreads % quads;
  while (row < rows) {
    std::uint32_t pixels[kBatch];
    int at_row[kBatch];
    int at_quad[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      at_row[i] = row;
      at_quad[i] = quad;
      pixels[i] = 0;
      const int y = band.begin - R + row;
      const int x = first - kMaxTemplateRadius + quad * 4;
      if (bytes && aligned && row < rows && y >= 0 && y < band.height && x >= 0 &&
          x + 4 <= band.width)
        pixels[i] = *reinterpret_cast<const std::uint32_t*>(image + y * stride + x);
      row += next_row;
      quad += next_quad;
      if (quad >= quads) {
        quad -= quads;
        ++row;
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (at_row[i] >= rows) break;
      const int y = band.begin - R + at_row[i];
      const int x = first - kMaxTemplateRadius + at_quad[i] * 4;
      const bool inside = y >= 0 && y < band.height;
      std::int32_t values[4] = {};
      const std::uint32_t bits =
          inside && x >= 0 && x < band.width ? band.outputs(y)[x / 32 + 1] >> x % 32 : 0;
      if (bytes && aligned && inside && x >= 0 && x + 4 <= band.width) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          values[c] = element(kSum, detail::input_of(band.a.u.gray, pixels[i] >> 8 * c & 0xff),
                              (bits >> c & 1) != 0);
      } else if (inside) {
        for (int c = 0; c < 4; ++c) {
          if (x + c < 0 || x + c >= band.width) continue;
          const std::int32_t u = kSum == Sum::kFeedback ? 0 : input_at(band.a.u, x + c, y);
          const std::int32_t value = element(kSum, u, (bits >> c & 1) != 0);
#pragma unroll
          for (int d = 0; d < 4; ++d)
            if (d == c) values[d] = value;
        }
      }
      *reinterpret_cast<uint2*>(inputs_of(band, y) + at_quad[i] * 4) = make_uint2(
          (values[0] & 0xffff) | values[1] << 16, (values[2] & 0xffff) | values[3] << 16);
    }
  }
}

/// Convolves `columns` columns, starting at `first`, and stores the states or adds to them.
template <Sum kSum, int R, StatePlace kPlace>
__device__ void convolve(Band<R, kPlace>& band, int first) {
  const int groups = min(band.a.columns, padded(band.width) - first) / kGroup;
  for (int i = band.tid; i < band.x_rows * groups; i += kBandThreads) {
    const int row = band.begin + i / groups;
    const int column = i % groups * kGroup;
    std::int32_t sums[kGroup] = {};
    const std::int16_t* from = inputs_of(band, row - R) + column;
#pragma unroll
    for (int dy = 0; dy < kSide<R>; ++dy, from += band.a.columns + 2 * kGroup) {
      std::int32_t values[kAround];
      const uint4 halves[2] = {reinterpret_cast<const uint4*>(from)[0],
                               reinterpret_cast<const uint4*>(from)[1]};
      const std::uint32_t pairs[8] = {halves[0].x, halves[0].y, halves[0].z, halves[0].w,
                                      halves[1].x, halves[1].y, halves[1].z, halves[1].w};
#pragma unroll
      for (int c = 0; c < kAround / 2; ++c) {
        values[2 * c] = static_cast<std::int16_t>(pairs[c] & 0xffff);
        values[2 * c + 1] = static_cast<std::int32_t>(pairs[c]) >> 16;
      }
#pragma unroll
      for (int dx = 0; dx < kSide<R>; ++dx) {
        const std::int32_t weight =
            kSum == Sum::kFeedback ? band.a.a[dy * kSide<R> + dx] : band.a.b[dy * kSide<R> + dx];
#pragma unroll
        for (int c = 0; c < kGroup; ++c)
          sums[c] += weight * values[kMaxTemplateRadius - R + dx + c];
      }
    }
    uint4* const to = reinterpret_cast<uint4*>(band.states(row) + (first + column) / 2);
    std::int32_t before[kGroup] = {};
    if constexpr (kSum == Sum::kFeedback) {
      const uint4 four = *to;
      const std::uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int c = 0; c < kGroup / 2; ++c) {
        before[2 * c] = low_of(pairs[c]);
        before[2 * c + 1] = high_of(pairs[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < kGroup; ++c) {
      std::int32_t x = sums[c];
      const int at_x = first + column + c;
      if constexpr (kSum == Sum::kFeedback) {
        x += before[c];
      } else {
        if constexpr (kSum == Sum::kFused) {
          // The center of A differs from that of -B.
          const std::int32_t one =
              (band.outputs(row)[at_x / 32 + 1] >> at_x % 32 & 1) != 0 ? 1 : -1;
          x += (band.a.a[kSide<R> * kSide<R> / 2] + band.a.b[kSide<R> * kSide<R> / 2]) * kInputOne *
               one;
        }
        x = (x + (1 << (kInputBits - 1))) >> kInputBits;
        x += band.a.threshold;
        if (band.a.threshold_plane != nullptr && at_x < band.width)
          x += band.a.threshold_plane[row * band.a.cells.pitch + at_x];
        if constexpr (kSum == Sum::kControl) x = min(max(x, -kBinaryLimit), kBinaryLimit);
      }
      sums[c] = x;
    }
    *to = make_uint4(pack(sums[0], sums[1]), pack(sums[2], sums[3]), pack(sums[4], sums[5]),
                     pack(sums[6], sums[7]));
  }
}

/// Adds one of the sums to the states of all rows that the band keeps.
template <Sum kSum, int R, StatePlace kPlace>
__device__ void sum_states(Band<R, kPlace>& band) {
  for (int first = 0; first < padded(band.width); first += band.a.columns) {
    load_inputs<kSum>(band, first);
    __syncthreads();
    convolve<kSum>(band, first);
    __syncthreads();
  }
}

}  // namespace
}  // namespace ocellus::cuda
