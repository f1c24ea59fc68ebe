// Kernels for a new frame: they compute its levels, normalize and smooth them, and store them in
// the window of frames.
#include <cstdint>
#include <type_traits>

#include "image/warp.h"
#include "kernels/optical_flow/pyramid.cuh"

namespace ocellus::cuda {
namespace {

using detail::kContrastRadius;
using detail::kPresmoothingRadius;

constexpr int kWidth = kPyramidTileWidth;

// ---- halving

constexpr int kReduceColumns = 2 * kWidth + 3;
constexpr int kReduceRows = 2 * kReduceTileHeight + 3;

__device__ float five_taps(float far0, float near0, float center, float near1, float far1) {
  return fmaf(1.0f / 16.0f, far0 + far1, fmaf(4.0f / 16.0f, near0 + near1, 6.0f / 16.0f * center));
}

/// Pixel is void if the source is a level, not the camera's image.
template <typename Pixel>
__global__ void __launch_bounds__(kPyramidThreads)
    reduce(const __grid_constant__ ReduceArguments a) {
  __shared__ float in[kReduceRows][kReduceColumns];
  __shared__ float narrow[kReduceTileHeight][kReduceColumns];
  let_next_begin();
  const int x0 = blockIdx.x * kWidth;
  const int y0 = blockIdx.y * kReduceTileHeight;
  const auto load = [&](int column, int row, const auto& pixel) {
    return pixel(clamp_to(2 * x0 - 2 + column, a.from_width),
                 clamp_to(2 * y0 - 2 + row, a.from_height));
  };
  const auto store = [&](int column, int row, float value) { in[row][column] = value; };
  constexpr int kBatch = (kReduceColumns * kReduceRows + kPyramidThreads - 1) / kPyramidThreads;
  wait_for_kernels_before();
  if constexpr (std::is_void_v<Pixel>) {
    const auto pixel = [&](int x, int y) { return a.from[y * a.from_stride + x]; };
    copy_block<kBatch>(
        kReduceColumns, kReduceRows, [&](int column, int row) { return load(column, row, pixel); },
        store);
  } else {
    const void* const image = a.frame->image;
    const std::int64_t stride = a.frame->image_stride;
    const auto pixel = [&](int x, int y) { return a.scale * pixel_at<Pixel>(image, stride, x, y); };
    copy_block<kBatch>(
        kReduceColumns, kReduceRows, [&](int column, int row) { return load(column, row, pixel); },
        store);
  }
  __syncthreads();
  for (BlockWalk<> at(kReduceColumns, kReduceTileHeight); at.more(); at.next()) {
    const int row = 2 * at.row();
    const int column = at.column();
    narrow[at.row()][column] = five_taps(in[row][column], in[row + 1][column], in[row + 2][column],
                                         in[row + 3][column], in[row + 4][column]);
  }
  __syncthreads();
  const int row = threadIdx.x / kWidth;
  const int column = threadIdx.x % kWidth;
  const int x = x0 + column;
  const int y = y0 + row;
  if (x >= a.width || y >= a.height) return;
  const float* from = &narrow[row][2 * column];
  a.to[y * a.to_stride + x] = five_taps(from[0], from[1], from[2], from[3], from[4]);
}
static_assert(kPyramidThreads == kWidth * kReduceTileHeight);

// ---- normalization and smoothing

constexpr int kHeight = kPrepareTileHeight;
// Pixels beyond the tile: of the image, the high-passed image and the normalized image.
constexpr int kReachImage = 2 * kContrastRadius + kPresmoothingRadius;
constexpr int kReachHighpass = kContrastRadius + kPresmoothingRadius;
constexpr int kReachNormalized = kPresmoothingRadius;
constexpr int kColumns = kWidth + 2 * kReachImage;
constexpr int kRows = kHeight + 2 * kReachImage;
// Odd, like kFilteredStride, because lanes read along rows and along columns.
constexpr int kStride = kColumns + 1;
constexpr int kFilteredStride = kWidth + 2 * kReachHighpass + 1;
// A group of outputs reads beyond the last row.
constexpr int kFilteredRows = kRows + 2;

/// Computes kOut neighboring sums of 2 kRadius + 1 values, each in the order of the values.
template <int kRadius, int kOut, typename Load>
__device__ void box_sums(const Load& load, float (&sum)[kOut]) {
#pragma unroll
  for (int j = 0; j < 2 * kRadius + kOut; ++j) {
    const float value = load(j);
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      if (j == o) {
        sum[o] = value;
      } else if (j > o && j - o <= 2 * kRadius) {
        sum[o] += value;
      }
    }
  }
}

struct Tile {
  float plane[kRows][kStride];
  float filtered[kFilteredRows][kFilteredStride];
};

/// Repeats the edges of the image inside the plane, except in a margin of `margin` pixels.
__device__ void repeat_edges(Tile& tile, int x0, int y0, int width, int height, int margin) {
  for (BlockWalk<> at(kColumns - 2 * margin, kRows - 2 * margin); at.more(); at.next()) {
    const int column = at.column() + margin;
    const int row = at.row() + margin;
    const int from_column = clamp_to(x0 - kReachImage + column, width) - (x0 - kReachImage);
    const int from_row = clamp_to(y0 - kReachImage + row, height) - (y0 - kReachImage);
    if (from_column != column || from_row != row)
      tile.plane[row][column] = tile.plane[from_row][from_column];
  }
}

/// Normalizes the image in place.
__device__ void normalize(Tile& tile, int x0, int y0, int width, int height) {
  constexpr float kShare = 1.0f / (2 * kContrastRadius + 1);
  const bool at_edge = x0 < kReachImage || y0 < kReachImage || x0 + kWidth + kReachImage > width ||
                       y0 + kHeight + kReachImage > height;
  {  // subtract the local mean
    constexpr int kOut = 7;
    constexpr int kHighpassColumns = kWidth + 2 * kReachHighpass;
    constexpr int kHighpassRows = kHeight + 2 * kReachHighpass;
    static_assert(kHighpassColumns % kOut == 0);
    for (BlockWalk<> at(kRows, kHighpassColumns / kOut); at.more(); at.next()) {
      const int row = at.column();
      const int column = at.row() * kOut;
      float sum[kOut];
      box_sums<kContrastRadius>([&](int j) { return tile.plane[row][column + j]; }, sum);
      for (int o = 0; o < kOut; ++o) tile.filtered[row][column + o] = kShare * sum[o];
    }
    __syncthreads();
    constexpr int kDown = 6;
    constexpr int kGroups = (kHighpassRows + kDown - 1) / kDown;
    static_assert(kGroups * kDown + 2 * kContrastRadius <= kFilteredRows);
    for (BlockWalk<> at(kHighpassColumns, kGroups); at.more(); at.next()) {
      const int column = at.column();
      const int row = at.row() * kDown;
      float sum[kDown];
      box_sums<kContrastRadius>([&](int j) { return tile.filtered[row + j][column]; }, sum);
      for (int o = 0; o < kDown; ++o) {
        if (row + o < kHighpassRows)
          tile.plane[row + o + kContrastRadius][column + kContrastRadius] -= kShare * sum[o];
      }
    }
    __syncthreads();
    if (at_edge) {
      repeat_edges(tile, x0, y0, width, height, kContrastRadius);
      __syncthreads();
    }
  }
  {  // divide by the local deviation
    constexpr int kOut = 6;
    constexpr int kNormalColumns = kWidth + 2 * kReachNormalized;
    constexpr int kNormalRows = kHeight + 2 * kReachNormalized;
    constexpr int kRowsIn = kNormalRows + 2 * kContrastRadius;
    static_assert(kNormalColumns % kOut == 0);
    for (BlockWalk<> at(kRowsIn, kNormalColumns / kOut); at.more(); at.next()) {
      const int row = at.column();
      const int column = at.row() * kOut;
      float sum[kOut];
      box_sums<kContrastRadius>(
          [&](int j) {
            const float value = tile.plane[row + kContrastRadius][column + kContrastRadius + j];
            return value * value;
          },
          sum);
      for (int o = 0; o < kOut; ++o) tile.filtered[row][column + o] = kShare * sum[o];
    }
    __syncthreads();
    constexpr int kDown = 4;
    static_assert(kNormalRows % kDown == 0);
    for (BlockWalk<> at(kNormalColumns, kNormalRows / kDown); at.more(); at.next()) {
      const int column = at.column();
      const int row = at.row() * kDown;
      float sum[kDown];
      box_sums<kContrastRadius>([&](int j) { return tile.filtered[row + j][column]; }, sum);
      for (int o = 0; o < kDown; ++o) {
        float& value = tile.plane[row + o + 2 * kContrastRadius][column + 2 * kContrastRadius];
        const float variance = kShare * sum[o];
        value *= detail::kContrastScale *
                 rsqrtf(variance + detail::kContrastFloor * detail::kContrastFloor);
      }
    }
    __syncthreads();
    if (at_edge) {
      repeat_edges(tile, x0, y0, width, height, 2 * kContrastRadius);
      __syncthreads();
    }
  }
}

template <int kOut, typename Load>
__device__ void presmooth(const float* taps, const Load& load, float (&sum)[kOut]) {
  float value[kOut + 2 * kPresmoothingRadius];
#pragma unroll
  for (int j = 0; j < kOut + 2 * kPresmoothingRadius; ++j) value[j] = load(j);
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    sum[o] = taps[0] * value[o + kPresmoothingRadius];
#pragma unroll
    for (int k = 1; k <= kPresmoothingRadius; ++k)
      sum[o] = fmaf(
          taps[k], value[o + kPresmoothingRadius - k] + value[o + kPresmoothingRadius + k], sum[o]);
  }
}

