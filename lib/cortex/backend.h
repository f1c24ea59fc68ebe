// The instances of Cortex on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "cortex/plan.h"

namespace ocellus::detail {

/// Instances without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_cortex_cpu(const CortexPlan& plan, int workers) noexcept;
std::unique_ptr<OperatorInstance> make_cortex_cuda(const CortexPlan& plan) noexcept;

}  // namespace ocellus::detail
