// The variational solver. Each kernel does the steps of the CPU backend on a tile, with what it
// needs of the pixels around it. Red-black order makes the result independent of the tiles.
#include <iterator>
#include <type_traits>

#include "kernels/optical_flow/pyramid.cuh"
#include "kernels/optical_flow/variational_kernels.h"

namespace ocellus::cuda {
namespace {

constexpr int kWidth = kPyramidTileWidth;

// ---- candidates

/// A thread computes the differences of a pixel. Those at the edge of the block serve only others.
__global__ void __launch_bounds__(kCandidateThreads)
    candidates(const __grid_constant__ FlowArguments a) {
  constexpr int kHeight = kCandidateThreads / kWidth;
  constexpr int kCandidates = 5;
  constexpr int kDistance = detail::kCandidateDistance;
  constexpr int kOffsets[kCandidates][2] = {
      {0, 0}, {kDistance, 0}, {-kDistance, 0}, {0, kDistance}, {0, -kDistance}};
  constexpr int kColumns = kWidth + 2 * kDistance;
  constexpr int kRows = kHeight + 2 * kDistance;
  __shared__ float2 expanded[kRows][kColumns];
  __shared__ float match[kCandidates][kHeight][kWidth];  // sums along the rows
  let_next_begin();
  const LevelFrames frames(a);
  wait_for_kernels_before();
  const Rect& region = a.level.region;
  const int left = static_cast<int>(blockIdx.x) * kCandidateColumns - 1 - kDistance;
  const int top = static_cast<int>(blockIdx.y) * kCandidateRows - 1 - kDistance;
  for (BlockWalk<kCandidateThreads> at(kColumns, kRows); at.more(); at.next())
    expanded[at.row()][at.column()] =
        coarse_flow_at(a.source, clamp_to(left + at.column(), region.width),
                       clamp_to(top + at.row(), region.height));
  __syncthreads();
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth;
  const int x = clamp_to(left + kDistance + column, region.width);
  const int y = clamp_to(top + kDistance + row, region.height);
  const auto flow_of = [&](int c) {
    return expanded[clamp_to(y + kOffsets[c][1], region.height) - top]
                   [clamp_to(x + kOffsets[c][0], region.width) - left];
  };
  const float here = frames.reference(x, y);
#pragma unroll
  for (int c = 0; c < kCandidates; ++c) {
    const float there = frames.warped<false>(x, y, flow_of(c));
    const float difference = fminf(fabsf(there - here), detail::kCandidateCap);
    constexpr unsigned kAllLanes = 0xffffffffu;
    match[c][row][column] = __shfl_up_sync(kAllLanes, difference, 1) + difference +
                            __shfl_down_sync(kAllLanes, difference, 1);
  }
  __syncthreads();
  if (column == 0 || column > kCandidateColumns || row == 0 || row > kCandidateRows) return;
  if (left + kDistance + column >= region.width || top + kDistance + row >= region.height) return;
  float best = 0.0f;
  float2 flow = flow_of(0);
#pragma unroll
  for (int c = 0; c < kCandidates; ++c) {
    const float sum = match[c][row - 1][column] + match[c][row][column] + match[c][row + 1][column];
    if (c == 0) {
      best = detail::kCandidateFactor * sum - detail::kCandidateMargin;
    } else if (sum < best) {
      best = sum;
      flow = flow_of(c);
    }
  }
  a.target.flow[y * a.level.stride + x] = flow;
}

// ---- the system of a warp

/// (1 -8 0 8 -1) / 12
template <typename Value>
__device__ inline float derivative(const Value& value) {
  return 8.0f / 12.0f * (value(1) - value(-1)) - 1.0f / 12.0f * (value(2) - value(-2));
}

/// The normal equations of the data term.
struct DataTerm {
  float xx = 0.0f;
  float xy = 0.0f;
  float yy = 0.0f;
  float xt = 0.0f;
  float yt = 0.0f;

