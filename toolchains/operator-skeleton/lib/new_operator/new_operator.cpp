#include "new_operator/backend.h"

#include "core/backend.h"

namespace ocellus {
namespace detail {

std::unique_ptr<OperatorInstance> make_new_operator(const EngineInfo& engine,
                                                    const NewOperatorPlan& plan) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_new_operator_cuda(plan);
  return make_new_operator_cpu(plan, engine.workers);
}

}  // namespace detail

Expected<OperatorInfo> NewOperator::info_for(const NewOperatorConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::info_of(*plan);
}

Expected<Footprint> NewOperator::footprint(const EngineInfo& engine,
                                           const NewOperatorConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::footprint_of(detail::make_new_operator(engine, *plan));
}

Expected<NewOperator> NewOperator::create(Engine& engine,
                                          const NewOperatorConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  Expected<OperatorHandle> made = detail::make_operator(
      engine, detail::info_of(*plan), detail::make_new_operator(engine.info(), *plan));
  if (!made) return tl::unexpected(made.error());
  return NewOperator(std::move(*made));
}

}  // namespace ocellus
