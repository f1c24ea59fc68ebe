// A two-dimensional Fourier transform of square arrays, in double precision.
#pragma once

#include <complex>

#include "identify/picture.h"

namespace ocellus::identify {

using Complex = std::complex<double>;

/// The product, without the test for values that are not finite that operator* makes.
inline Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// A square array of frequencies or pixels.
struct Spectrum : Grid<Complex> {
  explicit Spectrum(int n = 0) : Grid(n, n), side(n) {}

  int side;
};

/// Transforms in place: X(u) = sum x(n) exp(-2 pi i u n / side), over rows and columns. `inverse`
/// changes the sign of the exponent and divides by side^2. Fast if the side has small factors.
void fourier_transform(Spectrum& array, bool inverse = false);

/// The smallest power of two that is at least `n`.
int power_of_two(int n);

/// The frequency of index `k` in cycles per pixel, -0.5 to 0.5.
inline double frequency(int k, int side) {
  return static_cast<double>(k <= side / 2 ? k : k - side) / side;
}

}  // namespace ocellus::identify
