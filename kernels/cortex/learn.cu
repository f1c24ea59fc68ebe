// Learning of the features of a classifier. Minicolumns share nothing, so that a warp needs no
// other one, and the order of the patches is kept.
#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/kernels.h"

namespace ocellus::cuda {
namespace {

/// Whether input i of a hypercolumn is active in a patch; x0, y0: the first point of its window.
__device__ bool is_active(const LearnArguments& a, int patch, int hypercolumn, int x0, int y0,
                          int i) {
  if (a.cells != nullptr && a.arrays.fields != nullptr)
    return a.cells[patch * a.pixels + a.arrays.fields[hypercolumn * a.level.inputs + i]] != 0;
  const int point = a.cells != nullptr ? i : i / a.level.below_cells;
  const int below = (y0 + point / a.level.window_width) * a.level.below_columns + x0 +
                    point % a.level.window_width;
  if (a.cells != nullptr) return a.cells[patch * a.pixels + below] != 0;
  return a.winners[patch * a.hypercolumns + a.level.below_first + below] == i % a.level.below_cells;
}

/// derive_weights() of lib/cortex/hebbian_features.h, by a warp.
__device__ void derive_weights(const LearnArguments& a, int hypercolumn, int m,
                               const std::uint32_t* p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int8_t* const weights =
      a.arrays.weights + static_cast<std::size_t>(hypercolumn) * a.level.inputs * a.level.padded;
  std::int64_t sum = 0;
  for (int i = lane; i < a.level.inputs; i += kWarp) {
    const std::size_t entry = detail::ProbabilityTables::index(p[i]);
    weights[static_cast<std::size_t>(i) * a.level.padded + m] = a.tables->weight[entry];
    sum += a.tables->bias[entry];
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (lane == 0)
    a.arrays.bias[static_cast<std::size_t>(hypercolumn) * a.level.padded + m] =
        detail::bias_of_terms(sum);
}

/// Whether the winner of a patch wins a later one. All lanes of a warp look together.
__device__ bool wins_again(const int* winners, int patch, int patches) {
  bool found = false;
  for (int base = patch + 1; base < patches && !found; base += kWarp) {
    const int later = base + static_cast<int>(threadIdx.x) % kWarp;
    found = __ballot_sync(kAllLanes, later < patches && winners[later] == winners[patch]) != 0;
  }
  return found;
}

__global__ void __launch_bounds__(kLearnThreads) learn(const __grid_constant__ LearnArguments a) {
  /// The winner of each patch; -1: the patch teaches nothing.
  __shared__ int winners[kMaxCortexPatches];
  wait_for_kernels_before();
  let_next_begin();
  if (a.state->bad != 0 || *a.enabled == 0) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int hypercolumn = static_cast<int>(blockIdx.x);
  for (int patch = thread; patch < a.patches; patch += kLearnThreads) {
    winners[patch] = a.has_ink[patch] == 0
                         ? -1
                         : a.winners[patch * a.hypercolumns + a.level.first + hypercolumn];
  }
  __syncthreads();
  const int warp = thread / kWarp;
  const int x0 = hypercolumn % a.level.columns * a.level.stride_x;
  const int y0 = hypercolumn / a.level.columns * a.level.stride_y;
  const std::size_t begin = static_cast<std::size_t>(hypercolumn) * a.level.inputs * a.level.padded;
  for (int patch = 0; patch < a.patches; ++patch) {
    const int m = winners[patch];
    if (m < 0 || m % kLearnWarps != warp) continue;
    std::uint32_t* const p =
        a.arrays.probabilities + begin + static_cast<std::size_t>(m) * a.level.inputs;
    for (int i = thread % kWarp; i < a.level.inputs; i += kWarp)
      p[i] = detail::moved_probability(p[i], is_active(a, patch, hypercolumn, x0, y0, i), a.rate);
    // w and b depend on P alone: once is enough, after the last patch that m has won.
    if (!wins_again(winners, patch, a.patches)) derive_weights(a, hypercolumn, m, p);
  }
}

}  // namespace

const Kernel<LearnArguments> kLearnKernel = learn;

}  // namespace ocellus::cuda
