// Kernels of a frame that begin before the previous one has ended (CudaOperator::launch with
// `overlap`).
#pragma once

namespace ocellus::cuda {

/// Permits the next kernel of the frame to start on free multiprocessors. Until it calls
/// wait_for_kernels_before(), it may read only what previous kernels do not change: its arguments,
/// and the head and the count of the temporal state.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
/// Waits until all previous kernels of the frame have ended and their results are visible.
__device__ inline void wait_for_kernels_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Both, for a kernel behind others: the next one starts when the last one before has ended.
__device__ inline void take_turn() {
  wait_for_kernels_before();
  let_next_begin();
}

}  // namespace ocellus::cuda
