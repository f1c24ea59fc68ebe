// The instances of Restoration on the backends.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "restoration/plan.h"

namespace ocellus::detail {

/// An instance without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_restoration_cpu(const RestorationPlan& plan,
                                                       int workers) noexcept;
/// In builds with CUDA.
std::unique_ptr<OperatorInstance> make_restoration_cuda(const RestorationPlan& plan) noexcept;

}  // namespace ocellus::detail
