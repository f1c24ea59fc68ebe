// What the threads of a block do together.
#pragma once

namespace ocellus::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Lanes before the own one.
__device__ inline unsigned lanes_before() {
  return (1u << (threadIdx.x % kWarp)) - 1u;
}

/// Combines the values of all threads with `combine`, which must be commutative. All threads get
/// the result. All threads of the block must call it.
template <int kThreads, int kCount, typename T, typename Combine>
__device__ void combine_block(T (&values)[kCount], const Combine& combine) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ T of_warps[kWarps][kCount];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      values[i] = combine(values[i], __shfl_xor_sync(kAllLanes, values[i], offset));
  if (threadIdx.x % kWarp == 0)
    for (int i = 0; i < kCount; ++i) of_warps[threadIdx.x / kWarp][i] = values[i];
  __syncthreads();
  for (int i = 0; i < kCount; ++i) {
    values[i] = of_warps[0][i];
    for (int w = 1; w < kWarps; ++w) values[i] = combine(values[i], of_warps[w][i]);
  }
  // The next call may use the same memory.
  __syncthreads();
}

}  // namespace ocellus::cuda
