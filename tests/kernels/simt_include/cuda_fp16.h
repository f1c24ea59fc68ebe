// For kernels that run on the host (kernels/simt.h): half precision that is read. What rounds to it
// is declared only, so a kernel that uses that does not link.
#pragma once

#include "neocognitron/half.h"

struct __half {
  unsigned short bits;
};
struct __half2_raw {
  unsigned short x;
  unsigned short y;
};
struct __half2 {
  __half x;
  __half y;

  explicit __half2(const __half2_raw& raw) : x{raw.x}, y{raw.y} {}
};
inline float __half2float(__half value) {
  return ocellus::detail::float_from_half(value.bits);
}
inline float2 __half22float2(__half2 halves) {
  return {__half2float(halves.x), __half2float(halves.y)};
}
__half2 __floats2half2_rn(float first, float second);
__half __float2half_rn(float value);
