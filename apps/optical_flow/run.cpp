#include "apps/optical_flow/run.h"

namespace ocellus::app {

void set_temporal_support(OpticalFlowConfig& config, int frames) {
  (config.method == FlowMethod::kPyramid ? config.pyramid.window_frames : config.kernels.nt) =
      frames;
}

bool temporal_support_is_fixed(const OpticalFlowConfig& config) {
  return config.method == FlowMethod::kKernels && config.kernels.origin == KernelOrigin::kFile;
}

std::optional<Support> choose_support(int wanted, long number, long first, long last) {
  for (Support support{wanted}; support.frames >= 2; --support.frames) {
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
