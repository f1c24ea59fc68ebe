// Identification of a restoration filter: four quarter-plane recursive filters whose sum turns a
// degraded picture into a sharp one. Not for the real-time path: these calls allocate memory and
// take seconds. Link ocellus::identify.
//
// Sources: Nikonorov, Fursov, Yakimov (2012), equations (4) to (6), for the filter; Wiener's filter
// for the wanted transfer function; Shaw and Mersereau, "Design, stability and performance of
// two-dimensional recursive digital filters" (1979), for the fit of all coefficients together.
#pragma once

#include <vector>

#include "ocellus/frame.h"
#include "ocellus/restoration_filter.h"
#include "ocellus/status.h"

namespace ocellus {

/// Smallest side of a fragment, in pixels.
inline constexpr int kMinFragmentSide = 64;
/// A larger fragment is cut to its center of this side.
inline constexpr int kMaxFragmentSide = 512;
/// Largest side of a blur kernel, in pixels.
inline constexpr int kMaxPsfSide = 63;

/// How a filter is identified.
struct IdentificationConfig {
  /// Rows and columns of coefficients of each quadrant, 1 to 31. 7 suffices for blurs of up to 7
  /// pixels.
  int support = 7;
  /// Rows and columns of feedback coefficients that are not 0, 1 to `support`. 0: `support` up to
  /// 7, 7 for larger filters. Large values take time and gain little.
  int feedback_support = 0;
  /// Bound of the modulus of the largest root of each quadrant, 0.5 to 0.98. The impulse response
  /// decays about as fast as its powers. A larger value permits a better restoration of disk and
  /// motion blur at low noise, but a longer response, which needs more padding: up to 120 pixels
  /// for 0.9, 260 for 0.95. docs/restoration.md has a table; see also `max_response`.
  double largest_root = 0.95;
  /// Largest impulse response, FilterProperties::response, in pixels: 8 to 512. Where it is longer,
  /// the filter is designed again with a smaller bound of the roots, down to 0.2. 512 is the
  /// longest response that an operator takes.
  int max_response = 512;
  /// Pair: largest displacement between the two fragments that is searched, in pixels, 0 to 16. A
  /// displacement that is larger by up to half of the blur's support is found, too.
  int max_shift = 8;
  /// Pair: the filter moves the picture back to the position of the sharp fragment. If false, it
  /// leaves whole pixels of the displacement in place and removes only the fraction. A small
  /// support cannot undo a displacement that is larger than about support / 2.
  bool undo_shift = true;
  /// A degraded picture whose power spectrum tells how strong the details are that the filter will
  /// meet: at least 64x64 pixels. The default, no picture, takes the picture with the edge for
  /// `identify_from_edge`, a picture with many details for `identify_from_psf`, and for
  /// `identify_from_pair` the spectrum of the sharp fragment, moved toward the mean of photographs.
  /// A fragment of 128x128 pixels may have far more or less details than the rest of its picture,
  /// so give the whole degraded picture with it.
  ImageView picture{};
};

/// What the identification found. Gray values are in units of 8 bits (white is 255).
struct IdentificationReport {
  /// Displacement of the degraded fragment against the sharp one, in pixels: x to the right, y
  /// down. It is the centroid of the estimated blur kernel. 0 without a pair.
  double shift_x = 0.0;
  double shift_y = 0.0;
  double gain = 1.0;    ///< of the degradation; the filter undoes it
  double offset = 0.0;  ///< gray value added to the degraded picture; the filter does not remove it
  /// Standard deviation of the noise. Pair: the part of the degraded fragment that no blur of the
  /// sharp one explains.
  double noise = 0.0;
  /// Pair: RMS of restored minus sharp, over the fragment without a border of 16 pixels. PSF and
  /// edge: the RMS that the assumed spectra predict.
  double residual_rms = 0.0;
  /// Predicted loss of the recursive filter against the Wiener filter that it approximates, in dB
  /// of PSNR. It is large if the support is too small.
  double approximation_loss_db = 0.0;
  /// Bound of the roots with which the filter was designed: IdentificationConfig::largest_root, or
  /// less because of `max_response`.
  double root_bound = 0.0;
  /// Pair without `blur`: the prior of the blur kernel that maximizes the evidence: the standard
  /// deviation of a coefficient is proportional to exp(-r^2 / (2 kernel_radius^2)).
  double kernel_radius = 0.0;
  /// Pair without `blur`: prior variance of the kernel's center coefficient, in units of the noise
  /// variance. Its reciprocal is the ridge of the least-squares problem.
  double kernel_variance = 0.0;
  /// Exponent of the power spectrum of the sharp picture, 1 / frequency^exponent.
  double spectrum_exponent = 0.0;
  /// Pair and edge: the kind of blur ("gaussian", "disk" or, of a pair, "motion") and its sigma,
  /// radius or length in pixels. "" is a kernel of a pair that no shape describes.
  const char* blur = "";
  double blur_size = 0.0;
  double blur_angle = 0.0;  ///< of a motion, in degrees, counterclockwise from the x axis
};

/// A filter that `analyze_filter` takes, and how it was found.
struct Identification {
  RestorationFilter filter{};
  FilterProperties properties{};  ///< of `filter`: the proof of its stability
  IdentificationReport report{};
};

/// A blur kernel (point spread function). The value at row `height / 2`, column `width / 2` belongs
/// to displacement 0. Orientation of a true convolution: degraded(p) = sum psf(d) sharp(p - d).
struct Psf {
  int width = 0;
  int height = 0;
  std::vector<double> values{};  ///< row-major
};

/// A Gaussian with standard deviation `sigma`, above 0 and at most 7 pixels. Errors:
/// InvalidArgument.
Expected<Psf> gaussian_psf(double sigma);
/// Uniform motion over `length` pixels, 1 to 61. `angle` is in degrees, counterclockwise from the
/// x axis. Errors: InvalidArgument.
Expected<Psf> motion_psf(double length, double angle);
/// A disk (lens out of focus) of `radius` pixels, above 0 and at most 30. Errors: InvalidArgument.
Expected<Psf> disk_psf(double radius);
/// Reads a text file with one row of numbers per line, separated by blanks, tabs or commas. Errors:
/// IoError, CorruptFile (not a number, rows of different length, too large).
Expected<Psf> read_psf(const char* path);

/// Identifies a filter from a degraded and a sharp picture of the same scene. Both views have the
/// same size, at least 64x64, any format, in host memory. Displacement, gain and offset between
/// them are estimated.
///
/// The blur kernel is estimated first, because it is well determined by few pixels where the
/// restoring filter is not: a Gaussian, a disk, a uniform motion or, by Bayesian linear regression,
/// any kernel, whichever has the largest evidence. The residual of the regression gives the
/// spectrum of the noise. The filter approximates the Wiener filter for this blur with its
/// uncertainty, this noise, and the spectrum of `config.picture` or the one that is probable for
/// the whole picture of this fragment.
///
/// Errors: InvalidArgument (configuration, size, format, a pixel that is not finite, a constant
/// fragment, fragments that do not show the same scene, `max_response` is too small), Unsupported
/// (not host memory), OutOfMemory.
Expected<Identification> identify_from_pair(const ImageView& degraded, const ImageView& sharp,
                                            const IdentificationConfig& config = {});

/// Identifies a filter for a known blur kernel of `width` x `height` values, row-major, oriented as
/// in Psf. Sides are 1 to 63. The sum must not be 0. `noise` is the standard deviation of the noise
/// in units of 8-bit gray, above 0. Errors: InvalidArgument, Unsupported.
Expected<Identification> identify_from_psf(const double* psf, int width, int height, double noise,
                                           const IdentificationConfig& config = {});

/// Identifies a filter from a straight edge between two uniform areas in a degraded picture. `area`
/// (at least 16x16) holds one edge, not parallel to the rows or columns, and nothing else; an empty
/// area is the whole picture. The blur is taken as radially symmetric, a Gaussian or a disk,
/// whichever fits the edge better. The residual of the fit gives the noise. Errors:
/// InvalidArgument, Unsupported.
Expected<Identification> identify_from_edge(const ImageView& degraded, const Rect& area,
                                            const IdentificationConfig& config = {});

}  // namespace ocellus
