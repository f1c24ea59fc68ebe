// Fourier transforms of one axis: the plan of a length and the butterflies, for host and device.
//
// A transform of length n = r1 r2 .. rp runs in place, in p passes of butterflies of r elements.
// Forward (decimation in frequency), pass k splits blocks of length L = n / (r1 .. r(k-1)) into rk
// blocks. Inverse (decimation in time), the passes run backwards. Nothing is sorted: the forward
// transform leaves frequency `frequency_at(plan, i)` at position i, and the inverse one expects it
// there. A filter needs no more than that.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#if defined(__CUDACC__)
#define OCELLUS_FFT_FUNCTION __host__ __device__ __forceinline__
#else
#define OCELLUS_FFT_FUNCTION inline
#endif

namespace ocellus::detail {

struct alignas(8) Complex32 {
  float re;
  float im;
};

/// Largest radix of a pass.
inline constexpr int kMaxFftRadix = 16;
inline constexpr int kMaxFftPasses = 8;
/// Largest length.
inline constexpr int kMaxFftLength = 32768;

/// The passes of a transform.
struct FftPlan {
  int length = 1;
  int passes = 0;
  std::array<std::uint8_t, kMaxFftPasses> radix{};  ///< of each pass of the forward transform
};

/// The plan of the shortest length that is at least `length` and has no prime factor above 7.
/// `length` is 1 to kMaxFftLength.
FftPlan make_fft_plan(int length) noexcept;
/// The frequency at position `position` after the forward transform, 0 to length - 1.
int frequency_at(const FftPlan& plan, int position) noexcept;
/// Writes exp(-2 pi i k / length) for k < length.
void make_fft_roots(int length, Complex32* roots) noexcept;

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

/// cos and sin of 2 pi k / r for the radices whose butterflies need them.
template <int kRadix, int kIndex>
struct FftRoot {
  static constexpr double kPi = 3.14159265358979323846;
  /// Taylor series; the argument is at most 2 pi.
  static constexpr double cosine(double x) {
    double term = 1.0;
    double sum = 1.0;
    for (int i = 1; i <= 20; ++i) {
      term *= -x * x / ((2.0 * i - 1.0) * (2.0 * i));
      sum += term;
    }
    return sum;
  }
  static constexpr double kAngle = 2.0 * kPi * (kIndex % kRadix) / kRadix;
  static constexpr float kCos = static_cast<float>(cosine(kAngle));
  static constexpr float kSin =
      static_cast<float>(cosine(kAngle < kPi / 2.0 ? kPi / 2.0 - kAngle : kAngle - kPi / 2.0));
};

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

/// Runs butterfly number `t` of a pass, which splits blocks of `block` elements. `at(i)` gives a
/// reference to element i of the array, which has `length` elements.
template <int kRadix, bool kInverse, typename At>
OCELLUS_FFT_FUNCTION void run_butterfly(int t, int length, int block, const Complex32* roots,
                                        At&& at) {
  const int part = block / kRadix;
  const int number = t / part;
  const int j = t - number * part;
  const int first = number * block + j;
  const int step = j * (length / block);
  Complex32 e[kRadix];
  for (int s = 0; s < kRadix; ++s) e[s] = at(first + s * part);
  if constexpr (kInverse) {
    for (int s = 1; s < kRadix; ++s) e[s] = e[s] * conjugate(roots[s * step]);
    butterfly<kRadix, 1, true>(e);
  } else {
    butterfly<kRadix, 1, false>(e);
    for (int s = 1; s < kRadix; ++s) e[s] = e[s] * roots[s * step];
  }
  for (int s = 0; s < kRadix; ++s) at(first + s * part) = e[s];
}

/// Calls `call(std::integral_constant<int, radix>)` for a radix of a plan.
template <typename Call>
OCELLUS_FFT_FUNCTION void with_radix(int radix, Call&& call) {
  switch (radix) {
    case 16:
      return call(std::integral_constant<int, 16>{});
    case 9:
      return call(std::integral_constant<int, 9>{});
    case 8:
      return call(std::integral_constant<int, 8>{});
    case 7:
      return call(std::integral_constant<int, 7>{});
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

}  // namespace ocellus::detail