  __device__ void add(float p, float q, float t) {
    const float n = p * p + q * q + detail::kDataFloor;
    const float weight = rsqrtf(n * (t * t + detail::kDataWidth * n));
    xx += weight * p * p;
    xy += weight * p * q;
    yy += weight * q * q;
    xt += weight * p * t;
    yt += weight * q * t;
  }
};

__device__ inline float smoothness(float weight, float image, float2 across, float2 along) {
  const float s = squared(across.x) + squared(across.y) +
                  detail::kCrossShare * (squared(along.x) + squared(along.y)) +
                  detail::kSmoothnessWidth;
  const float edge =
      inverse_of(1.0f + squared(image) * (1.0f / (detail::kEdgeScale * detail::kEdgeScale)));
  return weight * (detail::kEdgeShare + (1.0f - detail::kEdgeShare) * edge) * rsqrtf(s);
}

/// What a block keeps of its pixels and of those around them.
template <int kHeight>
struct SystemTile {
  static constexpr int kThreads = kWidth * kHeight;
  static constexpr int kReach = detail::kGradientReach;
  static constexpr int kColumns = kWidth + 4 * kReach;
  static constexpr int kRows = kHeight + 4 * kReach;
  static constexpr int kGradientColumns = kWidth + 2 * kReach;
  static constexpr int kGradientRows = kHeight + 2 * kReach;

  float2 flow[kRows][kColumns];
  float image[kRows][kColumns];  ///< the guide
  float mean[kRows][kColumns];
  float residual[kRows][kColumns];
  float ix[kGradientRows][kGradientColumns];
  float iy[kGradientRows][kGradientColumns];
  float right[kHeight + 1][kWidth + 1];  ///< weights of the smoothness, to the right and down
  float down[kHeight + 1][kWidth + 1];

  /// Pixels outside the region have the values of the nearest pixel inside.
  __device__ void warp(const SystemArguments& a, const LevelFrames& frames, const float* guide,
                       int x0, int y0) {
    struct Pixel {
      float2 flow;
      float image;
      float here;
      float there;
    };
    copy_block<(kColumns * kRows + kThreads - 1) / kThreads, kThreads>(
        kColumns, kRows,
        [&](int column, int row) {
          const int x = clamp_to(x0 - 2 * kReach + column, a.level.region.width);
          const int y = clamp_to(y0 - 2 * kReach + row, a.level.region.height);
          const float2 w = flow_at(a.source, x, y);
          return Pixel{w, guide[y * a.level.guide.stride + x], frames.reference(x, y),
                       frames.warped<true>(x, y, w)};
        },
        [&](int column, int row, const Pixel& pixel) {
          flow[row][column] = pixel.flow;
          image[row][column] = pixel.image;
          residual[row][column] = pixel.there - pixel.here;
          mean[row][column] = 0.5f * (pixel.there + pixel.here);
        });
  }

  __device__ void derive(const Rect& region, int x0, int y0) {
    for (BlockWalk<kThreads> at(kGradientColumns, kGradientRows); at.more(); at.next()) {
      const int column = clamp_to(x0 - kReach + at.column(), region.width) - (x0 - 2 * kReach);
      const int row = clamp_to(y0 - kReach + at.row(), region.height) - (y0 - 2 * kReach);
      ix[at.row()][at.column()] = derivative([&](int k) { return mean[row][column + k]; });
      iy[at.row()][at.column()] = derivative([&](int k) { return mean[row + k][column]; });
    }
  }

