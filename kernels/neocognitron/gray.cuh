// Pixels as gray levels of 8 bits.
#pragma once

#include <cstdint>

namespace ocellus::cuda {

/// A pixel in gray levels of 8 bits, as write_gray_row() of the host has it.
__device__ inline int gray_of(std::uint8_t pixel) {
  return pixel;
}
__device__ inline int gray_of(std::uint16_t pixel) {
  return pixel >> 8;
}
__device__ inline int gray_of(float pixel) {
  // A comparison with NaN is false, so that NaN becomes 0.
  const float limited = pixel > 0.0f ? fminf(pixel, 255.0f) : 0.0f;
  return static_cast<int>(roundf(limited));
}

/// The threads of a block copy a row of bytes, in words where both rows consist of them.
template <int kThreads>
__device__ void copy_row(const std::uint8_t* from, std::uint8_t* to, int bytes) {
  constexpr int kWord = sizeof(std::uint32_t);
  const auto thread = static_cast<int>(threadIdx.x);
  const auto address =
      reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  if ((address | static_cast<std::uintptr_t>(bytes)) % kWord == 0) {
    for (int i = thread; i < bytes / kWord; i += kThreads)
      reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
  } else {
    for (int i = thread; i < bytes; i += kThreads) to[i] = from[i];
  }
}

}  // namespace ocellus::cuda
