// Estimates of what degraded a picture: displacement, blur kernel, noise; and power spectra.
#pragma once

#include <vector>

#include "identify/fft.h"
#include "ocellus/status.h"

namespace ocellus::identify {

/// A gray picture; 1 is white.
struct Picture {
  Picture() = default;
  Picture(int w, int h)
      : width(w), height(h), values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  double& at(int y, int x) {
    return values[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
  double at(int y, int x) const { return const_cast<Picture*>(this)->at(y, x); }

  int width = 0;
  int height = 0;
  std::vector<double> values;
};

/// Part of `picture`; the rectangle is inside.
Picture crop(const Picture& picture, int x, int y, int width, int height);
double mean(const Picture& picture);
double variance(const Picture& picture);

/// degraded(p) = sum over d of kernel(d) sharp(p - shift - d) + offset + noise.
struct BlurEstimate {
  int shift_x = 0;  ///< whole pixels
  int shift_y = 0;
  int radius = 0;  ///< the kernel has (2 radius + 1)^2 values, its center is displacement 0
  std::vector<double> kernel;
  double gain = 1.0;  ///< sum of the kernel
  double centroid_x = 0.0;
  double centroid_y = 0.0;
  double offset = 0.0;
  double noise_variance = 0.0;
  double explained = 0.0;  ///< part of the variance of `degraded` that the model explains
  double prior_radius = 0.0;
  double prior_variance = 0.0;  ///< of the center, in units of the noise variance
  /// Residuals of four parts of the picture, each for a kernel from the other three.
  std::vector<Picture> residuals;
};

/// Estimates the displacement, to `max_shift` whole pixels, and the kernel. The kernel is the mean
/// of the posterior for white noise and the prior N(0, s^2 g exp(-r^2 / radius^2)) with the noise
/// variance s^2. The evidence (MacKay, "Bayesian interpolation", Neural Computation 4, 1992)
/// selects g and the radius. Both pictures have the same size. Errors: InvalidArgument (the
/// pictures do not show the same scene).
Expected<BlurEstimate> estimate_blur(const Picture& degraded, const Picture& sharp, int max_shift);

/// A power spectrum that depends on the frequency alone, as the logarithm of the power at given
/// frequencies. The power is normalized so that white noise of variance v has the power v.
struct RadialSpectrum {
  std::vector<double> log_frequency;
  std::vector<double> log_power;
};

/// The mean power of the pictures in rings of equal width on a logarithmic (`octaves`) or linear
/// scale. There is at least one picture, of at least 8x8 pixels.
RadialSpectrum radial_spectrum(const std::vector<Picture>& pictures, bool octaves);

/// The power of the spectrum at every frequency of the design grid, by interpolation.
std::vector<double> interpolate(const RadialSpectrum& spectrum);

/// A power spectrum exp(log_power - exponent l - curvature l^2) with l = log(f / 0.1), f in cycles
/// per pixel. Below f = 0.01 it is constant. The default is a mean of photographs.
struct PowerLaw {
  double log_power = -2.5;
  double exponent = 2.6;
  double curvature = 0.0;

  double at(double frequency) const;
};

/// Fits the power law to a spectrum. Exponent and curvature have the priors N(2.6, 0.3^2) and N(0,
/// 0.3^2), because few pixels determine them poorly and the rest of the picture is more like other
/// photographs. Source of the form: Field, "Relations between the statistics of natural images and
/// the response properties of cortical cells", JOSA A 4, 1987; the numbers are from measurements on
/// photographs.
PowerLaw fit_power_law(const RadialSpectrum& spectrum);

}  // namespace ocellus::identify
