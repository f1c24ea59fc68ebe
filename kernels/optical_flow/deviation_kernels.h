// The CUDA kernel of the standard deviation of the flow (optical_flow/deviation.h), and its
// arguments as plain data.
#pragma once

#include "kernels/optical_flow/pyramid_kernels.h"
#include "optical_flow/deviation.h"

namespace ocellus::cuda {

/// Computes the deviation, writes all planes and ends the frame.
struct DeviationArguments : FrameArguments {
  float threshold;
  float invalid;
  detail::DeviationModel model;
  Rect roi;             ///< in the region of the flow
  ImageSize flow_size;  ///< of the region of the flow
  /// kPyramid: flow and confidence of level 0
  struct OfPyramid {
    Window window;
    FlowLevel level;
    StoredLevel guide;
    const float2* flow;
    const float* confidence;
    int stride;  ///< elements from row to row
  } pyramid;
  /// kKernels: planes u, v and confidence, NaN where the flow is invalid, and Ix, Iy and It from
  /// the same pixel on
  struct OfKernels {
    FloatPlanes solved;
    FloatPlanes derivatives;
  } kernels;
};

inline constexpr int kDeviationTileHeight = 16;

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept;

}  // namespace ocellus::cuda
