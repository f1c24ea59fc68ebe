#include "kernels/trouble_kernels.h"

namespace ocellus::test {
namespace {

__global__ void until(const volatile int* stop) {
  while (*stop == 0) __nanosleep(1000);
}

__global__ void illegal_address() {
  *reinterpret_cast<volatile int*>(0x10) = 1;
}

__global__ void write_behind_the_end(float* data) {
  data[threadIdx.x + 1] = 1.0f;
}

__global__ void race(float* data) {
  __shared__ float shared[32];
  shared[threadIdx.x] = data[threadIdx.x];
  // The bug: without a barrier the other half may not have written yet.
  data[threadIdx.x] = shared[(threadIdx.x + 16) % 32];
}

__global__ void read_of_nothing(const float* unwritten, float* data) {
  data[threadIdx.x] = unwritten[threadIdx.x] > 0.0f ? 1.0f : 2.0f;
}

__global__ void divergent_barrier(float* data) {
  if (threadIdx.x < 16) __syncthreads();
  data[threadIdx.x] = 1.0f;
}

}  // namespace

cudaError_t launch_until(const volatile int* stop, cudaStream_t stream) {
  until<<<1, 1, 0, stream>>>(stop);
  return cudaGetLastError();
}
cudaError_t launch_blocks_until(const volatile int* stop, int blocks, int shared_bytes,
                                cudaStream_t stream) {
  if (const cudaError_t error =
          cudaFuncSetAttribute(reinterpret_cast<const void*>(until),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
      error != cudaSuccess)
    return error;
  until<<<blocks, 32, static_cast<std::size_t>(shared_bytes), stream>>>(stop);
  return cudaGetLastError();
}
cudaError_t launch_illegal_address(cudaStream_t stream) {
  illegal_address<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}
cudaError_t launch_write_behind_the_end(float* data, cudaStream_t stream) {
  write_behind_the_end<<<1, 32, 0, stream>>>(data);
  return cudaGetLastError();
}
cudaError_t launch_race(float* data, cudaStream_t stream) {
  race<<<1, 32, 0, stream>>>(data);
  return cudaGetLastError();
}
cudaError_t launch_read_of_nothing(const float* unwritten, float* data, cudaStream_t stream) {
  read_of_nothing<<<1, 32, 0, stream>>>(unwritten, data);
  return cudaGetLastError();
}
cudaError_t launch_divergent_barrier(float* data, cudaStream_t stream) {
  divergent_barrier<<<1, 32, 0, stream>>>(data);
  return cudaGetLastError();
}

}  // namespace ocellus::test
