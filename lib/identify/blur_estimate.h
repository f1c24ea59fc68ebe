// Estimates what degraded a picture: displacement, blur kernel, noise.
#pragma once

#include <vector>

#include "identify/picture.h"
#include "ocellus/status.h"

namespace ocellus::identify {

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

}  // namespace ocellus::identify
