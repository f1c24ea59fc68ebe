// Creates instances of the cellular network on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "halftone/plan.h"

namespace ocellus::detail {

OperatorInfo info_of(const CellularNetworkPlan& plan) noexcept;

/// Creates an instance without memory; null if the system has none. `start` reads `sources`, which
/// must exist until then.
std::unique_ptr<OperatorInstance> make_network_cpu(const CellularNetworkPlan& plan, int workers,
                                                   const CellSources* sources) noexcept;
/// Defined only in builds with CUDA.
std::unique_ptr<OperatorInstance> make_network_cuda(const CellularNetworkPlan& plan,
                                                    const CellSources* sources) noexcept;

/// A plan with the planes that its instance reads at creation. The base of OperatorTraits.
struct PlannedNetwork {
  CellularNetworkPlan plan;
  CellSources sources;
};
template <typename Config, typename Planned = PlannedNetwork>
struct NetworkTraits {
  static std::unique_ptr<OperatorInstance> cpu(const Planned& planned, int workers,
                                               const Config&) noexcept {
    return make_network_cpu(planned.plan, workers, &planned.sources);
  }
  static std::unique_ptr<OperatorInstance> cuda(const Planned& planned, const Config&) noexcept {
    return make_network_cuda(planned.plan, &planned.sources);
  }
};

}  // namespace ocellus::detail
