// The instances of Neocognitron on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "neocognitron/plan.h"

namespace ocellus::detail {

/// An instance without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_neocognitron_cpu(const NeocognitronPlan& plan,
                                                        int workers) noexcept;
std::unique_ptr<OperatorInstance> make_neocognitron_cuda(const NeocognitronPlan& plan) noexcept;

}  // namespace ocellus::detail
