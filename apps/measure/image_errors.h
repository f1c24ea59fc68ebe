// The errors of an image against the truth: of pixels, of structure, and as seen by an eye from a
// distance.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "apps/io/image_io.h"

namespace ocellus::app {

/// Gray values on the scale of 8 bits, row by row.
struct GrayPlane {
  ImageSize size;
  std::vector<double> values;
};

/// The image without `border` pixels on all sides.
GrayPlane gray_plane(const GrayImage& image, int border = 0);

/// Peak signal-to-noise ratio in dB for a mean squared error on the scale of 8 bits; infinite for
/// 0.
double psnr_of(double mse);

/// Mean structural similarity with an 11x11 Gaussian window of sigma 1.5, K1 0.01 and K2 0.03 (Wang
/// et al. 2004). Only windows inside the image count. Returns nothing if the image is smaller than
/// the window.
std::optional<double> ssim(const GrayPlane& a, const GrayPlane& b);

/// Convolution with a Gaussian, cut off at four sigmas. The image is continued by its mirror image.
GrayPlane blurred(const GrayPlane& image, double sigma);

/// Errors after the blur that models an eye.
struct SeenErrors {
  double psnr = std::numeric_limits<double>::infinity();  ///< dB
  double mean_difference = 0.0;  ///< mean of result minus truth, relative to the full range
};

/// Pixels that SeenErrors leaves out on all sides, because their blur needs pixels outside the
/// image.
inline constexpr int kSeenBorder = 8;

/// Returns nothing if no pixel is left inside the border.
std::optional<SeenErrors> seen_errors(const GrayPlane& result, const GrayPlane& truth, double sigma,
                                      int border);

/// Side length of the blocks of `anisotropy`.
inline constexpr int kAnisotropyBlock = 64;

/// How much the error (result minus truth) depends on direction: for each radius, the variance of
/// the power spectrum along the circle divided by its squared mean, in dB (Ulichney, "Digital
/// Halftoning", 1987). The spectrum is averaged over half-overlapping blocks of 64x64 pixels under
/// a Hann window.
struct Anisotropy {
  double mean_db = 0.0;     ///< mean over the radii, weighted by the number of frequencies
  double largest_db = 0.0;  ///< at one radius
  int blocks = 0;           ///< an isotropic pattern has about -10 log10(blocks) dB
};

/// Returns nothing for images smaller than a block, and if there is no error.
std::optional<Anisotropy> anisotropy(const GrayPlane& result, const GrayPlane& truth);

}  // namespace ocellus::app
