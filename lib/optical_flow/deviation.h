// The standard deviation of the flow, for all backends. docs/optical_flow_method.md derives the
// model. The means are those of 7x7 samples, which are the pixels of the image with even x and even
// y. A pixel has the means of the sample above and to the left of it, or of its own.
//
//     q        = 1 / (Ix^2 + Iy^2 + gradient_floor^2)
//     T        = mean of q (Ix, Iy)^T (Ix, Iy)
//     p        = mean of q = (1 - trace(T)) / gradient_floor^2
//     s^2      = mean of r^2 / (1 / q + kResidualShare r^2), where r is the residual under the flow
//                of each pixel, but at least rounding p
//     M        = T - gradient_rounding p 1
//     b^2      = mean of |du/dx|^2 + |du/dy|^2 + |dv/dx|^2 + |dv/dy|^2, by central differences
//     t        = texture of the pixel itself
//     deviation^2 = least^2 + noise s^2 trace(M^-1) + bend b^2
//                   + pixel_rounding / max(0, t - texture_noise)
//
// Where M is not positive definite, the deviation is infinite. The derivatives of the pyramid are
// those of the reference frame. It takes the texture from the frames before they are normalized:
// the sum of the squares of the 12 differences between neighbors in 3x3 pixels. That of the kernels
// is Ix^2 + Iy^2.
#pragma once

#include <limits>

#include "image/pixel_rows.h"
#include "optical_flow/plan.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::detail {

inline constexpr int kDeviationRadius = 3;  ///< of the box, samples
/// Pixels around a result whose flow it depends on: the distance of its sample, the box and the
/// differences of the flow.
inline constexpr int kDeviationReach = 1 + 2 * kDeviationRadius + 1;
inline constexpr int kDeviationSums = 5;  ///< three of T, s^2 and b^2
/// Limits what one large residual adds, as of a part that is hidden in the next frame.
inline constexpr float kResidualShare = 0.05f;
/// M is singular, too, if its determinant is at most this fraction of its squared trace. Below it,
/// single precision cannot represent the smaller eigenvalue.
inline constexpr float kSingularDeterminant = 1e-6f;

/// The constants of a method, and what the rounding of pixel values does to its images.
struct DeviationModel {
  float gradient_floor;
  float least;  ///< pixels
  float noise;
  float bend;      ///< pixels^2
  float rounding;  ///< variance of r by rounding
  /// Twice the variances of Ix and Iy by rounding, because the means over the window scatter.
  float gradient_rounding;
  float pixel_rounding;  ///< variance of the values whose differences are the texture
  float texture_noise;   ///< mean texture of a flat image by rounding
};

/// Largest sums of the squared taps of the kernels of a configuration: the gains of white noise.
struct KernelNoise {
  float gradient = 0.0f;  ///< of the kernels of Ix and of Iy
  float residual = 0.0f;  ///< of the kernel of It

  /// Takes the next term of a pixel. Terms must come in order.
  void add(const OpticalFlowPlan& plan, int convolution, int term, const float* wx, const float* wy,
           const float* wt) noexcept;

 private:
  float norm_ = 0.0f;  // of the kernel so far; that of a sum is at most the sum of the norms
};

/// Variance of the rounding to multiples of a step: step^2 / 12, in 8-bit gray levels. Frames of
/// floats have the step of a 24-bit significand between 128 and 256.
constexpr float rounding_variance(PixelFormat format) noexcept {
  const float step = format == PixelFormat::kFloat32 ? 0x1p-16f : gray_scale(format);
  return step * step / 12.0f;
}

/// Derivatives of the pyramid are those of images with normalized contrast. Those of the kernels
/// have the unit of the camera, are smoother, and miss motion that is faster than the kernels.
DeviationModel pyramid_deviation(const OpticalFlowPlan& plan, const PyramidPlan& pyramid) noexcept;
DeviationModel kernel_deviation(const OpticalFlowPlan& plan, const KernelNoise& noise) noexcept;

/// The deviation where the flow is invalid.
inline constexpr float kNoDeviation = std::numeric_limits<float>::infinity();

}  // namespace ocellus::detail
