#include "ocellus/cortex.h"

#include <memory>
#include <new>

#include "core/operator_creation.h"
#include "cortex/plan.h"

namespace ocellus {
namespace detail {

std::span<const std::uint8_t> cortex_digits_model() noexcept;  // from the build

}  // namespace detail

std::span<const std::uint8_t> library_cortex_model(std::string_view name) noexcept {
  if (name == "digits") return detail::cortex_digits_model();
  return {};
}

template <>
struct detail::OperatorTraits<CortexConfig> : LargePlanTraits<CortexConfig, CortexPlan> {
  static OperatorInfo info(const Plan& plan) noexcept {
    OperatorInfo info = info_of(*plan);
    info.class_names = plan->table.names.data();
    return info;
  }
  static Expected<void> verify(const Plan& plan) noexcept { return verify_cortex_file(*plan); }
};

template class Operator<Cortex, CortexConfig, CortexRecord>;

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

}  // namespace ocellus
