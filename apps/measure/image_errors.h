// How far an image is from the truth: as pixels, as structure, and as an eye sees it from afar.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "apps/io/image_io.h"

namespace ocellus::app {

/// Gray values in the range of 8 bits, row by row.
struct GrayPlane {
  ImageSize size;
  std::vector<double> values;
};

/// The image without `border` pixels on all sides.
GrayPlane gray_plane(const GrayImage& image, int border = 0);

/// Peak signal-to-noise ratio in dB of a mean squared error in the range of 8 bits; infinite for 0.
double psnr_of(double mse);

/// Mean structural similarity over an 11x11 Gaussian window of sigma 1.5, K1 0.01, K2 0.03 (Wang et
/// al. 2004), over windows that lie in the image; nothing when the image is smaller than the
/// window.
std::optional<double> ssim(const GrayPlane& a, const GrayPlane& b);

/// Convolved with a Gaussian, cut off at four sigmas; the image goes on mirrored.
GrayPlane blurred(const GrayPlane& image, double sigma);

/// What an eye that blurs by this Gaussian sees.
struct SeenErrors {
  double psnr = std::numeric_limits<double>::infinity();  ///< dB
  double mean_difference = 0.0;  ///< of the result less the truth, of the full range
};

/// Pixels left out of SeenErrors on all sides: what lies beyond the image is not known.
inline constexpr int kSeenBorder = 8;

/// Nothing when no pixel is left inside the border.
std::optional<SeenErrors> seen_errors(const GrayPlane& result, const GrayPlane& truth, double sigma,
                                      int border);

/// Side of the blocks of `anisotropy`.
inline constexpr int kAnisotropyBlock = 64;

/// How a pattern differs by direction: for each radius the variance of the power spectrum along the
/// circle over its squared mean, in dB (Ulichney, "Digital Halftoning", 1987), of result less truth
/// in half-overlapping blocks of 64x64 pixels under a Hann window.
struct Anisotropy {
  double mean_db = 0.0;     ///< over the radii, by the number of frequencies on them
  double largest_db = 0.0;  ///< of one radius
  int blocks = 0;           ///< a pattern without directions has about -10 log10(blocks) or more
};

/// Nothing for images smaller than a block, and where nothing differs.
std::optional<Anisotropy> anisotropy(const GrayPlane& result, const GrayPlane& truth);

}  // namespace ocellus::app
