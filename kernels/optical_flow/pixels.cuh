// Reading pixels and coefficients on the device.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace ocellus::cuda {

template <typename Pixel>
__device__ inline float pixel_at(const void* image, std::int64_t stride, int x, int y) {
  return static_cast<float>(
      reinterpret_cast<const Pixel*>(static_cast<const char*>(image) + y * stride)[x]);
}

__device__ inline float* row_at(float* plane, std::int64_t stride, int y) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(plane) + y * stride);
}

__device__ inline int clamp_to(int value, int size) {
  return min(max(value, 0), size - 1);
}

// Two neighbouring coefficients, read once.
__device__ inline float2 load_pair(const float* from) {
  return __ldcs(reinterpret_cast<const float2*>(from));
}
__device__ inline float2 load_pair(const __half* from) {
  return __half22float2(__ldcs(reinterpret_cast<const __half2*>(from)));
}
__device__ inline void store_pair(float2 pair, float* to) {
  *reinterpret_cast<float2*>(to) = pair;
}
__device__ inline void store_pair(float2 pair, __half* to) {
  *reinterpret_cast<__half2*>(to) = __float22half2_rn(pair);
}
/// The value as it comes back from where it is stored.
template <typename T>
__device__ inline float2 as_stored(float2 pair) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return pair;
  } else {
    return __half22float2(__float22half2_rn(pair));
  }
}

}  // namespace ocellus::cuda
