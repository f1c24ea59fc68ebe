// Kernels for a new frame: they compute its levels, normalize and smooth them, and store them in
// the window of frames.
#include <cstdint>

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

template <typename Pixel>
__global__ void __launch_bounds__(kPyramidThreads)
    reduce(const __grid_constant__ ReduceArguments a) {
  __shared__ float in[kReduceRows][kReduceColumns];
  __shared__ float narrow[kReduceTileHeight][kReduceColumns];
  let_next_begin();
  const int x0 = blockIdx.x * kWidth;
  const int y0 = blockIdx.y * kReduceTileHeight;
  wait_for_kernels_before();
  const bool camera = a.from == nullptr;
  const void* const image = camera ? a.frame->image : a.from;
  const std::int64_t stride =
      camera ? a.frame->image_stride : a.from_stride * static_cast<int>(sizeof(float));
  constexpr int kBatch = (kReduceColumns * kReduceRows + kPyramidThreads - 1) / kPyramidThreads;
  copy_block<kBatch>(
      kReduceColumns, kReduceRows,
      [&](int column, int row) {
        return a.scale * pixel_at<Pixel>(image, stride, clamp_to(2 * x0 - 2 + column, a.from_width),
                                         clamp_to(2 * y0 - 2 + row, a.from_height));
      },
      [&](int column, int row, float value) { in[row][column] = value; });
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
// Pixels beyond the tile: of the image and the high-passed image.
constexpr int kReachImage = 2 * kContrastRadius + kPresmoothingRadius;
constexpr int kReachHighpass = kContrastRadius + kPresmoothingRadius;
constexpr int kColumns = kWidth + 2 * kReachImage;
constexpr int kRows = kHeight + 2 * kReachImage;
// Odd, like kFilteredStride, because lanes read along rows and along columns.
constexpr int kStride = kColumns + 1;
constexpr int kFilteredStride = kWidth + 2 * kReachHighpass + 1;
// A group of outputs reads beyond the last row.
constexpr int kFilteredRows = kRows + 2;

struct Tile {
  float plane[kRows][kStride];
  float filtered[kFilteredRows][kFilteredStride];
};

/// Repeats the edges of the image inside the plane, except in a margin of `margin` pixels.
__device__ void repeat_edges(Tile& tile, int x0, int y0, int width, int height, int margin) {
  if (x0 >= kReachImage && y0 >= kReachImage && x0 + kWidth + kReachImage <= width &&
      y0 + kHeight + kReachImage <= height)
    return;
  for (BlockWalk<> at(kColumns - 2 * margin, kRows - 2 * margin); at.more(); at.next()) {
    const int column = at.column() + margin;
    const int row = at.row() + margin;
    const int from_column = clamp_to(x0 - kReachImage + column, width) - (x0 - kReachImage);
    const int from_row = clamp_to(y0 - kReachImage + row, height) - (y0 - kReachImage);
    if (from_column != column || from_row != row)
      tile.plane[row][column] = tile.plane[from_row][from_column];
  }
  __syncthreads();
}

/// Calls change(pixel, mean) for each pixel, where the mean is that of value(pixel) in the box
/// around it. The plane has a margin of kMargin pixels without values; that of the results is as
/// much wider as the box reaches. A thread computes kAcross or kDown neighboring sums.
template <int kMargin, int kAcross, int kDown, typename Value, typename Change>
__device__ void change_by_mean(Tile& tile, const Value& value, const Change& change) {
  constexpr float kShare = 1.0f / (2 * kContrastRadius + 1);
  constexpr int kFirst = kMargin + kContrastRadius;
  constexpr int kColumnsOut = kColumns - 2 * kFirst;
  constexpr int kRowsOut = kRows - 2 * kFirst;
  static_assert(kColumnsOut % kAcross == 0);
  for (BlockWalk<> at(kRows - 2 * kMargin, kColumnsOut / kAcross); at.more(); at.next()) {
    const int row = at.column();
    const int column = at.row() * kAcross;
    float sum[kAcross];
    box_sums(
        kContrastRadius,
        [&](int j) { return value(tile.plane[row + kMargin][column + kMargin + j]); }, sum);
    for (int o = 0; o < kAcross; ++o) tile.filtered[row][column + o] = kShare * sum[o];
  }
  __syncthreads();
  constexpr int kGroups = (kRowsOut + kDown - 1) / kDown;
  static_assert(kGroups * kDown + 2 * kContrastRadius <= kFilteredRows);
  for (BlockWalk<> at(kColumnsOut, kGroups); at.more(); at.next()) {
    const int column = at.column();
    const int row = at.row() * kDown;
    float sum[kDown];
    box_sums(
        kContrastRadius, [&](int j) { return tile.filtered[row + j][column]; }, sum);
    for (int o = 0; o < kDown; ++o) {
      if (kRowsOut % kDown == 0 || row + o < kRowsOut)
        change(tile.plane[row + o + kFirst][column + kFirst], kShare * sum[o]);
    }
  }
  __syncthreads();
}

/// Normalizes the image in place: subtracts the local mean and divides by the local deviation.
__device__ void normalize(Tile& tile, int x0, int y0, int width, int height) {
  change_by_mean<0, 7, 6>(
      tile, [](float value) { return value; }, [](float& value, float mean) { value -= mean; });
  repeat_edges(tile, x0, y0, width, height, kContrastRadius);
  change_by_mean<kContrastRadius, 6, 4>(
      tile, [](float value) { return value * value; },
      [](float& value, float variance) {
        value *= detail::kContrastScale *
                 rsqrtf(variance + detail::kContrastFloor * detail::kContrastFloor);
      });
  repeat_edges(tile, x0, y0, width, height, 2 * kContrastRadius);
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

/// Without kNormalize, only level 0 is smoothed.
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
  // Each thread writes pixels of a column.
  constexpr int kDown = kHeight * kWidth / kPyramidThreads;
  static_assert(kDown * kPyramidThreads == kHeight * kWidth);
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth * kDown;
  const int x = x0 + column;
  if (level.raw == nullptr && a.guide.width > 0 && x < width) {
    float* const guide = a.window.base + head * a.window.frame_floats + a.guide.origin + x;
#pragma unroll
    for (int o = 0; o < kDown; ++o) {
      if (y0 + row + o < height)
        guide[(y0 + row + o) * a.guide.stride] =
            tile.plane[row + o + kReachImage][column + kReachImage];
    }
  }
  float taps[kPresmoothingRadius + 1];
#pragma unroll
  for (int k = 0; k <= kPresmoothingRadius; ++k)
    taps[k] = kNormalize || number == 0 ? a.presmoothing[k] : k == 0 ? 1.0f : 0.0f;
  if constexpr (kNormalize) normalize(tile, x0, y0, width, height);

  constexpr int kAcross = 4;
  constexpr int kFirst = 2 * kContrastRadius;
  for (BlockWalk<> at(kHeight + 2 * kPresmoothingRadius, kWidth / kAcross); at.more(); at.next()) {
    const int from_row = at.column();
    const int from_column = at.row() * kAcross;
    float sum[kAcross];
    presmooth(
        taps, [&](int j) { return tile.plane[from_row + kFirst][from_column + kFirst + j]; }, sum);
    for (int o = 0; o < kAcross; ++o) tile.filtered[from_row][from_column + o] = sum[o];
  }
  __syncthreads();
  float sum[kDown];
  presmooth(
      taps, [&](int j) { return tile.filtered[row + j][column]; }, sum);
  if (x >= width) return;
  float* const out = a.window.base + head * a.window.frame_floats + level.stored.origin;
  const int left = x == 0 ? -detail::kWarpBefore : x;
  const int right = x == width - 1 ? x + detail::kWarpAfter : x;
#pragma unroll
  for (int o = 0; o < kDown; ++o) {
    const int y = y0 + row + o;
    if (y >= height) return;
    out[y * level.stored.stride + x] = sum[o];
    if (left == right && y > 0 && y < height - 1) continue;
    const int top = y == 0 ? -detail::kWarpBefore : y;
    const int bottom = y == height - 1 ? y + detail::kWarpAfter : y;
    for (int to_y = top; to_y <= bottom; ++to_y)
      for (int to_x = left; to_x <= right; ++to_x) out[to_y * level.stored.stride + to_x] = sum[o];
  }
}

}  // namespace

Kernel<ReduceArguments> reduce_kernel(PixelFormat format) noexcept {
  return kernel_for<ReduceArguments>(format, reduce<std::uint8_t>, reduce<std::uint16_t>,
                                     reduce<float>);
}

Kernel<PrepareArguments> prepare_kernel(PixelFormat format, bool normalize) noexcept {
  return normalize
             ? kernel_for<PrepareArguments>(format, prepare<std::uint8_t, true>,
                                            prepare<std::uint16_t, true>, prepare<float, true>)
             : kernel_for<PrepareArguments>(format, prepare<std::uint8_t, false>,
                                            prepare<std::uint16_t, false>, prepare<float, false>);
}

}  // namespace ocellus::cuda
