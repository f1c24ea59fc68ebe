// What the threads of a block do together.
#pragma once

namespace ocellus::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Lanes before the own one.
__device__ inline unsigned lanes_before() {
  return (1u << (threadIdx.x % kWarp)) - 1u;
}

/// Combines the values of all threads with `combine`, which must be associative and commutative.
/// The threads of the first warp get the result. All threads of the block must call it. The next
/// call needs a barrier of the block between.
template <int kThreads, int kCount, typename T, typename Combine>
__device__ void combine_to_first_warp(T (&values)[kCount], const Combine& combine) {
  constexpr int kWarps = kThreads / kWarp;
  static_assert((kWarps & (kWarps - 1)) == 0 && kWarps <= kWarp);
  __shared__ T of_warps[kWarps][kCount];
  const auto exchange = [&](int from) {
#pragma unroll
    for (int offset = from; offset > 0; offset /= 2)
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        values[i] = combine(values[i], __shfl_xor_sync(kAllLanes, values[i], offset));
  };
  exchange(kWarp / 2);
  if (threadIdx.x % kWarp == 0)
    for (int i = 0; i < kCount; ++i) of_warps[threadIdx.x / kWarp][i] = values[i];
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
#pragma unroll
  for (int i = 0; i < kCount; ++i) values[i] = of_warps[threadIdx.x % kWarps][i];
  exchange(kWarps / 2);
}

/// As above, but all threads get the result, and the next call needs no barrier.
template <int kThreads, int kCount, typename T, typename Combine>
__device__ void combine_block(T (&values)[kCount], const Combine& combine) {
  __shared__ T result[kCount];
  combine_to_first_warp<kThreads>(values, combine);
  if (threadIdx.x == 0)
    for (int i = 0; i < kCount; ++i) result[i] = values[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kCount; ++i) values[i] = result[i];
}

}  // namespace ocellus::cuda
