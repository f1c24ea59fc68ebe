// The CUDA kernel of the standard deviation of the flow (optical_flow/deviation.h), and its
// arguments as plain data.
#pragma once

#include "kernels/optical_flow/pyramid_kernels.h"
#include "optical_flow/deviation.h"

namespace ocellus::cuda {

/// Computes the deviation, writes all planes and ends the frame.
struct DeviationArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  int frames;  ///< temporal support
  float threshold;
  float invalid;
  detail::DeviationModel model;
  int x;  ///< position of the region of interest in the region of the flow
  int y;
  int width;
  int height;
  int flow_width;  ///< of the region of the flow
  int flow_height;
  /// kPyramid: flow and confidence of level 0
  struct OfPyramid {
    Window window;
    FlowLevel level;
    StoredLevel texture;
    const float2* flow;
    const float* confidence;
    int stride;  ///< elements from row to row
  } pyramid;
  /// kKernels: planes u, v and confidence, NaN where the flow is invalid, and Ix, Iy and It from
  /// the same pixel on
  struct OfKernels {
    const float* solved;
    std::int64_t solved_stride;  ///< floats from row to row
    std::int64_t solved_plane;   ///< floats from plane to plane
    const float* derivatives;
    std::int64_t stride;
    std::int64_t plane;
  } kernels;
};

inline constexpr int kDeviationTileHeight = 16;

Kernel<DeviationArguments> deviation_kernel(FlowMethod method) noexcept;
std::size_t deviation_shared_bytes() noexcept;

}  // namespace ocellus::cuda
