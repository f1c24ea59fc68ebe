// The kernel that detects values that are not finite in a frame of floats.
#pragma once

#include "kernels/core/frame_params.h"

namespace ocellus::cuda {

struct CheckArguments {
  const FrameParams* frame;
  TemporalState* state;
  int width;
  int height;
};
inline constexpr int kCheckThreads = 256;
extern const Kernel<CheckArguments> kCheckKernel;

}  // namespace ocellus::cuda
