// Reads and writes pixels on the device.
#pragma once

#include <cstdint>

namespace ocellus::cuda {

template <typename Pixel>
__device__ inline float pixel_at(const void* image, std::int64_t stride, int x, int y) {
  return static_cast<float>(
      reinterpret_cast<const Pixel*>(static_cast<const char*>(image) + y * stride)[x]);
}

template <typename T>
__device__ inline T* row_at(T* plane, std::int64_t stride, int y) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(plane) + y * stride);
}

template <typename T>
__device__ inline const T* row_at(const T* plane, std::int64_t stride, int y) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(plane) + y * stride);
}

__device__ inline int clamp_to(int value, int size) {
  return min(max(value, 0), size - 1);
}

}  // namespace ocellus::cuda
