// Queues a step of a cortical network, or of a part of it.
#pragma once

#include "kernels/core/device_work.h"
#include "kernels/cortical_network/network_parts.h"

namespace ocellus::cuda {

/// Queues the kernels that compute a part. `network.step` and, for level 0, `network.image` must be
/// written before; for others, the winners below. For arrays of a part of a level see LevelRange.
/// Two parts that use the same `network.arrived` must not run at the same time. Errors: those of
/// CUDA. `counts`: as in for_each_kernel().
Expected<void> launch_part(DeviceWork& work, Scope& cuda, const NetworkArguments& network,
                           const NetworkPart& part, bool counts = false) noexcept;

}  // namespace ocellus::cuda
