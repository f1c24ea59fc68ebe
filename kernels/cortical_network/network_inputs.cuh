// The inputs of a hypercolumn, and what its warp adds up.
#pragma once

#include "cortical_network/network_arithmetic.h"
#include "kernels/core/block.cuh"
#include "kernels/cortical_network/network.h"

namespace ocellus::cuda {

/// The level of a hypercolumn, counted over all levels.
__device__ inline int level_of(const NetworkBase& a, int hypercolumn) {
  int level = 0;
  while (level + 1 < a.level_count && a.levels[level + 1].first <= hypercolumn) ++level;
  return level;
}

/// The cell that is active at a pixel, or -1: lgn_cells() of lib/cortical_network/hypercolumn.h.
__device__ inline int lgn_cell(const NetworkBase& a, int x, int y) {
  const auto at = [&](int px, int py) {
    return static_cast<int>(a.image[static_cast<std::size_t>(py) * a.width + px]);
  };
  const int pixel = at(x, y);
  if (a.lgn == LgnTransform::kLevel) return pixel >= a.lgn_threshold ? 0 : 1;
  const int left = max(x - 1, 0);
  const int right = min(x + 1, a.width - 1);
  const int above = max(y - 1, 0);
  const int below = min(y + 1, a.height - 1);
  const int neighbors = at(left, above) + at(x, above) + at(right, above) + at(left, y) +
                        at(right, y) + at(left, below) + at(x, below) + at(right, below);
  return detail::contrast_cell(pixel, neighbors, a.lgn_threshold);
}

/// The window of a hypercolumn.
struct Window {
  const NetworkBase& a;
  const detail::LevelPlan& l;
  const std::int32_t* winners;  ///< of the level below
  int left;
  int top;

  __device__ Window(const NetworkBase& network, const detail::LevelPlan& level,
                    const std::int32_t* of_network, int hypercolumn)
      : a(network), l(level), winners(of_network), left(hypercolumn * level.stride_x), top(0) {
    // Most levels of a tree are a row, and divisions are slow.
    if (level.columns == level.hypercolumns) return;
    left = hypercolumn % level.columns * level.stride_x;
    top = hypercolumn / level.columns * level.stride_y;
  }

  __device__ int points() const { return l.window_width * l.window_height; }
  /// The active cell of a grid point, or -1.
  __device__ int active_cell(int point) const {
    int x = left + point;
    int y = top;
    if (l.window_height > 1) {
      x = left + point % l.window_width;
      y = top + point / l.window_width;
    }
    // Blocks of the same launch may have written the winners.
    return l.below_first < 0 ? lgn_cell(a, x, y)
                             : __ldcg(winners + l.below_first + y * l.below_columns + x);
  }
  __device__ bool is_active(int input) const {
    const int point = input / l.below_cells;
    return active_cell(point) == input - point * l.below_cells;
  }
};

/// Grid points whose active inputs are listed at once.
inline constexpr int kListPoints = 256;

/// Calls `write(input, minicolumn, weight)` for the initial weights of a hypercolumn, in turn by
/// all threads of the block.
template <typename Write>
__device__ void for_each_initial_weight(const NetworkBase& a, const detail::LevelPlan& l,
                                        int hypercolumn, const Write& write) {
  const int quarters = (l.minicolumns + 3) / 4;
  for (int q = static_cast<int>(threadIdx.x); q < l.inputs * quarters;
       q += static_cast<int>(blockDim.x)) {
    // Neighboring threads have neighboring inputs.
    const int input = q % l.inputs;
    const int quarter = q / l.inputs;
    const auto words = detail::initial_words(a.seed, static_cast<std::uint32_t>(input),
                                             static_cast<std::uint32_t>(hypercolumn),
                                             static_cast<std::uint32_t>(quarter));
    for (int k = 0; k < 4 && 4 * quarter + k < l.minicolumns; ++k)
      write(input, 4 * quarter + k,
            detail::initial_weight(words[static_cast<std::size_t>(k)], a.initial_weight));
  }
}

struct WarpTeam {
  __device__ int size() const { return kWarp; }
  __device__ int rank() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ void sync() const { __syncwarp(); }
  template <typename T, typename Combine>
  __device__ T combine(T value, const Combine& with) const {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      value = with(value, __shfl_xor_sync(kAllLanes, value, offset));
    return value;
  }
};
struct Largest {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a > b ? a : b; }
};
struct Total {
  __device__ int operator()(int a, int b) const { return a + b; }
};

__device__ inline int sum_of_lanes(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
  return WarpTeam().combine(value, Total());
#endif
}
__device__ inline unsigned and_of_lanes(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_and_sync(kAllLanes, value);
#else
  return WarpTeam().combine(value, [](unsigned a, unsigned b) { return a & b; });
#endif
}
__device__ inline unsigned or_of_lanes(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAllLanes, value);
#else
  return WarpTeam().combine(value, [](unsigned a, unsigned b) { return a | b; });
#endif
}

}  // namespace ocellus::cuda
