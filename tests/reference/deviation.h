// The standard deviation of the flow in double precision, as described in docs/optical_flow.md.
#pragma once

#include "support/plane.h"

namespace ocellus::reference {

/// The calibrated constants of a method.
struct DeviationConstants {
  double gradient_floor;
  double least;
  double noise;
  double bend;
};
inline constexpr DeviationConstants kPyramidConstants = {10.0, 0.047, 0.008, 4.0};
inline constexpr DeviationConstants kKernelConstants = {1.0, 0.22, 0.0013, 35.0};

/// From the derivatives, the residual under the flow and the flow, which is NaN where it is
/// invalid.
test::PlaneD deviation(const DeviationConstants& constants, const test::PlaneD& ix,
                       const test::PlaneD& iy, const test::PlaneD& residual, const test::PlaneD& u,
                       const test::PlaneD& v);

/// Of flow by kernels, from the derivatives of equation (2).
test::PlaneD kernel_deviation(const test::PlaneD& ix, const test::PlaneD& iy,
                              const test::PlaneD& it, const test::PlaneD& u, const test::PlaneD& v);

}  // namespace ocellus::reference
