#include "identify/fft.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace ocellus::identify {
namespace {

Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Radix 2, decimation in time.
class Transform {
 public:
  Transform(int n, bool inverse) : n_(n), twiddle_(static_cast<std::size_t>(n / 2)) {
    const double sign = inverse ? 2.0 : -2.0;
    for (int k = 0; k < n / 2; ++k) {
      twiddle_[static_cast<std::size_t>(k)] = std::polar(1.0, sign * std::numbers::pi * k / n);
    }
  }

  void run(Complex* x) const {
    for (int i = 1, j = 0; i < n_; ++i) {
      int bit = n_ >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (int length = 2; length <= n_; length *= 2) {
      const int half = length / 2;
      const int step = n_ / length;
      for (int start = 0; start < n_; start += length) {
        for (int k = 0; k < half; ++k) {
          const Complex odd =
              product(x[start + k + half], twiddle_[static_cast<std::size_t>(k * step)]);
          x[start + k + half] = x[start + k] - odd;
          x[start + k] += odd;
        }
      }
    }
  }

 private:
  int n_;
  std::vector<Complex> twiddle_;
};

void transpose(Spectrum& array) {
  for (int i = 0; i < array.side; ++i) {
    for (int j = 0; j < i; ++j) std::swap(array.at(i, j), array.at(j, i));
  }
}

}  // namespace

void fourier_transform(Spectrum& array, bool inverse) {
  const Transform transform(array.side, inverse);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < array.side; ++i) transform.run(&array.at(i, 0));
    transpose(array);
  }
  if (!inverse) return;
  const double scale = 1.0 / (static_cast<double>(array.side) * array.side);
  for (Complex& value : array.values) value *= scale;
}

int power_of_two(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace ocellus::identify
