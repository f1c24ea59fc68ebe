// What degraded a picture: displacement, blur kernel and noise from a pair, the blur of a straight
// edge, and power spectra, measured in rings of frequencies and as a power law.
#pragma once

#include <vector>

#include "identify/blur_shape.h"
#include "identify/picture.h"
#include "ocellus/identification.h"

namespace ocellus::identify {

// ---- a pair

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
  double explained = 0.0;       ///< part of the variance of `degraded` that the model explains
  BlurShape shape{};            ///< of the kernel, without displacement
  double prior_radius = 0.0;    ///< of a kernel without shape, as the next two
  double prior_variance = 0.0;  ///< of the center, in units of the noise variance
  /// Posterior variance of the kernel's transfer function at each frequency of the design grid.
  std::vector<double> transfer_variance;
  Picture residual;
};

/// Estimates the displacement, to `max_shift` whole pixels, and the kernel. Two models of the
/// kernel compete by their evidence for white noise (MacKay, "Bayesian interpolation", Neural
/// Computation 4, 1992).
/// - Every value is free: the mean of the posterior for the prior N(0, s^2 g exp(-r^2 / radius^2))
///   with the noise variance s^2. The evidence selects g and the radius.
/// - A displaced Gaussian, disk or uniform motion. The evidence of its few parameters is Schwarz's
///   approximation ("Estimating the dimension of a model", Annals of Statistics 6, 1978). A
///   fragment with few details determines them where it does not determine the values one by one.
///
/// Both pictures have the same size. Errors: InvalidArgument (the pictures do not show the same
/// scene).
Expected<BlurEstimate> estimate_blur(const Picture& degraded, const Picture& sharp, int max_shift);

// ---- an edge

struct EdgeFit {
  bool disk = false;   ///< the blur is a disk, else a Gaussian
  double size = 0.0;   ///< radius or sigma, in pixels, without the pixel's own aperture
  double noise = 0.0;  ///< RMS of the residual
  double angle = 0.0;  ///< of the edge's normal, radians
  double contrast = 0.0;
};

/// Fits a straight edge between two uniform areas, blurred by a Gaussian or a disk: least squares
/// over position, angle, both levels and the size of the blur. Errors: InvalidArgument (no edge, or
/// an edge that the model does not describe).
Expected<EdgeFit> fit_edge(const Picture& area);

// ---- spectra

/// The mean power in parts of rings of frequencies. The power is normalized so that white noise of
/// variance v has the power v.
struct RadialSpectrum {
  struct Part {
    double log_frequency = 0.0;
    double log_power = 0.0;
    double begin = 0.0;  ///< of the ring, in cycles per pixel
    double end = 0.0;
    int sector = 0;
  };
  int sectors = 1;  ///< of equal width, in which directions a ring is divided
  std::vector<Part> parts;

  int sector_of(double angle) const;
};

/// The mean power of the picture in rings of equal width on a linear scale, of one sector, or, with
/// `octaves`, on a logarithmic scale, of four sectors. The picture has at least 8x8 pixels.
RadialSpectrum radial_spectrum(const Picture& picture, bool octaves);

/// The power of a spectrum of one sector at every frequency of the design grid, by interpolation.
std::vector<double> interpolate(const RadialSpectrum& spectrum);

/// A power spectrum exp(log_power - exponent l - curvature l^2 - skewness l^3 + cosine cos(2 a) +
/// sine sin(2 a)) with l = log(f / 0.1), f in cycles per pixel, and the direction a of the
/// frequency. Below f = 0.01 it does not depend on f. The direction matters because most pictures
/// have more vertical and horizontal edges of one kind, and a motion removes only one of them.
struct PowerLaw {
  double log_power = 0.0;
  double exponent = 0.0;
  double curvature = 0.0;
  double skewness = 0.0;
  double cosine = 0.0;
  double sine = 0.0;

  double at(double frequency, double angle) const;
};

/// What is known of a power law before the picture is seen. The default is measured on 14
/// photographs. They include textures, text and blurred ones.
struct PowerLawPrior {
  PowerLaw mean{-3.8, 2.6, 0.2, 0.0, 0.0, 0.0};
  PowerLaw deviation{1.9, 0.6, 0.35, 0.2, 0.7, 0.2};
};

/// Fits the power law of a sharp picture to the spectrum of a degraded one: the power in a part is
/// the mean of blur_power(f) law(f) + noise_power over its frequencies. `blur_power` is the squared
/// magnitude of the blur's transfer function on the design grid. The prior determines what the
/// blur and the noise have removed. Source of the law: Field, "Relations between the statistics of
/// natural images and the response properties of cortical cells", JOSA A 4, 1987.
PowerLaw fit_power_law(const RadialSpectrum& spectrum, const std::vector<double>& blur_power,
                       double noise_power, const PowerLawPrior& prior = {});

/// The prior of a picture of which a part with `shorter_side` pixels has the law `part`. The
/// details of a photograph are not evenly distributed: a part may be sky.
PowerLawPrior prior_of_picture(const PowerLaw& part, int shorter_side);

}  // namespace ocellus::identify
