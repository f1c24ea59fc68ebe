#include "restoration/backend.h"

#include "core/backend.h"
#include "core/failure.h"

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
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::info_of(*plan);
}

Expected<Footprint> Restoration::footprint(const EngineInfo& engine,
                                           const RestorationConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::footprint_of(
      detail::make_restoration(engine, detail::choose_schedule(*plan, engine.backend)));
}

Expected<Restoration> Restoration::create(Engine& engine,
                                          const RestorationConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(checked, detail::make_plan(config));
  const auto plan = detail::choose_schedule(*checked, engine.info().backend);
  OCELLUS_TRY_ASSIGN(made, detail::make_operator(engine, detail::info_of(plan),
                                                 detail::make_restoration(engine.info(), plan)));
  return Restoration(std::move(*made));
}

}  // namespace ocellus