/// Stores the texture of the tile: the sum of the squares of the 12 differences between neighbors
/// in 3x3 pixels of the image.
__device__ void store_texture(const PrepareArguments& a, const Tile& tile, int x0, int y0,
                              int head) {
  float* const out = a.window.base + head * a.window.frame_floats + a.texture.origin;
  for (BlockWalk<> at(min(kWidth, a.texture.width - x0), min(kHeight, a.texture.height - y0));
       at.more(); at.next()) {
    const int row = at.row() + kReachImage;
    const int column = at.column() + kReachImage;
    const auto squared = [&](int y, int x, int down, int right) {
      const float difference =
          tile.plane[row + y + down][column + x + right] - tile.plane[row + y][column + x];
      return difference * difference;
    };
    float sum = 0.0f;
#pragma unroll
    for (int k = -1; k <= 1; ++k) {
      sum += squared(k, -1, 0, 1) + squared(k, 0, 0, 1);
      sum += squared(-1, k, 1, 0) + squared(0, k, 1, 0);
    }
    out[(y0 + at.row()) * a.texture.stride + x0 + at.column()] = sum;
  }
}

/// Stores the tile as it is.
__device__ void store_guide(const PrepareArguments& a, const Tile& tile, int x0, int y0, int head) {
  float* const out = a.window.base + head * a.window.frame_floats + a.guide.origin;
  for (BlockWalk<> at(min(kWidth, a.guide.width - x0), min(kHeight, a.guide.height - y0));
       at.more(); at.next())
    out[(y0 + at.row()) * a.guide.stride + x0 + at.column()] =
        tile.plane[at.row() + kReachImage][at.column() + kReachImage];
}

