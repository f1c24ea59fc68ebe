// The plans of the device's Fourier transforms. The passes run here on the host, as
// kernels/image/fft.cuh runs them, and must give the discrete Fourier transform.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <set>
#include <vector>

#include "kernels/image/butterfly.h"
#include "kernels/image/fft.h"

namespace ocellus::cuda {
namespace {

/// All passes of a forward transform, in place; then the values in the order in which the device
/// stores them.
std::vector<Complex32> forward(const DeviceFft& fft, std::vector<Complex32> values) {
  std::vector<Complex32> roots(static_cast<std::size_t>(root_count(fft)));
  make_roots(fft, roots.data());
  for (int p = 0; p < fft.passes; ++p) {
    const DeviceFftPass& pass = fft.pass[static_cast<std::size_t>(p)];
    with_device_radix(pass.radix, [&]<int kRadix>(std::integral_constant<int, kRadix>) {
      for (int t = 0; t < pass.butterflies; ++t) {
        // As __umulhi on the device.
        const int number =
            pass.part == 1 ? t
                           : static_cast<int>(
                                 (std::uint64_t{pass.division} * static_cast<unsigned>(t)) >> 32U);
        ASSERT_EQ(number, t / pass.part) << "length " << fft.length << ", butterfly " << t;
        const int j = t - number * pass.part;
        Complex32* const from = values.data() + number * pass.part * kRadix + j;
        Complex32 e[kRadix];
        for (int s = 0; s < kRadix; ++s) e[s] = from[s * pass.part];
        butterfly<kRadix, 1, false>(e);
        Complex32 power{1.0f, 0.0f};
        for (int s = 0; s < kRadix; ++s) {
          from[s * pass.part] = e[s] * power;
          power = power * roots[static_cast<std::size_t>(pass.roots + j)];
        }
      }
    });
  }
  const DeviceFftPass& last = fft.last();
  std::vector<Complex32> stored(values.size());
  for (int t = 0; t < last.butterflies; ++t)
    for (int s = 0; s < last.radix; ++s)
      stored[static_cast<std::size_t>(s * last.butterflies + t)] =
          values[static_cast<std::size_t>(t * last.radix + s)];
  return stored;
}

TEST(DeviceFft, PlansAreComplete) {
  for (int least = 1; least <= detail::kMaxFftLength; least += least < 1500 ? 1 : 211) {
    const DeviceFft fft = make_device_fft(least);
    ASSERT_GE(fft.length, least);
    ASSERT_LE(fft.length, least + least / 4 + 4);
    ASSERT_GE(fft.passes, 2);
    int length = 1;
    for (int p = 0; p < fft.passes; ++p) {
      const DeviceFftPass& pass = fft.pass[static_cast<std::size_t>(p)];
      ASSERT_LE(pass.radix, kMaxDeviceRadix);
      ASSERT_EQ(pass.butterflies * pass.radix, fft.length);
      length *= pass.radix;
      // The gaps of shared memory must be linear along a butterfly.
      if (p + 1 < fft.passes && fft.shift < 31) {
        ASSERT_EQ(pass.part % (1 << fft.shift), 0);
      }
    }
    ASSERT_EQ(length, fft.length);
    ASSERT_EQ(fft.last().part, 1);
  }
}

TEST(DeviceFft, EveryFrequencyHasOnePlace) {
  for (const int least : {1, 5, 30, 100, 768, 1152, 2176, 4098, 17408}) {
    const DeviceFft fft = make_device_fft(least);
    std::set<int> frequencies;
    for (int place = 0; place < fft.length; ++place) {
      const int frequency = stored_frequency(fft, place);
      ASSERT_GE(frequency, 0);
      ASSERT_LT(frequency, fft.length);
      frequencies.insert(frequency);
    }
    EXPECT_EQ(static_cast<int>(frequencies.size()), fft.length);
  }
}

TEST(DeviceFft, PassesAreTheTransform) {
  for (int least = 1; least <= 700; least += least < 60 ? 1 : 29) {
    const DeviceFft fft = make_device_fft(least);
    std::vector<Complex32> values(static_cast<std::size_t>(fft.length));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = {static_cast<float>((i * 37) % 101) / 101.0f,
                   static_cast<float>((i * 53) % 89) / 89.0f - 0.5f};
    const std::vector<Complex32> stored = forward(fft, values);
    for (int place = 0; place < fft.length; ++place) {
      const double w = -2.0 * std::numbers::pi * stored_frequency(fft, place) / fft.length;
      std::complex<double> sum = 0.0;
      for (int i = 0; i < fft.length; ++i) {
        const Complex32 value = values[static_cast<std::size_t>(i)];
        sum += std::complex<double>(value.re, value.im) * std::polar(1.0, w * i);
      }
      const Complex32 found = stored[static_cast<std::size_t>(place)];
      ASSERT_NEAR(found.re, sum.real(), 1e-5 * fft.length) << fft.length << " at " << place;
      ASSERT_NEAR(found.im, sum.imag(), 1e-5 * fft.length) << fft.length << " at " << place;
    }
  }
}

}  // namespace
}  // namespace ocellus::cuda
