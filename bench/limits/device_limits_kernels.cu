#include "bench/limits/device_limits_kernels.h"

namespace ocellus::cuda {
namespace {

/// Number of 16-byte accesses that a thread has in flight.
constexpr int kInFlight = 8;

__global__ void __launch_bounds__(kStreamingThreads)
    fill(const __grid_constant__ LimitArguments a) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamingThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamingThreads + threadIdx.x;
       i < a.vectors; i += step) {
    const auto number = [&](unsigned k) {
      const unsigned hash = (static_cast<unsigned>(i) * 4 + k) * 2654435761u;
      return static_cast<float>(hash >> 8) * 0x1p-24f;
    };
    a.block[i] = make_float4(number(0), number(1), number(2), number(3));
  }
}

__global__ void __launch_bounds__(kStreamingThreads)
    read_block(const __grid_constant__ LimitArguments a) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamingThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamingThreads + threadIdx.x;
  float sum = 0.0f;
  for (; i + (kInFlight - 1) * step < a.vectors; i += kInFlight * step) {
    float4 some[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) some[k] = __ldcs(a.block + i + k * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) sum += some[k].x + some[k].y + some[k].z + some[k].w;
  }
  for (; i < a.vectors; i += step) sum += a.block[i].x;
  if (sum < 0.0f)
    // Never reached, but the compiler cannot know this.
    *a.outcome = static_cast<std::int64_t>(sum);
}

__global__ void __launch_bounds__(kStreamingThreads)
    copy_block(const __grid_constant__ LimitArguments a) {
  const std::int64_t half = a.vectors / 2;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamingThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamingThreads + threadIdx.x;
  for (; i + (kInFlight - 1) * step < half; i += kInFlight * step) {
    float4 some[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) some[k] = __ldcs(a.block + half + i + k * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) __stcs(a.block + i + k * step, some[k]);
  }
  for (; i < half; i += step) a.block[i] = a.block[half + i];
}

__global__ void __launch_bounds__(kMultiplyThreads)
    multiply_add(const __grid_constant__ LimitArguments a) {
  const std::int64_t begin = clock64();
  const float factor = 0.999999f;
  const float term = 1e-6f;
  float chain[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) chain[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 16
  for (int round = 0; round < a.rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) chain[c] = fmaf(chain[c], factor, term);
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += chain[c];
  __syncthreads();  // because the first warp runs ahead of the others
  const std::int64_t end = clock64();
  if (blockIdx.x == 0 && threadIdx.x == 0) *a.outcome = end - begin;
  if (sum < 0.0f) *a.outcome = static_cast<std::int64_t>(sum);
}

}  // namespace

const LimitKernel kFillKernel = fill;
const LimitKernel kReadKernel = read_block;
const LimitKernel kCopyKernel = copy_block;
const LimitKernel kMultiplyAddKernel = multiply_add;

}  // namespace ocellus::cuda