  __device__ void weigh(const SystemArguments& a, int x0, int y0) {
    const Rect& region = a.level.region;
    for (BlockWalk<kThreads> at(kWidth + 1, kHeight + 1); at.more(); at.next()) {
      const int x = x0 - 1 + at.column();
      const int y = y0 - 1 + at.row();
      const int column = at.column() + 2 * kReach - 1;
      const int row = at.row() + 2 * kReach - 1;
      const auto w = [&](int i, int j) { return flow[row + j][column + i]; };
      const float2 here = w(0, 0);
      // The weight between the pixel and its neighbor (i, j), which is the right or the lower one.
      const auto side = [&](int i, int j) {
        const float2 across = make_float2(w(i, j).x - here.x, w(i, j).y - here.y);
        const float2 along =
            make_float2(0.25f * ((w(j, i).x + w(1, 1).x) - (w(-j, -i).x + w(i - j, j - i).x)),
                        0.25f * ((w(j, i).y + w(1, 1).y) - (w(-j, -i).y + w(i - j, j - i).y)));
        return smoothness(a.smoothness, image[row + j][column + i] - image[row][column], across,
                          along);
      };
      // Nothing lies beyond the border. Both are computed there as well, because a branch would
      // separate them.
      const float to_right = side(1, 0);
      const float to_down = side(0, 1);
      right[at.row()][at.column()] = x >= 0 && x < region.width - 1 ? to_right : 0.0f;
      down[at.row()][at.column()] = y >= 0 && y < region.height - 1 ? to_down : 0.0f;
    }
  }

