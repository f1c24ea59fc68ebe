// The CUDA kernel of the standard deviation of the flow (optical_flow/deviation.h), and its
// arguments as plain data.
#pragma once

#include "kernels/optical_flow/pyramid_kernels.h"
#include "optical_flow/deviation.h"

namespace ocellus::cuda {

/// Computes the deviation, writes all planes and ends the frame.
struct DeviationArguments : FlowArguments {
  detail::DeviationModel model;
  // kPyramid: of level 0
  StoredLevel guide;
  const float* confidence;
  // kKernels: planes u, v and confidence, NaN where the flow is invalid, and Ix, Iy and It from the
  // same pixel on
  FloatPlanes solved;
  FloatPlanes derivatives;
};

inline constexpr int kDeviationTileHeight = 16;

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept;

}  // namespace ocellus::cuda
