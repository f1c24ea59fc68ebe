#include "core/operator_creation.h"
#include "new_operator/backend.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<NewOperatorConfig> {
  static Expected<NewOperatorPlan> make_plan_for(const NewOperatorConfig& config) noexcept {
    return make_plan(config);
  }
  static OperatorInfo info(const NewOperatorPlan& plan) noexcept { return info_of(plan); }
  static std::unique_ptr<OperatorInstance> cpu(const NewOperatorPlan& plan, int workers,
                                               const NewOperatorConfig&) noexcept {
    return make_new_operator_cpu(plan, workers);
  }
  static std::unique_ptr<OperatorInstance> cuda(const NewOperatorPlan& plan,
                                                const NewOperatorConfig&) noexcept {
    return make_new_operator_cuda(plan);
  }
};

template class Operator<NewOperator, NewOperatorConfig>;

}  // namespace ocellus
