// The tasks of the programs of section 9 of Nere, Franey, Hashmi and Lipasti (2012).
#include "bench/papers/core/paper_examples.h"
#include "bench/papers/core/paper_layers.cuh"
#include "kernels/core/block.cuh"

namespace ocellus::paper {
namespace {

using cuda::kAllLanes;
using cuda::kWarp;

struct Total {
  __device__ float operator()(float a, float b) const { return a + b; }
};

}  // namespace

/// The sum of the values from task * fan_in on.
__device__ void compute_task(const ReductionArguments& a, int layer, int task, const float* below,
                             float* own) {
  constexpr int kSums = 4;
  const int values = layer == 0 ? a.inputs : a.layers[layer - 1].results;
  const int begin = task * a.fan_in;
  const int end = min(begin + a.fan_in, values);
  float sums[kSums] = {};
  int at = begin + static_cast<int>(threadIdx.x);
  for (; at + (kSums - 1) * kLayerThreads < end; at += kSums * kLayerThreads)
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[k] += below[at + k * kLayerThreads];
  for (; at < end; at += kLayerThreads) sums[0] += below[at];
  float sum[1] = {(sums[0] + sums[1]) + (sums[2] + sums[3])};
  cuda::combine_to_first_warp<kLayerThreads>(sum, Total());
  if (threadIdx.x == 0) own[task] = sum[0];
}

/// A warp computes a neuron.
__device__ void compute_task(const FeedForwardArguments& a, int layer, int task, const float* below,
                             float* own) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int neuron = task * kTaskNeurons + static_cast<int>(threadIdx.x) / kWarp;
  const int inputs = a.sizes[layer];
  if (neuron >= a.sizes[layer + 1]) return;
  const float* const weights = a.weights[layer] + std::int64_t{neuron} * inputs;
  float sum = 0.0f;
#pragma unroll 4
  for (int i = lane; i < inputs; i += kWarp) sum += weights[i] * below[i];
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (lane == 0) own[neuron] = tanhf(sum + a.bias[layer][neuron]);
}

LayerKernels<ReductionArguments> layer_kernels(const ReductionArguments&) noexcept {
  return kernels_of<ReductionArguments>();
}
LayerKernels<FeedForwardArguments> layer_kernels(const FeedForwardArguments&) noexcept {
  return kernels_of<FeedForwardArguments>();
}

}  // namespace ocellus::paper
