// Designs the four quarter-plane filters whose sum approximates a given transfer function.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "identify/fft.h"
#include "ocellus/restoration_filter.h"

namespace ocellus::identify {

/// Side of the grid of frequencies on which filters are designed.
inline constexpr int kDesignSide = 128;

/// The frequency of element `w` of the grid, in cycles per pixel.
inline double design_frequency(std::size_t w) {
  const int i = static_cast<int>(w) / kDesignSide;
  const int j = static_cast<int>(w) % kDesignSide;
  return std::hypot(frequency(i, kDesignSide), frequency(j, kDesignSide));
}

/// The direction of element `w` of the grid, in radians.
inline double design_angle(std::size_t w) {
  const int i = static_cast<int>(w) / kDesignSide;
  const int j = static_cast<int>(w) % kDesignSide;
  return std::atan2(frequency(i, kDesignSide), frequency(j, kDesignSide));
}

/// What the filter must approximate.
struct DesignTarget {
  Spectrum response{kDesignSide};  ///< the wanted transfer function W
  /// Power spectrum of the input: |W - F|^2 is weighted with it, because it is the mean square
  /// error that the approximation F adds.
  std::vector<double> input_power;
  double ideal_error = 0.0;  ///< mean square error of W itself
};

struct Design {
  RestorationFilter filter;
  double excess = 0.0;  ///< mean square error that the approximation adds to the ideal error
  int iterations = 0;
};

/// Minimizes sum input_power |W - sum_q A_q / D_q|^2 over all coefficients by the
/// Levenberg-Marquardt method. The largest root of each quadrant stays at or below `largest_root`
/// throughout. The last step rounds the coefficients to single precision.
///
/// The normal matrix consists of correlations of the eight derivative spectra, so Fourier
/// transforms give its entries: an iteration costs 44 transforms and one Cholesky factorization.
/// The start is the method of Shanks ("Recursion filters for digital processing", Geophysics 32,
/// 1967), quadrant by quadrant.
Design design_filter(const DesignTarget& target, int support, int feedback_support,
                     double largest_root);

/// The transfer function of the four quadrants on a grid of `side` frequencies.
Spectrum transfer_function(const RestorationFilter& filter, int side);

}  // namespace ocellus::identify