template <typename Pixel, bool kNormalize>
__global__ void __launch_bounds__(kPyramidThreads)
    prepare(const __grid_constant__ PrepareArguments a) {
  __shared__ Tile tile;
  let_next_begin();
  const int head = a.state->head;
  int number = a.levels - 1;
  while (static_cast<int>(blockIdx.x) < a.level[number].first_tile) --number;
  const PrepareArguments::Level& level = a.level[number];
  const int at_tile = static_cast<int>(blockIdx.x) - level.first_tile;
  const int x0 = at_tile % level.tiles_x * kWidth;
  const int y0 = at_tile / level.tiles_x * kHeight;
  const int width = level.stored.width;
  const int height = level.stored.height;

  constexpr int kMargin = kNormalize ? 0 : 2 * kContrastRadius;
  const auto fill = [&](const auto& pixel) {
    copy_block<4>(
        kColumns - 2 * kMargin, kRows - 2 * kMargin,
        [&](int column, int row) {
          return pixel(clamp_to(x0 - kReachImage + kMargin + column, width),
                       clamp_to(y0 - kReachImage + kMargin + row, height));
        },
        [&](int column, int row, float value) {
          tile.plane[row + kMargin][column + kMargin] = value;
        });
  };
  wait_for_kernels_before();
  if (level.raw == nullptr) {
    const void* image = a.frame->image;
    const std::int64_t stride = a.frame->image_stride;
    fill([&](int x, int y) { return a.scale * pixel_at<Pixel>(image, stride, x, y); });
  } else {
    fill([&](int x, int y) { return level.raw[y * level.raw_stride + x]; });
  }
  __syncthreads();
  if (level.raw == nullptr && a.texture.width > 0) store_texture(a, tile, x0, y0, head);
  if (level.raw == nullptr && a.guide.width > 0) store_guide(a, tile, x0, y0, head);
  float taps[kPresmoothingRadius + 1];
#pragma unroll
  for (int k = 0; k <= kPresmoothingRadius; ++k)
    taps[k] = number < a.smoothed_levels ? a.presmoothing[k] : k == 0 ? 1.0f : 0.0f;
  if constexpr (kNormalize) normalize(tile, x0, y0, width, height);

  constexpr int kAcross = 4;
  constexpr int kFirst = 2 * kContrastRadius;
  for (BlockWalk<> at(kHeight + 2 * kPresmoothingRadius, kWidth / kAcross); at.more(); at.next()) {
    const int row = at.column();
    const int column = at.row() * kAcross;
    float sum[kAcross];
    presmooth(
        taps, [&](int j) { return tile.plane[row + kFirst][column + kFirst + j]; }, sum);
    for (int o = 0; o < kAcross; ++o) tile.filtered[row][column + o] = sum[o];
  }
  __syncthreads();
  constexpr int kDown = kHeight * kWidth / kPyramidThreads;
  static_assert(kDown * kPyramidThreads == kHeight * kWidth);
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth * kDown;
  float sum[kDown];
  presmooth(
      taps, [&](int j) { return tile.filtered[row + j][column]; }, sum);
  const int x = x0 + column;
  if (x >= width) return;
  float* const out = a.window.base + head * a.window.frame_floats + level.stored.origin;
  const int left = x == 0 ? -detail::kWarpBefore : x;
  const int right = x == width - 1 ? x + detail::kWarpAfter : x;
#pragma unroll
  for (int o = 0; o < kDown; ++o) {
    const int y = y0 + row + o;
    if (y >= height) return;
    const int top = y == 0 ? -detail::kWarpBefore : y;
    const int bottom = y == height - 1 ? y + detail::kWarpAfter : y;
    for (int to_y = top; to_y <= bottom; ++to_y)
      for (int to_x = left; to_x <= right; ++to_x) out[to_y * level.stored.stride + to_x] = sum[o];
  }
}

template <bool kNormalize>
Kernel<PrepareArguments> prepare_of(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::kGray8:
      return prepare<std::uint8_t, kNormalize>;
    case PixelFormat::kGray16:
      return prepare<std::uint16_t, kNormalize>;
    default:  // kFloat32; no color comes here
      break;
  }
  return prepare<float, kNormalize>;
}

}  // namespace

Kernel<ReduceArguments> reduce_kernel(PixelFormat format, bool from_camera) noexcept {
  if (!from_camera) return reduce<void>;
  switch (format) {
    case PixelFormat::kGray8:
      return reduce<std::uint8_t>;
    case PixelFormat::kGray16:
      return reduce<std::uint16_t>;
    default:  // kFloat32; no color comes here
      break;
  }
  return reduce<float>;
}

Kernel<PrepareArguments> prepare_kernel(PixelFormat format, bool normalize) noexcept {
  return normalize ? prepare_of<true>(format) : prepare_of<false>(format);
}

}  // namespace ocellus::cuda