  /// The data term of the pixel in a column and a row of the tile, less where the motion leaves the
  /// image.
  __device__ DataTerm data(const FlowLevel& level, int column, int row, int x, int y) const {
    const int gx = column + kReach;
    const int gy = row + kReach;
    const int rx = column + 2 * kReach;
    const int ry = row + 2 * kReach;
    const float xy = derivative([&](int k) { return ix[gy + k][gx]; });
    DataTerm data;
    data.add(derivative([&](int k) { return ix[gy][gx + k]; }), xy,
             derivative([&](int k) { return residual[ry][rx + k]; }));
    data.add(xy, derivative([&](int k) { return iy[gy + k][gx]; }),
             derivative([&](int k) { return residual[ry + k][rx]; }));
    const float2 w = flow[ry][rx];
    // Distance of the warped position from the nearest edge; negative outside the image.
    const float there_x = static_cast<float>(level.region.x + x) + w.x;
    const float there_y = static_cast<float>(level.region.y + y) + w.y;
    const float distance =
        fminf(fminf(there_x, static_cast<float>(level.stored.width - 1) - there_x),
              fminf(there_y, static_cast<float>(level.stored.height - 1) - there_y));
    const float ramp = fminf(1.0f, fmaxf(detail::kLeastDataRamp, distance + 0.5f));
    for (float* const value : {&data.xx, &data.xy, &data.yy, &data.xt, &data.yt}) *value *= ramp;
    return data;
  }
};

template <int kHeight>
__global__ void __launch_bounds__(kWidth* kHeight, kHeight == kLowSystemTile ? 4 : 3)
    set_up_system(const __grid_constant__ SystemArguments a) {
  using Tile = SystemTile<kHeight>;
  __shared__ Tile tile;
  let_next_begin();
  const LevelFrames frames(a);
  const float* const guide = reference_region(a, a.level.guide);
  wait_for_kernels_before();
  const Rect& region = a.level.region;
  const int x0 = blockIdx.x * kWidth;
  const int y0 = blockIdx.y * kHeight;
  tile.warp(a, frames, guide, x0, y0);
  __syncthreads();
  tile.derive(region, x0, y0);
  tile.weigh(a, x0, y0);
  __syncthreads();

  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth;
  const int x = x0 + column;
  const int y = y0 + row;
  if (x >= region.width || y >= region.height) return;
  const DataTerm data = tile.data(a.level, column, row, x, y);
  const int rx = column + 2 * Tile::kReach;
  const int ry = row + 2 * Tile::kReach;
  const float2 w = tile.flow[ry][rx];
  const float to_right = tile.right[row + 1][column + 1];
  const float to_left = tile.right[row + 1][column];
  const float to_down = tile.down[row + 1][column + 1];
  const float sum =
      to_right + to_left + to_down + tile.down[row][column + 1] + detail::kLeastDiagonal;
  const float p = data.xx + sum;
  const float q = data.yy + sum;
  // The inverse has the factor of the relaxation.
  const float scale = detail::kRelaxation * inverse_of(p * q - data.xy * data.xy);
  const int index = y * a.level.stride + x;
  a.system.inverse[index] = make_float4(q * scale, -data.xy * scale, p * scale, to_right);
  a.system.constant[index] = make_float4(
      (data.xx + detail::kLeastDiagonal) * w.x + data.xy * w.y - data.xt,
      data.xy * w.x + (data.yy + detail::kLeastDiagonal) * w.y - data.yt, to_down, to_left);
  if (a.residual != nullptr) a.residual[y * a.level.stride + x] = tile.residual[ry][rx];
  if (a.confidence != nullptr) {
    const float half = 0.5f * (data.xx + data.yy);
    const float spread = sqrtf(squared(0.5f * (data.xx - data.yy)) + squared(data.xy));
    a.confidence[y * a.level.stride + x] = fmaxf(half - spread, 0.0f);
  }
}

// ---- median

__device__ inline void order(float& a, float& b) {
  const float low = fminf(a, b);
  b = fmaxf(a, b);
  a = low;
}
__device__ inline float middle_of(float a, float b, float c) {
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

/// The medians of 3x3 values around two pixels side by side, of load(row, column) with 3 rows and 4
/// columns: the middle one of the largest of the smallest, the middle of the middle, and the
/// smallest of the largest values of the columns.
template <typename Load>
__device__ float2 medians_of(const Load& load) {
  float low[4];
  float middle[4];
  float high[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    low[i] = load(0, i);
    middle[i] = load(1, i);
    high[i] = load(2, i);
    order(low[i], middle[i]);
    order(middle[i], high[i]);
    order(low[i], middle[i]);
  }
  const auto at = [&](int i) {
    return middle_of(fmaxf(fmaxf(low[i], low[i + 1]), low[i + 2]),
                     middle_of(middle[i], middle[i + 1], middle[i + 2]),
                     fminf(fminf(high[i], high[i + 1]), high[i + 2]));
  };
  return make_float2(at(0), at(1));
}

// ---- red-black sweeps

/// The state of the pixels of a thread, which stays in registers: 2 columns of kRows rows. In the
/// half sweep of a color, a row has one pixel of it, in column (row + color) % 2.
struct SweepPixels {
  static constexpr int kRows = SweepVariant::kRowsOfThread;
  static_assert(kRows % 2 == 0);

  float2 flow[kRows][2];
  float2 constant[kRows][2];
  float xx[kRows][2];  ///< of the inverse of the pixel's block, times the relaxation
  float xy[kRows][2];
  float yy[kRows][2];
  float beside[kRows][3];       ///< weights between columns -1, 0, 1 and 2
  float between[kRows + 1][2];  ///< weights between rows -1, 0, ... and kRows

  /// Calls use(row, column) for each pixel.
  template <typename Use>
  static __device__ void each(const Use& use) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < 2; ++c) use(r, c);
    }
  }
  /// All addresses are valid, so that many loads are on their way at once. Pixels outside the
  /// region repeat its edge, and no weight leads to them.
  __device__ void load(const SweepArguments& a, int left, int top) {
    each([&](int r, int c) {
      const int x = clamp_to(left + c, a.level.region.width);
      const int y = clamp_to(top + r, a.level.region.height);
      const int index = y * a.level.stride + x;
      const float4 inverse = a.system.inverse[index];
      const float4 rest = a.system.constant[index];
      xx[r][c] = inverse.x;
      xy[r][c] = inverse.y;
      yy[r][c] = inverse.z;
      constant[r][c] = make_float2(rest.x, rest.y);
      if (c == 0) beside[r][0] = rest.w;
      beside[r][c + 1] = left + c >= 0 ? inverse.w : 0.0f;
      if (r == 0) between[0][c] = y > 0 ? a.system.constant[index - a.level.stride].z : 0.0f;
      between[r + 1][c] = top + r >= 0 ? rest.z : 0.0f;
      flow[r][c] = flow_at(a.source, x, y);
    });
  }

  /// The pixel of a color in the first and in the last row.
  template <int kColor>
  __device__ float2 first() const {
    return flow[0][kColor];
  }
  template <int kColor>
  __device__ float2 last() const {
    return flow[kRows - 1][1 - kColor];
  }

