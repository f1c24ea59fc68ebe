#include "ocellus/cortex.h"

#include <memory>
#include <new>

#include "core/backend.h"
#include "core/failure.h"
#include "cortex/plan.h"

namespace ocellus {
namespace {

/// A plan is too large for a stack.
Expected<std::unique_ptr<detail::CortexPlan>> make_cortex_plan(
    const CortexConfig& config) noexcept {
  std::unique_ptr<detail::CortexPlan> plan(new (std::nothrow) detail::CortexPlan);
  if (plan == nullptr) return detail::no_memory_for_operator();
  OCELLUS_TRY(detail::make_plan(config, *plan));
  return plan;
}

std::unique_ptr<detail::OperatorInstance> make_cortex(const EngineInfo& engine,
                                                      const detail::CortexPlan& plan) noexcept {
  if constexpr (detail::kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return detail::make_cortex_cuda(plan);
  return detail::make_cortex_cpu(plan, engine.workers);
}

}  // namespace

Expected<CortexModelInfo> Cortex::read_model_info(const char* model) noexcept {
  const std::unique_ptr<detail::CortexTable> table(new (std::nothrow) detail::CortexTable);
  if (table == nullptr) return detail::no_memory_for_operator();
  std::uint64_t hash = 0;
  OCELLUS_TRY(detail::read_cortex_table(model, *table, hash));
  CortexModelInfo info;
  info.parameters = table->shape.parameters;
  info.classes = table->shape.classes;
  for (std::size_t i = 0; i < info.names.size(); ++i) info.names[i] = Text<32>(table->names[i]);
  info.hypercolumns = table->shape.hierarchy.hypercolumns;
  info.sharpness = table->sharpness;
  info.note = Text<256>(table->note);
  return info;
}

Expected<OperatorInfo> Cortex::info_for(const CortexConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, make_cortex_plan(config));
  return detail::info_of(**plan);
}

Expected<Footprint> Cortex::footprint(const EngineInfo& engine,
                                      const CortexConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, make_cortex_plan(config));
  OCELLUS_TRY(detail::verify_cortex_file(**plan));
  return detail::footprint_of(make_cortex(engine, **plan));
}

Expected<Cortex> Cortex::create(Engine& engine, const CortexConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, make_cortex_plan(config));
  OCELLUS_TRY_ASSIGN(
      made, detail::make_operator(engine, detail::info_of(**plan),
                                  make_cortex(engine.info(), **plan), (*plan)->table.names.data()));
  return Cortex(std::move(*made));
}

}  // namespace ocellus
