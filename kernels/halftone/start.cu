// Computes the initial outputs of a run.
#include "kernels/halftone/cells.cuh"

namespace ocellus::cuda {
namespace {

using detail::kDiffusionTileHeight;
using detail::kDiffusionTileWidth;
using detail::kInputOne;

/// True if the frame starts with the outputs that the previous frame has left.
__device__ bool is_warm(const StartArguments& a) {
  return a.kept != nullptr && *static_cast<const volatile int*>(&a.state->count) > 0;
}

__device__ void copy_kept(const StartArguments& a, int x, int y) {
  *reinterpret_cast<std::uint32_t*>(a.to.k + y * a.to.pitch + x) =
      *reinterpret_cast<const std::uint32_t*>(a.kept + y * a.to.pitch + x);
}

__global__ void __launch_bounds__(kStartThreads) start(const __grid_constant__ StartArguments a) {
  const int quads = (a.to.width + kStartCells - 1) / kStartCells;
  const int x = static_cast<int>(blockIdx.x * kStartThreads + threadIdx.x) % quads * kStartCells;
  const int y = static_cast<int>(blockIdx.x * kStartThreads + threadIdx.x) / quads;
  if (y >= a.to.height) return;
  if (is_warm(a)) {
    copy_kept(a, x, y);
    return;
  }
  std::uint32_t four = 0;
  for (int c = 0; c < kStartCells && x + c < a.to.width; ++c)
    four |= static_cast<std::uint32_t>(
                detail::first_output(start_state(a, x + c, y), a.levels, a.start_xi))
            << 8 * c;
  *reinterpret_cast<std::uint32_t*>(a.to.k + y * a.to.pitch + x) = four;
}

// ---- error diffusion

/// Each lane processes one row of the tile. It is this many columns behind the row above: two
/// columns that it depends on, and one for the transfer between lanes.
constexpr int kBehind = 3;
/// Distance between rows in shared memory, in cells. Lanes that are kBehind columns apart from row
/// to row then access different banks.
constexpr int kTileStride = kDiffusionTileWidth + 5;
constexpr int kSteps = kDiffusionTileWidth + kBehind * (kDiffusionTileHeight - 1);

/// One warp computes a tile, with one lane for each row. It replaces u by k.
template <bool kTwoLevels>
__device__ void diffuse_tile(std::int16_t* tile, int columns, int rows, int levels) {
  const int lane = threadIdx.x % 32;
  std::int16_t* const mine = tile + lane * kTileStride;
  const unsigned cells = lane < rows ? static_cast<unsigned>(max(columns, 0)) : 0;
  const auto is_cell = [&](int column) { return static_cast<unsigned>(column) < cells; };
  // The errors of the row above for the previous, the present and the next column, and the error of
  // the previous column.
  std::int32_t before = 0;
  std::int32_t above = 0;
  std::int32_t behind = 0;
  std::int32_t error = 0;
  int column = -kBehind * lane;
  std::int32_t u = is_cell(column) ? mine[column] : 0;
#pragma unroll 4
  for (int step = 0; step < kSteps; ++step, ++column) {
    std::int32_t coming = __shfl_up_sync(0xffffffffu, error, 1);
    if (lane == 0) coming = 0;
    const std::int32_t next = is_cell(column + 1) ? mine[column + 1] : 0;
    const std::int32_t state = u + detail::diffusion_term(before, 1) +
                               detail::diffusion_term(above, 5) +
                               detail::diffusion_term(behind, 3) + detail::diffusion_term(error, 7);
    int level = state >= 0 ? 1 : 0;
    if (!kTwoLevels) {
      // first_output() with the division by 2^14 as a shift.
      const int scaled = (state + kInputOne) * (levels - 1) + kInputOne;
      level = min(max(scaled >> (detail::kInputBits + 1), 0), levels - 1);
    }
    error = state - input_of_output(level, kTwoLevels ? 2 : levels);
    if (is_cell(column)) {
      mine[column] = static_cast<std::int16_t>(level);
    } else {
      error = 0;
    }
    before = above;
    above = behind;
    behind = coming;
    u = next;
  }
}

__global__ void __launch_bounds__(kDiffusionThreads)
    diffuse(const __grid_constant__ StartArguments a) {
  __shared__ std::int16_t tiles[kDiffusionTiles][kDiffusionTileHeight * kTileStride];
  // All threads load the tiles. Then each of the first warps computes one tile. At the end, all
  // threads store the tiles.
  constexpr int kShare = kDiffusionThreads / kDiffusionTiles;
  const int share = threadIdx.x % kShare;
  std::int16_t* const own = tiles[threadIdx.x / kShare];
  const int across = (a.to.width + kDiffusionTileWidth - 1) / kDiffusionTileWidth;
  const auto origin = [&](int tile) {
    const int index = static_cast<int>(blockIdx.x) * kDiffusionTiles + tile;
    return make_int2(index % across * kDiffusionTileWidth, index / across * kDiffusionTileHeight);
  };
  const int2 at = origin(threadIdx.x / kShare);
  const int columns = min(kDiffusionTileWidth, a.to.width - at.x);
  const int rows = min(kDiffusionTileHeight, a.to.height - at.y);  // may be negative
  constexpr int kQuads = kDiffusionTileWidth / 4;
  constexpr int kAtOnce = kDiffusionTileHeight * kQuads / kShare;
  const bool warm = is_warm(a);
  if (!warm) {
    const bool bytes = a.u.k == nullptr && a.u.format == PixelFormat::kGray8;
    const char* const image = bytes ? static_cast<const char*>(a.u.frame->image) : nullptr;
    const std::int64_t stride = bytes ? a.u.frame->image_stride : 0;
    if (bytes && (reinterpret_cast<std::uintptr_t>(image) | stride) % 4 == 0 &&
        columns == kDiffusionTileWidth) {
      std::uint32_t pixels[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = (share + i * kShare) / kQuads;
        const int x = (share + i * kShare) % kQuads * 4;
        pixels[i] =
            row < rows
                ? *reinterpret_cast<const std::uint32_t*>(image + (at.y + row) * stride + at.x + x)
                : 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = (share + i * kShare) / kQuads;
        const int x = (share + i * kShare) % kQuads * 4;
#pragma unroll
        for (int c = 0; c < 4; ++c)
          own[row * kTileStride + x + c] =
              static_cast<std::int16_t>(detail::input_of(a.u.gray, pixels[i] >> 8 * c & 0xff));
      }
    } else {
      for (int i = share; i < rows * kDiffusionTileWidth; i += kShare) {
        const int row = i / kDiffusionTileWidth;
        const int x = i % kDiffusionTileWidth;
        if (x < columns)
          own[row * kTileStride + x] =
              static_cast<std::int16_t>(input_at(a.u, at.x + x, at.y + row));
      }
    }
    __syncthreads();
    if (threadIdx.x < 32 * kDiffusionTiles) {
      const int2 mine = origin(threadIdx.x / 32);
      std::int16_t* const tile = tiles[threadIdx.x / 32];
      const int columns_of_mine = min(kDiffusionTileWidth, a.to.width - mine.x);
      const int rows_of_mine = min(kDiffusionTileHeight, a.to.height - mine.y);
      if (a.levels == 2)
        diffuse_tile<true>(tile, columns_of_mine, rows_of_mine, 2);
      else
        diffuse_tile<false>(tile, columns_of_mine, rows_of_mine, a.levels);
    }
    __syncthreads();
  }
  for (int i = share; i < rows * kQuads; i += kShare) {
    const int row = i / kQuads;
    const int x = i % kQuads * 4;
    if (x >= columns) continue;
    if (warm) {
      copy_kept(a, at.x + x, at.y + row);
      continue;
    }
    std::uint32_t four = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (x + c < columns)
        four |= static_cast<std::uint32_t>(own[row * kTileStride + x + c]) << 8 * c;
    *reinterpret_cast<std::uint32_t*>(a.to.k + (at.y + row) * a.to.pitch + at.x + x) = four;
  }
}

}  // namespace

const Kernel<StartArguments> kStartKernel = start;
const Kernel<StartArguments> kDiffusionKernel = diffuse;

}  // namespace ocellus::cuda
