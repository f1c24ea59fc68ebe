// A step of a cortical network, level by level.
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/network_step.cuh"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(kNetworkThreads)
    start_network(const __grid_constant__ NetworkArguments a) {
  const int hypercolumn = static_cast<int>(blockIdx.x);
  int level = 0;
  while (level + 1 < a.level_count && a.levels[level + 1].first <= hypercolumn) ++level;
  const NetworkLevel& l = a.levels[level];
  const std::int64_t h = hypercolumn - l.first;
  const int thread = static_cast<int>(threadIdx.x);
  for (int m = thread; m < l.padded; m += kNetworkThreads) {
    const std::int64_t at = l.minicolumns_at + h * l.padded + m;
    // Initial weights are at most 0.2, which does not count.
    a.omega[at] = 0;
    a.wins[at] = 0;
    a.settled[at] = 0;
    if (a.responses != nullptr) a.responses[at] = 0;
  }
  if (thread == 0) {
    a.winners[hypercolumn] = kSilent;
    a.winners[a.hypercolumns + hypercolumn] = kSilent;
    a.done[hypercolumn] = 0;
  }
  const int quarters = l.padded / 4;
  std::uint16_t* const weights = a.weights + l.weights_at + h * l.inputs * l.padded;
  for (int q = thread; q < l.inputs * quarters; q += kNetworkThreads) {
    const int input = q / quarters;
    const int quarter = q % quarters;
    const auto words = detail::initial_words(a.seed, static_cast<std::uint32_t>(input),
                                             static_cast<std::uint32_t>(hypercolumn),
                                             static_cast<std::uint32_t>(quarter));
    for (int k = 0; k < 4; ++k) {
      const int m = 4 * quarter + k;
      weights[std::int64_t{input} * l.padded + m] = static_cast<std::uint16_t>(
          m < l.minicolumns
              ? detail::initial_weight(words[static_cast<std::size_t>(k)], a.initial_weight)
              : 0);
    }
  }
}

/// A step of a hypercolumn that reads and writes the first half of the winners.
template <typename Team, typename Memory>
__device__ void step_in_place(const Team& team, const NetworkArguments& a, const NetworkLevel& l,
                              int hypercolumn, std::uint64_t step, bool learns, Memory& memory) {
  step_hypercolumn<VectorRows>(team, a, l, hypercolumn, step, learns, a.winners, memory,
                               [&](int winner) { a.winners[l.first + hypercolumn] = winner; });
}

__global__ void __launch_bounds__(kNetworkThreads)
    step_by_blocks(const __grid_constant__ LevelArguments a) {
  __shared__ TeamMemory<kMaxMinicolumns> memory;
  wait_for_kernels_before();
  let_next_begin();
  step_in_place(BlockTeam(), a.network, a.network.levels[a.level], static_cast<int>(blockIdx.x),
                a.network.step->number, a.network.step->learn != 0, memory);
}

__global__ void __launch_bounds__(kNetworkThreads)
    step_by_warps(const __grid_constant__ LevelArguments a) {
  __shared__ TeamMemory<kWarpMinicolumns> memory[kBlockWarps];
  wait_for_kernels_before();
  let_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int hypercolumn = static_cast<int>(blockIdx.x) * kBlockWarps + warp;
  const NetworkLevel& l = a.network.levels[a.level];
  if (hypercolumn >= l.hypercolumns) return;
  step_in_place(WarpTeam(), a.network, l, hypercolumn, a.network.step->number,
                a.network.step->learn != 0, memory[warp]);
}

__global__ void __launch_bounds__(kTopThreads) step_top(const __grid_constant__ LevelArguments a) {
  __shared__ TeamMemory<kWarpMinicolumns> memory[kTopThreads / kWarp];
  wait_for_kernels_before();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::uint64_t number = a.network.step->number;
  const bool learns = a.network.step->learn != 0;
  for (int level = a.level; level < a.network.level_count; ++level) {
    const NetworkLevel& l = a.network.levels[level];
    for (int h = warp; h < l.hypercolumns; h += kTopThreads / kWarp)
      step_in_place(WarpTeam(), a.network, l, h, number, learns, memory[warp]);
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0 && learns) a.network.step->number = number + 1;
}

}  // namespace

Kernel<NetworkArguments> network_start_kernel() noexcept {
  return start_network;
}
Kernel<LevelArguments> network_block_kernel() noexcept {
  return step_by_blocks;
}
Kernel<LevelArguments> network_warp_kernel() noexcept {
  return step_by_warps;
}
Kernel<LevelArguments> network_top_kernel() noexcept {
  return step_top;
}

}  // namespace ocellus::cuda
