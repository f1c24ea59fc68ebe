// Kernels of a program beside the library: one that does not end, and kernels with bugs.
#pragma once

#include <cuda_runtime_api.h>

namespace ocellus::test {

/// Runs until `*stop`, in memory that the host can write, is not 0.
cudaError_t launch_until(const volatile int* stop, cudaStream_t stream);
/// The same in several blocks, each with this much shared memory.
cudaError_t launch_blocks_until(const volatile int* stop, int blocks, int shared_bytes,
                                cudaStream_t stream);
/// Writes to an illegal address. The process loses the device.
cudaError_t launch_illegal_address(cudaStream_t stream);

// A bug for each tool of compute-sanitizer. `data` holds 32 floats.
cudaError_t launch_write_behind_the_end(float* data, cudaStream_t stream);  // memcheck
cudaError_t launch_race(float* data, cudaStream_t stream);                  // racecheck
cudaError_t launch_read_of_nothing(const float* unwritten, float* data, cudaStream_t stream);
cudaError_t launch_divergent_barrier(float* data, cudaStream_t stream);  // synccheck

}  // namespace ocellus::test
