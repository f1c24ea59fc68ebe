// Power spectra of pictures: measured in rings of frequencies, and as a power law.
#pragma once

#include <vector>

#include "identify/picture.h"

namespace ocellus::identify {

/// A power spectrum that depends on the frequency alone, as the logarithm of the power at given
/// frequencies. The power is normalized so that white noise of variance v has the power v.
struct RadialSpectrum {
  std::vector<double> log_frequency;
  std::vector<double> log_power;
  std::vector<double> begin;  ///< of each ring, in cycles per pixel
  std::vector<double> end;
};

/// The mean power of the pictures in rings of equal width on a logarithmic (`octaves`) or linear
/// scale. There is at least one picture, of at least 8x8 pixels.
RadialSpectrum radial_spectrum(const std::vector<Picture>& pictures, bool octaves);

/// The power of the spectrum at every frequency of the design grid, by interpolation.
std::vector<double> interpolate(const RadialSpectrum& spectrum);

/// A power spectrum exp(log_power - exponent l - curvature l^2 - skewness l^3) with l = log(f /
/// 0.1), f in cycles per pixel. Below f = 0.01 it is constant. The default is a mean of
/// photographs.
struct PowerLaw {
  double log_power = -2.5;
  double exponent = 2.6;
  double curvature = 0.0;
  double skewness = 0.0;

  double at(double frequency) const;
};

/// Fits the power law of a sharp picture to the spectrum of a degraded one: the power in a ring is
/// the mean of blur_power(f) law(f) + noise_power over its frequencies. `blur_power` is the squared
/// magnitude of the blur's transfer function on the design grid. Exponent, curvature and skewness
/// have the priors N(2.6, 0.5^2), N(0, 0.5^2) and N(0, 0.5^2), because few pixels determine them
/// poorly and the rest of the picture is more like other photographs. Source of the law: Field,
/// "Relations between the statistics of natural images and the response properties of cortical
/// cells", JOSA A 4, 1987; the mean exponent is from measurements on photographs.
PowerLaw fit_power_law(const RadialSpectrum& spectrum, const std::vector<double>& blur_power,
                       double noise_power);

}  // namespace ocellus::identify
