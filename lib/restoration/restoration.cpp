#include "core/operator_creation.h"
#include "restoration/plan.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<RestorationConfig> {
  static Expected<RestorationPlan> make_plan_for(const RestorationConfig& config) noexcept {
    return make_plan(config);
  }
  static OperatorInfo info(const RestorationPlan& plan) noexcept { return info_of(plan); }
  static void choose(RestorationPlan& plan, BackendKind backend) noexcept {
    plan = choose_schedule(plan, backend);
  }
  static std::unique_ptr<OperatorInstance> cpu(const RestorationPlan& plan, int workers,
                                               const RestorationConfig&) noexcept {
    return make_restoration_cpu(plan, workers);
  }
  static std::unique_ptr<OperatorInstance> cuda(const RestorationPlan& plan,
                                                const RestorationConfig&) noexcept {
    return make_restoration_cuda(plan);
  }
};

template class Operator<Restoration, RestorationConfig>;

}  // namespace ocellus
