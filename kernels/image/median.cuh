// Median of a square window.
#pragma once

namespace ocellus::cuda {

__device__ inline void order(float& a, float& b) {
  const float low = fminf(a, b);
  b = fmaxf(a, b);
  a = low;
}

/// Forgetful selection. In a set of more than half of the values, neither the smallest nor the
/// largest is the median. Both are dropped and the next value is added, until three are left. All
/// indices are template parameters, so the values stay in registers.
template <int kSize, int kLow, int kHigh, int kNext, typename Load>
__device__ float select(const Load& load, float (&held)[kHigh + 1]) {
  // Moves the smallest of held[kLow..kHigh] to kLow and the largest to kHigh.
#pragma unroll
  for (int i = 0; i <= (kHigh - kLow - 1) / 2; ++i) order(held[kLow + i], held[kHigh - i]);
#pragma unroll
  for (int i = kLow + 1; i <= (kLow + kHigh) / 2; ++i) order(held[kLow], held[i]);
#pragma unroll
  for (int i = kHigh - 1; i >= (kLow + kHigh + 1) / 2; --i) order(held[i], held[kHigh]);
  if constexpr (kHigh - kLow == 2) {
    return held[kLow + 1];
  } else {
    held[kHigh] = load(kNext / kSize, kNext % kSize);
    return select<kSize, kLow + 1, kHigh, kNext + 1>(load, held);
  }
}

/// The median of load(row, column), 0 to kSize - 1 each; kSize is 3 or 5.
template <int kSize, typename Load>
__device__ float median_of(const Load& load) {
  constexpr int kFirst = kSize * kSize / 2 + 2;
  float held[kFirst];
#pragma unroll
  for (int i = 0; i < kFirst; ++i) held[i] = load(i / kSize, i % kSize);
  return select<kSize, 0, kFirst - 1, kFirst>(load, held);
}

}  // namespace ocellus::cuda