  /// A half sweep. `above` and `below` are the neighbors of the first and of the last row's pixel.
  template <int kColor>
  __device__ void relax(float2 above, float2 below) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      constexpr unsigned kAllLanes = 0xffffffffu;
      const int c = (r + kColor) % 2;
      const float2 own = flow[r][1 - c];
      const float2 beyond = c == 0 ? make_float2(__shfl_up_sync(kAllLanes, own.x, 1),
                                                 __shfl_up_sync(kAllLanes, own.y, 1))
                                   : make_float2(__shfl_down_sync(kAllLanes, own.x, 1),
                                                 __shfl_down_sync(kAllLanes, own.y, 1));
      const float2 up = r > 0 ? flow[r - 1][c] : above;
      const float2 down = r + 1 < kRows ? flow[r + 1][c] : below;
      const float to_own = beside[r][1];
      const float to_beyond = beside[r][c == 0 ? 0 : 2];
      const float to_up = between[r][c];
      const float to_down = between[r + 1][c];
      const float b0 = constant[r][c].x + to_own * own.x + to_beyond * beyond.x + to_up * up.x +
                       to_down * down.x;
      const float b1 = constant[r][c].y + to_own * own.y + to_beyond * beyond.y + to_up * up.y +
                       to_down * down.y;
      constexpr float kKept = 1.0f - detail::kRelaxation;
      float2& w = flow[r][c];
      w = make_float2(kKept * w.x + xx[r][c] * b0 + xy[r][c] * b1,
                      kKept * w.y + xy[r][c] * b0 + yy[r][c] * b1);
    }
  }
};

template <int kVariant>
__global__ void __launch_bounds__(kSweepVariants[kVariant].threads, 1)
    sweeps(const __grid_constant__ SweepArguments a) {
  constexpr SweepVariant kShape = kSweepVariants[kVariant];
  constexpr int kTileWidth = SweepVariant::kTileWidth;
  constexpr int kTileHeight = kShape.tile_height();
  constexpr int kHalo = kShape.halo();
  constexpr int kWarps = kShape.threads / 32;
  __shared__ float2 tile[kTileHeight][kTileWidth];
  // Its first part has the first and the last row of each warp, of the last half sweep of a color.
  const auto edge = [&](int color, int warp, bool last) -> float2& {
    return (&tile[0][0])[((color * kWarps + warp) * 2 + (last ? 1 : 0)) * 32 + threadIdx.x % 32];
  };
  static_assert(2 * kWarps * 2 * 32 <= kTileHeight * kTileWidth);
  let_next_begin();
  wait_for_kernels_before();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp * SweepPixels::kRows;
  const int column = static_cast<int>(threadIdx.x) % 32 * 2;
  // The sum of both is even, so that the color of a register does not depend on the block.
  const int left = static_cast<int>(blockIdx.x) * kShape.columns() - kHalo;
  const int top = static_cast<int>(blockIdx.y) * kShape.rows() - kHalo;
  const Rect& region = a.level.region;
  const bool in_region = top + row < region.height && top + row + SweepPixels::kRows > 0;
  SweepPixels pixels{};
  if (in_region) pixels.load(a, left + column, top + row);
  const auto publish = [&](auto color) {
    edge(color.value, warp, false) = pixels.first<color.value>();
    edge(color.value, warp, true) = pixels.last<color.value>();
    __syncthreads();
  };
  const auto half_sweep = [&](auto color, bool needed) {
    if (needed) {
      pixels.relax<color.value>(edge(1 - color.value, max(warp - 1, 0), true),
                                edge(1 - color.value, min(warp + 1, kWarps - 1), false));
    }
    publish(color);
  };
  constexpr std::integral_constant<int, 0> kRed{};
  constexpr std::integral_constant<int, 1> kBlack{};
  // What the half sweep before has left.
  if (a.first % 2 == 0)
    publish(kBlack);
  else
    publish(kRed);
  // What the pixels at the edge of the tile lack comes one pixel nearer in each half sweep. So
  // fewer rows are needed each time, and none outside the region.
  const int end = a.first + a.count;
  const int inside = min(row + SweepPixels::kRows, kTileHeight - row) - 1;
  const int last_needed = in_region ? end - kHalo + inside : -1;
  for (int s = a.first; s < end; ++s) {
    if (s % 2 == 0)
      half_sweep(kRed, s <= last_needed);
    else
      half_sweep(kBlack, s <= last_needed);
  }
  if (a.last) {
    SweepPixels::each([&](int r, int c) {
      const float2 before = flow_at(a.before, clamp_to(left + column + c, region.width),
                                    clamp_to(top + row + r, region.height));
      constexpr float kStep = detail::kLargestStep;
      float2& w = pixels.flow[r][c];
      w = make_float2(fminf(fmaxf(w.x, before.x - kStep), before.x + kStep),
                      fminf(fmaxf(w.y, before.y - kStep), before.y + kStep));
    });
  }
  SweepPixels::each([&](int r, int c) { tile[row + r][column + c] = pixels.flow[r][c]; });
  __syncthreads();
  // Two pixels side by side. Rows of the planes have an even size, so there is room for both.
  for (BlockWalk<kShape.threads> at(kShape.columns() / 2, kShape.rows()); at.more(); at.next()) {
    const int x = left + kHalo + 2 * at.column();
    const int y = top + kHalo + at.row();
    if (x >= region.width || y >= region.height) continue;
    const float2* const here = &tile[y - top][x - left];
    float2 u = make_float2(here[0].x, here[1].x);
    float2 v = make_float2(here[0].y, here[1].y);
    if (a.median) {
      const auto near = [&](int j, int i) {
        return tile[clamp_to(y + j - 1, region.height) - top]
                   [clamp_to(x + i - 1, region.width) - left];
      };
      u = medians_of([&](int j, int i) { return near(j, i).x; });
      v = medians_of([&](int j, int i) { return near(j, i).y; });
    }
    *reinterpret_cast<float4*>(&a.target.flow[y * a.level.stride + x]) =
        make_float4(u.x, v.x, u.y, v.y);
  }
}

