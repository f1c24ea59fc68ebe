// The instances of NewOperator on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "new_operator/plan.h"

namespace ocellus::detail {

/// An instance without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_new_operator_cpu(const NewOperatorPlan& plan,
                                                        int workers) noexcept;
/// In builds with CUDA.
std::unique_ptr<OperatorInstance> make_new_operator_cuda(const NewOperatorPlan& plan) noexcept;

}  // namespace ocellus::detail
