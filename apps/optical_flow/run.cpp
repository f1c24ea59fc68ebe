#include "apps/optical_flow/run.h"

#include <cmath>

namespace ocellus::app {

bool temporal_support_is_fixed(const OpticalFlowConfig& config) {
  return config.method == FlowMethod::kKernels && config.kernels.origin == KernelOrigin::kFile;
}

Support support_of(const OperatorInfo& info) {
  return {info.support_frames, static_cast<int>(std::ceil(info.delay_frames))};
}

std::optional<Support> choose_support(const OpticalFlowConfig& config, long number, long first,
                                      long last) {
  OpticalFlowConfig shorter = config;
  for (int frames = support_of(info_of(config)).frames; frames >= 2; --frames) {
    shorter.kernels.nt = frames;
    const Support support = support_of(info_of(shorter));
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
