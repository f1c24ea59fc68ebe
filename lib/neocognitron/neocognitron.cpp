#include "ocellus/neocognitron.h"

#include <new>

#include "core/backend.h"
#include "core/failure.h"
#include "neocognitron/backend.h"

namespace ocellus {
namespace detail {
namespace {

/// A plan is too large for a stack.
Expected<std::unique_ptr<NeocognitronPlan>> make_neocognitron_plan(
    const NeocognitronConfig& config) noexcept {
  std::unique_ptr<NeocognitronPlan> plan(new (std::nothrow) NeocognitronPlan);
  if (plan == nullptr) return no_memory_for_operator();
  OCELLUS_TRY(make_plan(config, *plan));
  return plan;
}

}  // namespace

std::unique_ptr<OperatorInstance> make_neocognitron(const EngineInfo& engine,
                                                    const NeocognitronPlan& plan) noexcept {
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return make_neocognitron_cuda(plan);
  return make_neocognitron_cpu(plan, engine.workers);
}

}  // namespace detail

Expected<CharacterModelInfo> Neocognitron::read_model_info(const char* model) noexcept {
  const std::unique_ptr<detail::ModelPlan> plan(new (std::nothrow) detail::ModelPlan);
  if (plan == nullptr) return detail::no_memory_for_operator();
  OCELLUS_TRY(detail::read_model_plan(model, *plan));
  CharacterModelInfo info;
  info.classes = plan->table.classes;
  for (std::size_t i = 0; i < info.names.size(); ++i)
    info.names[i] = Text<32>(plan->table.names[i]);
  info.planes = plan->table.planes;
  info.note = Text<256>(plan->table.note);
  return info;
}

Expected<OperatorInfo> Neocognitron::info_for(const NeocognitronConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_neocognitron_plan(config));
  return detail::info_of(**plan);
}

Expected<Footprint> Neocognitron::footprint(const EngineInfo& engine,
                                            const NeocognitronConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_neocognitron_plan(config));
  OCELLUS_TRY(detail::verify_model_file((*plan)->model));
  return detail::footprint_of(detail::make_neocognitron(engine, **plan));
}

Expected<Neocognitron> Neocognitron::create(Engine& engine,
                                            const NeocognitronConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_neocognitron_plan(config));
  OCELLUS_TRY_ASSIGN(made, detail::make_operator(engine, detail::info_of(**plan),
                                                 detail::make_neocognitron(engine.info(), **plan),
                                                 (*plan)->model.table.names.data()));
  return Neocognitron(std::move(*made));
}

}  // namespace ocellus
