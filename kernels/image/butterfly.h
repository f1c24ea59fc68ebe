// The butterflies of Fourier transforms, for the device and for tests on the host.
#pragma once

#include <type_traits>
#include <utility>

#include "image/fft.h"

#if defined(__CUDACC__)
#define OCELLUS_FFT_FUNCTION __host__ __device__ __forceinline__
#else
#define OCELLUS_FFT_FUNCTION inline
#endif

namespace ocellus::cuda {

using detail::Complex32;
using detail::FftRoot;

OCELLUS_FFT_FUNCTION Complex32 operator+(Complex32 a, Complex32 b) {
  return {a.re + b.re, a.im + b.im};
}
OCELLUS_FFT_FUNCTION Complex32 operator-(Complex32 a, Complex32 b) {
  return {a.re - b.re, a.im - b.im};
}
OCELLUS_FFT_FUNCTION Complex32 operator*(Complex32 a, Complex32 b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
OCELLUS_FFT_FUNCTION Complex32 conjugate(Complex32 a) {
  return {a.re, -a.im};
}

/// a exp(-2 pi i k / r) forward, a exp(+2 pi i k / r) inverse.
template <int kRadix, int kIndex, bool kInverse>
OCELLUS_FFT_FUNCTION Complex32 turn(Complex32 a) {
  constexpr int kTurn = kIndex % kRadix;
  if constexpr (kTurn == 0) {
    return a;
  } else {
    constexpr float kCos = FftRoot<kRadix, kTurn>::kCos;
    constexpr float kSin = kInverse ? FftRoot<kRadix, kTurn>::kSin : -FftRoot<kRadix, kTurn>::kSin;
    return {a.re * kCos - a.im * kSin, a.re * kSin + a.im * kCos};
  }
}

/// The transform of kRadix elements that are kStride apart in `e`, in natural order.
template <int kRadix, int kStride, bool kInverse>
OCELLUS_FFT_FUNCTION void butterfly(Complex32* e);

/// Output kOut of a transform of odd length without what is odd in the index of the element: the
/// elements k and kRadix - k have the sum sums[k - 1].
template <int kRadix, int kOut, int... kPair>
OCELLUS_FFT_FUNCTION Complex32 even_part(Complex32 first, const Complex32* sums,
                                         std::integer_sequence<int, kPair...>) {
  return {(first.re + ... + (FftRoot<kRadix, (kPair + 1) * kOut>::kCos * sums[kPair].re)),
          (first.im + ... + (FftRoot<kRadix, (kPair + 1) * kOut>::kCos * sums[kPair].im))};
}

/// The rest of output kOut, from the differences of the elements k and kRadix - k.
template <int kRadix, int kOut, bool kInverse, int... kPair>
OCELLUS_FFT_FUNCTION Complex32 odd_part(const Complex32* differences,
                                        std::integer_sequence<int, kPair...>) {
  const Complex32 sum = {
      (0.0f + ... + (FftRoot<kRadix, (kPair + 1) * kOut>::kSin * differences[kPair].re)),
      (0.0f + ... + (FftRoot<kRadix, (kPair + 1) * kOut>::kSin * differences[kPair].im))};
  return kInverse ? Complex32{-sum.im, sum.re} : Complex32{sum.im, -sum.re};
}

template <int kRadix, int kOut, int kStride, bool kInverse, typename Pairs>
OCELLUS_FFT_FUNCTION void odd_outputs(Complex32* e, Complex32 first, const Complex32* sums,
                                      const Complex32* differences, Pairs pairs) {
  const Complex32 even = even_part<kRadix, kOut>(first, sums, pairs);
  const Complex32 odd = odd_part<kRadix, kOut, kInverse>(differences, pairs);
  e[kOut * kStride] = even + odd;
  e[(kRadix - kOut) * kStride] = even - odd;
}

/// A transform of odd length.
template <int kRadix, int kStride, bool kInverse, int... kPair>
OCELLUS_FFT_FUNCTION void odd_butterfly(Complex32* e, std::integer_sequence<int, kPair...> pairs) {
  const Complex32 sums[] = {e[(kPair + 1) * kStride] + e[(kRadix - 1 - kPair) * kStride]...};
  const Complex32 differences[] = {e[(kPair + 1) * kStride] - e[(kRadix - 1 - kPair) * kStride]...};
  const Complex32 first = e[0];
  e[0] = (first + ... + sums[kPair]);
  (odd_outputs<kRadix, kPair + 1, kStride, kInverse>(e, first, sums, differences, pairs), ...);
}

/// Transforms that begin kNext elements after each other.
template <int kRadix, int kStride, int kNext, bool kInverse, int... kNumber>
OCELLUS_FFT_FUNCTION void butterflies(Complex32* e, std::integer_sequence<int, kNumber...>) {
  (butterfly<kRadix, kStride, kInverse>(e + kNumber * kNext), ...);
}

/// A transform of length kFirst * kSecond, by transforms of both lengths.
template <int kFirst, int kSecond, int kStride, bool kInverse, int... kIndex>
OCELLUS_FFT_FUNCTION void composite_butterfly(Complex32* e, std::integer_sequence<int, kIndex...>) {
  constexpr int kRadix = kFirst * kSecond;
  // Element kSecond n1 + n2: transforms over n1, then the turns by n2 k1, then transforms over n2.
  butterflies<kFirst, kStride * kSecond, kStride, kInverse>(
      e, std::make_integer_sequence<int, kSecond>{});
  ((e[kIndex * kStride] =
        turn<kRadix, (kIndex % kSecond) * (kIndex / kSecond), kInverse>(e[kIndex * kStride])),
   ...);
  butterflies<kSecond, kStride, kSecond * kStride, kInverse>(
      e, std::make_integer_sequence<int, kFirst>{});
  // Frequency k1 + kFirst k2 is at kSecond k1 + k2.
  const Complex32 sorted[] = {e[(kSecond * (kIndex % kFirst) + kIndex / kFirst) * kStride]...};
  ((e[kIndex * kStride] = sorted[kIndex]), ...);
}

template <int kRadix, int kStride, bool kInverse>
OCELLUS_FFT_FUNCTION void butterfly(Complex32* e) {
  if constexpr (kRadix == 2) {
    const Complex32 a = e[0];
    e[0] = a + e[kStride];
    e[kStride] = a - e[kStride];
  } else if constexpr (kRadix == 4) {
    const Complex32 a = e[0] + e[2 * kStride];
    const Complex32 b = e[0] - e[2 * kStride];
    const Complex32 c = e[kStride] + e[3 * kStride];
    const Complex32 d = e[kStride] - e[3 * kStride];
    const Complex32 turned = kInverse ? Complex32{-d.im, d.re} : Complex32{d.im, -d.re};
    e[0] = a + c;
    e[kStride] = b + turned;
    e[2 * kStride] = a - c;
    e[3 * kStride] = b - turned;
  } else if constexpr (kRadix % 4 == 0) {
    composite_butterfly<4, kRadix / 4, kStride, kInverse>(
        e, std::make_integer_sequence<int, kRadix>{});
  } else if constexpr (kRadix % 2 == 0) {
    composite_butterfly<kRadix / 2, 2, kStride, kInverse>(
        e, std::make_integer_sequence<int, kRadix>{});
  } else if constexpr (kRadix % 3 == 0 && kRadix > 3) {
    composite_butterfly<3, kRadix / 3, kStride, kInverse>(
        e, std::make_integer_sequence<int, kRadix>{});
  } else {
    static_assert(kRadix == 3 || kRadix == 5 || kRadix == 7);
    odd_butterfly<kRadix, kStride, kInverse>(e,
                                             std::make_integer_sequence<int, (kRadix - 1) / 2>{});
  }
}

/// Calls `call(std::integral_constant<int, radix>)` for a radix of a DeviceFft.
template <typename Call>
OCELLUS_FFT_FUNCTION void with_device_radix(int radix, Call&& call) {
  switch (radix) {
    case 16:
      return call(std::integral_constant<int, 16>{});
    case 12:
      return call(std::integral_constant<int, 12>{});
    case 10:
      return call(std::integral_constant<int, 10>{});
    case 9:
      return call(std::integral_constant<int, 9>{});
    case 8:
      return call(std::integral_constant<int, 8>{});
    case 6:
      return call(std::integral_constant<int, 6>{});
    case 5:
      return call(std::integral_constant<int, 5>{});
    case 4:
      return call(std::integral_constant<int, 4>{});
    case 3:
      return call(std::integral_constant<int, 3>{});
    default:
      return call(std::integral_constant<int, 2>{});
  }
}

}  // namespace ocellus::cuda
