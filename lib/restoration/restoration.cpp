#include "restoration/backend.h"

#include "core/backend.h"

namespace ocellus {
namespace detail {

std::unique_ptr<OperatorInstance> make_restoration(const EngineInfo& engine,
                                                   const RestorationPlan& plan) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_restoration_cuda(plan);
  return make_restoration_cpu(plan, engine.workers);
}

}  // namespace detail

Expected<OperatorInfo> Restoration::info_for(const RestorationConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::info_of(*plan);
}

Expected<Footprint> Restoration::footprint(const EngineInfo& engine,
                                           const RestorationConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::footprint_of(
      detail::make_restoration(engine, detail::choose_schedule(*plan, engine.backend)));
}

Expected<Restoration> Restoration::create(Engine& engine,
                                          const RestorationConfig& config) noexcept {
  const auto checked = detail::make_plan(config);
  if (!checked) return tl::unexpected(checked.error());
  const auto plan = detail::choose_schedule(*checked, engine.info().backend);
  Expected<OperatorHandle> made = detail::make_operator(
      engine, detail::info_of(plan), detail::make_restoration(engine.info(), plan));
  if (!made) return tl::unexpected(made.error());
  return Restoration(std::move(*made));
}

}  // namespace ocellus
