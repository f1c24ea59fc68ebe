// The standard deviation of the flow, for all backends. The sums over the window are box means of
// 15x15 pixels; docs/optical_flow.md derives the model and shows how it was calibrated.
//
//     q        = 1 / (Ix^2 + Iy^2 + gradient_floor^2)
//     M        = mean of q (Ix, Iy)^T (Ix, Iy) + ridge 1
//     s^2      = mean of q r^2, where r is the residual under the flow of each pixel
//     b^2      = mean of |du/dx|^2 + |du/dy|^2 + |dv/dx|^2 + |dv/dy|^2, by central differences
//     deviation^2 = least^2 + noise s^2 trace(M^-1) + bend b^2
#pragma once

#include <limits>

#include "optical_flow/plan.h"

namespace ocellus::detail {

inline constexpr int kDeviationRadius = 7;  ///< of the box, pixels
/// Pixels around a result whose flow it depends on: the box and the differences of the flow.
inline constexpr int kDeviationFlowReach = kDeviationRadius + 1;
/// Pixels around a result whose images it depends on: the box and the derivative filter, which the
/// flow at these pixels moves.
inline constexpr int kDeviationReach = kDeviationRadius + 2;
inline constexpr int kDeviationSums = 5;  ///< three of M, s^2 and b^2
inline constexpr float kDeviationRidge = 1e-3f;

/// The constants of a method.
struct DeviationModel {
  float gradient_floor;
  float least;  ///< pixels
  float noise;
  float bend;  ///< pixels^2
};

/// Derivatives of the pyramid are those of images with normalized contrast. Those of the kernels
/// have the unit of the camera, are smoother, and miss motion that is faster than the kernels.
inline constexpr DeviationModel kPyramidDeviation = {10.0f, 0.047f, 0.008f, 4.0f};
inline constexpr DeviationModel kKernelDeviation = {1.0f, 0.22f, 0.0013f, 35.0f};

inline const DeviationModel& deviation_model(const OpticalFlowPlan& plan) noexcept {
  return plan.method == FlowMethod::kPyramid ? kPyramidDeviation : kKernelDeviation;
}

/// The deviation where the flow is invalid.
inline constexpr float kNoDeviation = std::numeric_limits<float>::infinity();

}  // namespace ocellus::detail
