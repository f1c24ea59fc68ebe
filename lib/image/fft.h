// Fourier transforms of one axis: the plan of a length, and the constants of its butterflies.
//
// A transform of length n = r1 r2 .. rp runs in place, in p passes of butterflies of r elements.
// Forward (decimation in frequency), pass k splits blocks of length L = n / (r1 .. r(k-1)) into rk
// blocks. Inverse (decimation in time), the passes run backwards. Nothing is sorted: the forward
// transform leaves frequency `frequency_at(plan, i)` at position i, and the inverse one expects it
// there. A filter needs no more than that.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace ocellus::detail
