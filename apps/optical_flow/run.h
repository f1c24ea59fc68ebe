// Selects the frames for a result of optical flow.
#pragma once

#include <optional>

#include "apps/io/operator_run.h"
#include "ocellus/optical_flow.h"

namespace ocellus::app {

/// The temporal support of a kernel file cannot be changed.
bool temporal_support_is_fixed(const OpticalFlowConfig& config);

/// The frames N - before to N + after, from which the flow from frame N to N+1 is computed.
struct Support {
  int frames = 0;
  int newer = 0;  ///< frames after N

  int before() const { return frames - 1 - newer; }
  int after() const { return newer; }
};

/// The support of an operator. Its delay decides which frame the result describes. A delay of k+1/2
/// frames describes the moment between two frames, which is that of the flow from the older to the
/// newer one.
Support support_of(const OperatorInfo& info);

/// The largest support around `number` inside first..last of two to as many frames as `config` has,
/// or nothing. Only that of kernels can be smaller: `kernels.nt`.
std::optional<Support> choose_support(const OpticalFlowConfig& config, long number, long first,
                                      long last);

}  // namespace ocellus::app
