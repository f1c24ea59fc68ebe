// The kernels of LayerKernels. A program defines, in namespace ocellus::paper,
//
//   void compute_task(const Arguments& a, int layer, int task, const float* below, float* own)
//
// for the device: all threads of a block compute a task of a layer from the results of the layer
// below, or from the input, and write to those of the layer.
#pragma once

#include "bench/papers/core/paper_layers.h"
#include "bench/papers/core/paper_work_queue.cuh"

namespace ocellus::paper {

__device__ inline int layer_of(const LayerArguments& a, int task) {
  int layer = 0;
  while (task >= a.layers[layer].first + a.layers[layer].tasks) ++layer;
  return layer;
}

/// `below`: results of all layers that the task may read; `own`: those that it belongs to.
template <typename Arguments>
__device__ void compute_in_layer(const Arguments& a, int layer, int task, const float* below,
                                 float* own) {
  compute_task(a, layer, task, layer == 0 ? a.input : below + a.layers[layer - 1].results_at,
               own + a.layers[layer].results_at);
}

template <typename Arguments>
__global__ void __launch_bounds__(kLayerThreads) run_layer(const __grid_constant__ Arguments a) {
  compute_in_layer(a, a.layer, static_cast<int>(blockIdx.x), a.results[0], a.results[0]);
}

template <typename Arguments>
__global__ void __launch_bounds__(kLayerThreads) run_pipeline(const __grid_constant__ Arguments a) {
  const bool even = a.launch % 2 == 0;
  for (int task = static_cast<int>(blockIdx.x); task < a.tasks;
       task += static_cast<int>(gridDim.x)) {
    const int layer = layer_of(a, task);
    compute_in_layer(a, layer, task - a.layers[layer].first, even ? a.results[1] : a.results[0],
                     even ? a.results[0] : a.results[1]);
    __syncthreads();
  }
}

template <typename Arguments>
__global__ void __launch_bounds__(kLayerThreads) run_queue(const __grid_constant__ Arguments a) {
  const WorkQueue queue{a.next, a.left, a.done, a.tasks};
  const auto wait = [&](int number) {
    const int layer = layer_of(a, number);
    if (layer == 0) return;
    const TaskLayer& below = a.layers[layer - 1];
    const int group = below.groups() == 1 ? 0 : number - a.layers[layer].first;
    const int tasks = min(below.group, below.tasks - group * below.group);
    wait_for_task(queue, below.first_group + group, (a.run + 1u) * static_cast<unsigned>(tasks));
  };
  run_tasks(queue, wait, [&](int number) {
    const int layer = layer_of(a, number);
    const TaskLayer& own = a.layers[layer];
    const int task = number - own.first;
    compute_in_layer(a, layer, task, a.results[0], a.results[0]);
    // All threads have written.
    __syncthreads();
    if (threadIdx.x == 0) publish_in_group(queue, own.first_group + task / own.group);
  });
}

template <typename Arguments>
LayerKernels<Arguments> kernels_of() noexcept {
  return {run_layer<Arguments>, run_pipeline<Arguments>, run_queue<Arguments>};
}

}  // namespace ocellus::paper