// ---- the guided median

__global__ void __launch_bounds__(kPyramidThreads, 3)
    guided_median(const __grid_constant__ GuidedMedianArguments a) {
  constexpr int kHeight = kGuidedTileHeight;
  constexpr int kReach = detail::kGuidedReach;
  constexpr int kColumns = kWidth + 2 * kReach;
  constexpr int kRows = kHeight + 2 * kReach;
  constexpr int kSide = 5;
  __shared__ float2 flow[kRows + 2][kColumns + 2];
  __shared__ float color[kRows + 2][kColumns + 2];
  __shared__ float trust[kRows + 2][kColumns + 2];  // at first the residual
  let_next_begin();
  const float* const guide = reference_region(a, a.level.guide);
  wait_for_kernels_before();
  const bool bad = a.state->bad != 0;
  const Rect& region = a.level.region;
  const int x0 = a.target.part.x + blockIdx.x * kWidth;
  const int y0 = a.target.part.y + blockIdx.y * kHeight;
  // A pixel around the samples serves the differences of the flow only. It loads the others as
  // well, so that all loads are on their way at once.
  struct Pixel {
    float2 flow;
    float color;
    float residual;
  };
  constexpr int kBatch = ((kColumns + 2) * (kRows + 2) + kPyramidThreads - 1) / kPyramidThreads;
  copy_block<kBatch>(
      kColumns + 2, kRows + 2,
      [&](int column, int row) {
        const int x = clamp_to(x0 - kReach - 1 + column, region.width);
        const int y = clamp_to(y0 - kReach - 1 + row, region.height);
        return Pixel{flow_at(a.source, x, y), guide[y * a.level.guide.stride + x],
                     a.residual[y * a.level.stride + x]};
      },
      [&](int column, int row, const Pixel& pixel) {
        flow[row][column] = pixel.flow;
        color[row][column] = pixel.color * (1.0f / detail::kGuidedContrast);
        trust[row][column] = pixel.residual * (1.0f / detail::kResidualScale);
      });
  __syncthreads();
  // How much the flow of a pixel is to be trusted: little where it converges, as at occlusions, and
  // where the residual is large.
  for (BlockWalk<> at(kColumns, kRows); at.more(); at.next()) {
    const int x = clamp_to(x0 - kReach + at.column(), region.width);
    const int y = clamp_to(y0 - kReach + at.row(), region.height);
    const float2* const w = &flow[y - (y0 - kReach - 1)][x - (x0 - kReach - 1)];
    const float twice = (w[1].x - w[-1].x) + (w[kColumns + 2].y - w[-kColumns - 2].y);
    const float convergence = fminf(twice, 0.0f) * (0.5f / detail::kOcclusionScale);
    float& of_pixel = trust[at.row() + 1][at.column() + 1];
    of_pixel = squared(inverse_of((1.0f + squared(convergence)) * (1.0f + squared(of_pixel)))) +
               detail::kLeastTrust;
  }
  __syncthreads();
  const int column = threadIdx.x % kWidth;
  const int row = threadIdx.x / kWidth;
  const int to_x = blockIdx.x * kWidth + column;
  const int to_y = blockIdx.y * kHeight + row;
  if (to_x < a.target.part.width && to_y < a.target.part.height) {
    const auto sample = [&](int j, int i) {
      return flow[row + 1 + j * detail::kGuidedStep][column + 1 + i * detail::kGuidedStep];
    };
    const float center = color[row + 1 + kReach][column + 1 + kReach];
    float weight[kSide * kSide];
    float sum = 1e-20f;
    float2 mean = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        const int at_row = row + 1 + j * detail::kGuidedStep;
        const int at_column = column + 1 + i * detail::kGuidedStep;
        const float q = inverse_of(1.0f + squared(color[at_row][at_column] - center));
        const float distance = detail::guided_share(i - 2) * detail::guided_share(j - 2);
        const float t = q * q * distance * trust[at_row][at_column];
        const float2 w = sample(j, i);
        weight[j * kSide + i] = t;
        sum += t;
        mean = make_float2(mean.x + t * w.x, mean.y + t * w.y);
      }
    }
    float scale = inverse_of(sum);
    mean = make_float2(scale * mean.x, scale * mean.y);
    for (int k = 0; k < a.reweightings; ++k) {
      float2 next = make_float2(0.0f, 0.0f);
      sum = 1e-20f;
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
          const float2 w = sample(j, i);
          const float t =
              weight[j * kSide + i] *
              rsqrtf(squared(w.x - mean.x) + (squared(w.y - mean.y) + detail::kGuidedWidth));
          sum += t;
          next = make_float2(next.x + t * w.x, next.y + t * w.y);
        }
      }
      scale = inverse_of(sum);
      mean = make_float2(scale * next.x, scale * next.y);
    }
    float confidence = 0.0f;
    if (a.confidence != nullptr)
      confidence = a.confidence[(y0 + row) * a.level.stride + x0 + column] *
                   (trust[row + 1 + kReach][column + 1 + kReach] - detail::kLeastTrust);
    write_flow(a, bad, to_x, to_y, mean, confidence);
  }
  end_frame(a);
}
static_assert(kPyramidThreads == kWidth * kGuidedTileHeight);

}  // namespace

Kernel<FlowArguments> candidate_kernel() noexcept {
  return candidates;
}
Kernel<SystemArguments> system_kernel(int height) noexcept {
  return height == kLowSystemTile ? set_up_system<kLowSystemTile> : set_up_system<kHighSystemTile>;
}
Kernel<SweepArguments> sweep_kernel(int variant) noexcept {
  static constexpr Kernel<SweepArguments> kKernels[] = {sweeps<0>, sweeps<1>, sweeps<2>, sweeps<3>,
                                                        sweeps<4>};
  static_assert(std::size(kKernels) == std::size(kSweepVariants));
  return kKernels[variant];
}
Kernel<GuidedMedianArguments> guided_median_kernel() noexcept {
  return guided_median;
}

}  // namespace ocellus::cuda
