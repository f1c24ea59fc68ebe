// Reads and writes several neighboring pixels or coefficients at once.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

namespace ocellus::cuda {

/// Values of N neighboring pixels in one lane. In memory they are aligned to their total size.
template <int N>
struct Values {
  float of[N];
};

/// The vector that N values of type T, float or __half, have in memory.
template <typename T, int N>
using Packed = std::conditional_t<sizeof(T) == 4, std::conditional_t<N == 4, float4, float2>,
                                  std::conditional_t<N == 4, uint2, unsigned>>;

__device__ inline float2 unpack_halves(unsigned bits) {
  return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
__device__ inline unsigned pack_halves(float first, float second) {
  const __half2 pair = __floats2half2_rn(first, second);
  return *reinterpret_cast<const unsigned*>(&pair);
}
__device__ inline Values<2> unpack(float2 bits) {
  return {bits.x, bits.y};
}
__device__ inline Values<4> unpack(float4 bits) {
  return {bits.x, bits.y, bits.z, bits.w};
}
__device__ inline Values<2> unpack(unsigned bits) {
  return unpack(unpack_halves(bits));
}
__device__ inline Values<4> unpack(uint2 bits) {
  const float2 low = unpack_halves(bits.x);
  const float2 high = unpack_halves(bits.y);
  return {low.x, low.y, high.x, high.y};
}

template <int N, typename T>
__device__ inline Values<N> load(const T* from) {
  return unpack(*reinterpret_cast<const Packed<T, N>*>(from));
}
/// Loads data from global memory that is not read again soon.
template <int N, typename T>
__device__ inline Values<N> load_once(const T* from) {
  return unpack(__ldcs(reinterpret_cast<const Packed<T, N>*>(from)));
}
__device__ inline void store(const Values<2>& values, float* to) {
  *reinterpret_cast<float2*>(to) = make_float2(values.of[0], values.of[1]);
}
__device__ inline void store(const Values<4>& values, float* to) {
  *reinterpret_cast<float4*>(to) =
      make_float4(values.of[0], values.of[1], values.of[2], values.of[3]);
}
__device__ inline void store(const Values<2>& values, __half* to) {
  *reinterpret_cast<unsigned*>(to) = pack_halves(values.of[0], values.of[1]);
}
__device__ inline void store(const Values<4>& values, __half* to) {
  *reinterpret_cast<uint2*>(to) =
      make_uint2(pack_halves(values.of[0], values.of[1]), pack_halves(values.of[2], values.of[3]));
}
/// Returns the value after rounding to the storage type.
template <typename T>
__device__ inline float as_stored(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return __half2float(__float2half_rn(value));
  }
}

}  // namespace ocellus::cuda
