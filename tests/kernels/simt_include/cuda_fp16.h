// For kernels that run on the host (kernels/simt.h): half precision is declared only, so a kernel
// that uses it does not link.
#pragma once

struct __half {
  unsigned short bits;
};
struct __half2 {
  __half x;
  __half y;
};
float2 __half22float2(__half2 halves);
__half2 __floats2half2_rn(float first, float second);
float __half2float(__half value);
__half __float2half_rn(float value);
