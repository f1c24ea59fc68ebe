// Runs a kernel with a bug, to show that compute-sanitizer finds it:
//   test_kernels_planted memcheck|racecheck|initcheck|synccheck
// Without a sanitizer the exit status is 0, or the device stops the program. Without a device it
// is 77.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "kernels/trouble_kernels.h"

int main(int count, char** arguments) {
  using namespace ocellus::test;
  const char* bug = count == 2 ? arguments[1] : "";
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no CUDA device");
    return 77;
  }
  constexpr std::size_t kBytes = 32 * sizeof(float);
  float* data = nullptr;
  float* unwritten = nullptr;
  if (cudaMalloc(&data, kBytes) != cudaSuccess || cudaMalloc(&unwritten, kBytes) != cudaSuccess ||
      cudaMemset(data, 0, kBytes) != cudaSuccess)
    return 1;
  cudaError_t error = cudaSuccess;
  if (std::strcmp(bug, "memcheck") == 0) {
    error = launch_write_behind_the_end(data, nullptr);
  } else if (std::strcmp(bug, "racecheck") == 0) {
    error = launch_race(data, nullptr);
  } else if (std::strcmp(bug, "initcheck") == 0) {
    error = launch_read_of_nothing(unwritten, data, nullptr);
  } else if (std::strcmp(bug, "synccheck") == 0) {
    error = launch_divergent_barrier(data, nullptr);
  } else {
    std::fprintf(stderr, "usage: %s memcheck|racecheck|initcheck|synccheck\n", arguments[0]);
    return 2;
  }
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  std::printf("%s: %s\n", bug, cudaGetErrorString(error));
  return 0;
}
