// The schedules of Nere, Franey, Hashmi and Lipasti (2012).
#include "kernels/core/paper_work_queue.cuh"
#include "kernels/cortex/network_step.cuh"
#include "kernels/cortex/paper_network_kernels.h"

namespace ocellus::paper {
namespace {

using cuda::kWarp;
using cuda::NetworkLevel;
using cuda::TeamMemory;

/// The threads of a block, a multiple of 32.
struct ColumnTeam {
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void sync() const { __syncthreads(); }
  template <typename T, typename Combine>
  __device__ T combine(T value, const Combine& with) const {
    __shared__ T of_warps[kMostThreads / kWarp];
    value = cuda::WarpTeam().combine(value, with);
    if (rank() % kWarp == 0) of_warps[rank() / kWarp] = value;
    __syncthreads();
    value = of_warps[0];
    for (int w = 1; w < size() / kWarp; ++w) value = with(value, of_warps[w]);
    // The next call uses the same memory.
    __syncthreads();
    return value;
  }
};

/// A thread adds the weights of its minicolumn.
struct StripedRows {
  __device__ static int place(const NetworkLevel&, int m) { return m; }
  template <typename Memory>
  __device__ static void add(const ColumnTeam& team, const NetworkLevel& l,
                             const std::uint16_t* weights, Memory& memory) {
    const int m = team.rank();
    if (m >= l.padded) return;
    std::int32_t strong = 0;
    std::int32_t weak = 0;
    for (int i = 0; i < memory.count; ++i) {
      const int weight = weights[static_cast<std::size_t>(memory.rows[i]) * l.padded + m];
      if (weight >= detail::kStrongWeight)
        strong += weight;
      else
        ++weak;
    }
    memory.strong[m] += strong;
    memory.weak[m] += weak;
  }
};

using Memory = TeamMemory<kMaxMinicolumns>;

__device__ int level_of(const NetworkArguments& a, int hypercolumn) {
  int level = 0;
  while (level + 1 < a.level_count && a.levels[level + 1].first <= hypercolumn) ++level;
  return level;
}

__global__ void __launch_bounds__(kMostThreads)
    step_level(const __grid_constant__ LevelArguments a) {
  __shared__ Memory memory;
  const NetworkLevel& l = a.network.levels[a.level];
  const int h = static_cast<int>(blockIdx.x);
  std::int32_t* const winners = a.network.winners;
  cuda::step_hypercolumn<StripedRows>(ColumnTeam(), a.network, l, h, a.network.step->number,
                                      a.network.step->learn != 0, winners, memory,
                                      [&](int winner) { winners[l.first + h] = winner; });
}

// Each launch reads one half of the winners and writes the other.
__global__ void __launch_bounds__(kMostThreads)
    step_pipeline(const __grid_constant__ PipelineArguments a) {
  __shared__ Memory memory;
  const NetworkArguments& n = a.network;
  const std::int32_t* const below = n.winners + (a.launch + 1) % 2 * n.hypercolumns;
  std::int32_t* const own = n.winners + a.launch % 2 * n.hypercolumns;
  for (int i = static_cast<int>(blockIdx.x); i < n.hypercolumns; i += static_cast<int>(gridDim.x)) {
    const int level = level_of(n, i);
    const NetworkLevel& l = n.levels[level];
    // Before its first step and behind its last one, a level has no input.
    if (a.launch < static_cast<std::uint64_t>(level)) continue;
    const std::uint64_t step = a.launch - static_cast<std::uint64_t>(level);
    if (step >= a.fed) {
      // A parent may still need the winner of the last step.
      if (threadIdx.x == 0) own[i] = below[i];
      continue;
    }
    cuda::step_hypercolumn<StripedRows>(ColumnTeam(), n, l, i - l.first, step, n.step->learn != 0,
                                        below, memory, [&](int winner) { own[i] = winner; });
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kMostThreads)
    step_queue(const __grid_constant__ NetworkArguments a) {
  __shared__ Memory memory;
  const WorkQueue queue{&a.step->next, &a.step->left, a.done, a.hypercolumns};
  const unsigned run = a.step->run + 1;
  const auto wait = [&](int task) {
    const NetworkLevel& l = a.levels[level_of(a, task)];
    if (l.below_first < 0) return;
    const cuda::Window window(a, l, a.winners, task - l.first);
    for (int y = 0; y < l.window_height; ++y)
      for (int x = 0; x < l.window_width; ++x)
        wait_for_task(queue, l.below_first + (window.top + y) * l.below_columns + window.left + x,
                      run);
  };
  run_tasks(queue, wait, [&](int task) {
    const NetworkLevel& l = a.levels[level_of(a, task)];
    cuda::step_hypercolumn<StripedRows>(ColumnTeam(), a, l, task - l.first, a.step->number,
                                        a.step->learn != 0, a.winners, memory, [&](int winner) {
                                          a.winners[task] = winner;
                                          // Before the weights change, as in algorithm 1.
                                          publish_task(queue, task, run);
                                        });
  });
}

// A kernel of its own: other blocks may still read the numbers.
__global__ void end_step(const __grid_constant__ NetworkArguments a) {
  ++a.step->run;
  if (a.step->learn != 0) ++a.step->number;
}

}  // namespace

Kernel<LevelArguments> paper_level_kernel() noexcept {
  return step_level;
}
Kernel<NetworkArguments> paper_end_kernel() noexcept {
  return end_step;
}
Kernel<PipelineArguments> paper_pipeline_kernel() noexcept {
  return step_pipeline;
}
Kernel<NetworkArguments> paper_queue_kernel() noexcept {
  return step_queue;
}

}  // namespace ocellus::paper
