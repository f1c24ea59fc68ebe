// The kernel of NewOperator and the plain data that it takes.
#pragma once

#include "kernels/core/frame_params.h"
#include "new_operator/plan.h"

namespace ocellus::cuda {

struct NewOperatorArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  detail::NewOperatorPlan plan;
};

/// A thread computes one pixel.
inline constexpr int kNewOperatorBlockX = 32;
inline constexpr int kNewOperatorBlockY = 8;
/// For frames of this format.
Kernel<NewOperatorArguments> new_operator_kernel(PixelFormat format) noexcept;

}  // namespace ocellus::cuda
