#include "ocellus/neocognitron.h"

#include <memory>
#include <new>

#include "core/operator_creation.h"
#include "neocognitron/plan.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<NeocognitronConfig>
    : LargePlanTraits<NeocognitronConfig, NeocognitronPlan> {
  static OperatorInfo info(const Plan& plan) noexcept {
    OperatorInfo info = info_of(*plan);
    info.class_names = plan->model.table.names.data();
    return info;
  }
  static Expected<void> verify(const Plan& plan) noexcept { return verify_model_file(plan->model); }
};

template class Operator<Neocognitron, NeocognitronConfig, NeocognitronRecord>;

Expected<CharacterModelInfo> Neocognitron::read_model_info(const char* model) noexcept {
  const std::unique_ptr<detail::ModelPlan> plan(new (std::nothrow) detail::ModelPlan);
  if (plan == nullptr) return detail::no_memory_for_operator();
  OCELLUS_TRY(detail::read_model_plan(model, *plan));
  CharacterModelInfo info;
  info.classes = plan->table.characters();
  info.has_other = plan->table.has_other;
  for (std::size_t i = 0; i < info.names.size(); ++i)
    info.names[i] = Text<32>(plan->table.names[i]);
  info.planes = plan->table.planes;
  info.note = Text<256>(plan->table.note);
  return info;
}

}  // namespace ocellus
