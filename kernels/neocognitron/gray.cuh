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

}  // namespace ocellus::cuda
