// The standard deviation of the flow in double precision, as described in
// docs/optical_flow_method.md.
#pragma once

#include "ocellus/optical_flow.h"
#include "reference/convolution.h"
#include "support/plane.h"

namespace ocellus::reference {

/// The calibrated constants of a method, and the variances of rounding.
struct DeviationConstants {
  double gradient_floor;
  double least;
  double noise;
  double bend;
  double rounding;           ///< variance of the residual
  double gradient_rounding;  ///< twice the variances of the derivatives
  double pixel_rounding;     ///< variance of the values whose differences are the texture
  double texture_noise;      ///< mean texture of a flat image
};
DeviationConstants pyramid_constants(PixelFormat format, FlowSolver solver);
/// The kernels must be the same at all pixels.
DeviationConstants kernel_constants(PixelFormat format, const KernelAt& kernels);

/// The range of a deviation that is computed in single precision.
struct DeviationRange {
  test::PlaneD low;
  test::PlaneD high;
};

/// From the derivatives, the residual under the flow, the texture and the flow, which is NaN where
/// it is invalid. Where the matrix is nearly singular, the range is wide.
DeviationRange deviation(const DeviationConstants& constants, const test::PlaneD& ix,
                         const test::PlaneD& iy, const test::PlaneD& residual,
                         const test::PlaneD& texture, const test::PlaneD& u, const test::PlaneD& v);

/// Sum of the squares of the 12 differences between neighbors in 3x3 pixels of a frame.
test::PlaneD texture_of(const test::PlaneD& frame);

/// Of flow by kernels, from the derivatives of equation (2).
DeviationRange kernel_deviation(const DeviationConstants& constants, const test::PlaneD& ix,
                                const test::PlaneD& iy, const test::PlaneD& it,
                                const test::PlaneD& u, const test::PlaneD& v);

}  // namespace ocellus::reference
