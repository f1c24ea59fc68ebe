// What the threads of a block do together in the layers.
#pragma once

#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/neocognitron/kernels.h"

namespace ocellus::cuda {

/// The body of a kernel: calls `compute(candidate)` for the candidates that are present. Blocks
/// take them in turn along y, so that a frame with few candidates needs few blocks.
template <typename Compute>
__device__ void for_each_candidate(const CandidateArrays& candidates, const Compute& compute) {
  take_turn();
  const int present = *candidates.present;
  for (int c = static_cast<int>(blockIdx.y); c < present; c += static_cast<int>(gridDim.y)) {
    compute(c);
    // The next candidate uses the same shared memory. Without one, warps may end alone.
    if (c + static_cast<int>(gridDim.y) < present) __syncthreads();
  }
}

/// Ends a block of a layer, after it has written its cells. `found`, in shared memory, is the
/// number of its active cells. True in the last block of the candidate, which sees what all blocks
/// wrote if it reads with __ldcg; `total` is then the number of all active cells. All threads must
/// call it.
__device__ inline bool is_last_block(unsigned long long* progress, const unsigned& found,
                                     unsigned& total) {
  __shared__ unsigned long long before;
  __syncthreads();
  if (threadIdx.x == 0) {
    // Fences are cumulative: with the barriers, those of one thread are those of the block.
    __threadfence();
    before = atomicAdd(progress, (1ull << 32u) | found);
    if (static_cast<unsigned>(before >> 32u) == gridDim.x - 1) {
      *progress = 0;
      __threadfence();
    }
  }
  __syncthreads();
  total = static_cast<unsigned>(before) + found;
  return static_cast<unsigned>(before >> 32u) == gridDim.x - 1;
}

/// Finds the items beyond the first `capacity` cells. `count(i)` is the number of cells of item i.
/// Calls `cut(i, kept)` for the items that lose cells. All threads must call it.
template <int kThreads, typename Count, typename Cut>
__device__ void cut_cells(int items, unsigned capacity, const Count& count, const Cut& cut) {
  __shared__ unsigned of_threads[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int each = (items + kThreads - 1) / kThreads;
  const int begin = min(thread * each, items);
  const int end = min(begin + each, items);
  unsigned own = 0;
  for (int i = begin; i < end; ++i) own += count(i);
  of_threads[thread] = own;
  __syncthreads();
  unsigned before = 0;
  for (int t = 0; t < thread; ++t) before += of_threads[t];
  for (int i = begin; i < end; ++i) {
    const unsigned cells = count(i);
    if (cells > 0 && before + cells > capacity) cut(i, before < capacity ? capacity - before : 0u);
    before += cells;
  }
}

}  // namespace ocellus::cuda
