// Model files of operators that learn.
#include <algorithm>

#include "core/failure.h"
#include "core/model_writer.h"
#include "cortex/plan.h"

namespace ocellus::detail {

Expected<void> save_cortex(const char* path, const CortexPlan& plan,
                           OperatorInstance& instance) noexcept {
  const CortexTable& table = plan.table;
  ModelWriter writer;
  {
    std::array<std::string_view, kMaxCortexClasses> names;
    const auto classes = static_cast<std::size_t>(table.shape.classes);
    for (std::size_t i = 0; i < classes; ++i) names[i] = table.names[i];
    ModelTable bytes;  // a table has less than 12 KiB
    build_cortex_table(bytes.builder, table.shape.parameters, table.rule, table.sharpness,
                       {names.data(), classes}, table.note, true);
    OCELLUS_TRY(
        writer.open(kCortexKind, path, bytes.builder.GetBufferPointer(), bytes.builder.GetSize()));
  }
  const std::uint64_t bytes = places_of(table.shape, true).bytes;
  alignas(8) std::uint8_t piece[16384];
  for (std::uint64_t at = 0; at < bytes; at += sizeof(piece)) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(piece), bytes - at));
    OCELLUS_TRY(instance.read_learned(piece, at, count));
    OCELLUS_TRY(writer.write(piece, count));
  }
  return writer.finish();
}

}  // namespace ocellus::detail
