#include "cortex/plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "core/checks.h"
#include "core/failure.h"
#include "core/model_writer.h"

namespace ocellus::detail {
namespace {

constexpr RecordInfo kRecord = patch_record_info("cortex");

/// The first bytes of a file, up to its arrays.
using TableBytes = std::array<std::uint64_t, model_arrays_at(kCortexKind.max_table_bytes) / 8>;

tl::unexpected<Error> no_memory_for_model() noexcept {
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory to read the model"));
}

/// Leaves a file open where its arrays begin.
Expected<ModelHeader> read_model_table(const char* model, CortexTable& table,
                                       ModelFile& file) noexcept {
  if (const auto own = library_cortex_model(model); !own.empty()) {
    OCELLUS_TRY_ASSIGN(header, parse_model_header(kCortexKind, own.data(), own.size(), own.size()));
    OCELLUS_TRY(parse_cortex_table(own.data(), *header, table));
    return header;
  }
  OCELLUS_TRY(file.open(kCortexKind, model));
  const std::unique_ptr<TableBytes> bytes(new (std::nothrow) TableBytes);
  if (bytes == nullptr) return no_memory_for_model();
  const Expected<ModelHeader> header = file.header(bytes.get(), sizeof(*bytes));
  if (!header) return with_path(kCortexKind, model, header.error());
  if (Expected<void> parsed = parse_cortex_table(bytes.get(), *header, table); !parsed)
    return with_path(kCortexKind, model, parsed.error());
  return header;
}

/// Reads P of a file where nobody needs it: its checksum and its values are checked all the same.
Expected<void> skip_probabilities(ModelFile& file, std::uint64_t gap) noexcept {
  std::uint32_t piece[2048];
  OCELLUS_TRY(file.read(piece, gap));
  while (file.left() > 0) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(piece), file.left()));
    OCELLUS_TRY(file.read(piece, bytes));
    OCELLUS_TRY(check_probabilities(piece, bytes / sizeof(*piece)));
  }
  return {};
}

/// Reads the arrays of a model that is open where they begin.
Expected<void> read_arrays(const CortexTable& table, const char* model, const ModelHeader& header,
                           bool learns, ModelFile& file, std::uint8_t* to) noexcept {
  const CortexShape& shape = table.shape;
  const std::uint64_t without = places_of(shape, false).bytes;
  const CortexPlaces places = places_of(shape, true);
  const LearningArrays learning = learning_arrays_at(shape, to);
  const bool reads_all = learns && table.probabilities;
  if (const auto own = library_cortex_model(model); !own.empty()) {
    std::memcpy(to, own.data() + header.arrays_at, reads_all ? places.bytes : without);
  } else {
    OCELLUS_TRY(file.read(to, reads_all ? places.bytes : without));
    if (table.probabilities && !learns)
      OCELLUS_TRY(skip_probabilities(file, places.probabilities - without));
  }
  OCELLUS_TRY(check_arrays(shape, arrays_at(shape, to)));
  if (!learns) return {};
  if (reads_all) return check_probabilities(learning.probabilities, shape.hierarchy.weights);
  // The gap goes to files.
  std::memset(to + without, 0, places.probabilities - without);
  derive_probabilities(shape.hierarchy, learning.weights, learning.probabilities);
  return {};
}

}  // namespace

Expected<void> read_cortex_table(const char* model, CortexTable& table,
                                 std::uint64_t& array_hash) noexcept {
  if (model[0] == '\0')
    return invalid_argument(
        "model is empty; it must be digits, or the path of a model file "
        "(*.ocellus)");
  ModelFile file;
  OCELLUS_TRY_ASSIGN(header, read_model_table(model, table, file));
  array_hash = header->array_hash;
  return {};
}

Expected<void> verify_cortex_file(const CortexPlan& plan) noexcept {
  const char* const model = plan.model.c_str();
  if (!library_cortex_model(model).empty()) return {};
  const std::unique_ptr<CortexTable> table(new (std::nothrow) CortexTable);
  if (table == nullptr) return no_memory_for_model();
  ModelFile file;
  OCELLUS_TRY(read_model_table(model, *table, file));
  if (const Expected<void> verified = file.verify_arrays(); !verified)
    return with_path(kCortexKind, model, verified.error());
  return {};
}

Expected<void> read_cortex_arrays(const CortexPlan& plan, std::uint8_t* to) noexcept {
  const char* const model = plan.model.c_str();
  const std::unique_ptr<CortexTable> table(new (std::nothrow) CortexTable);
  if (table == nullptr) return no_memory_for_model();
  ModelFile file;
  OCELLUS_TRY_ASSIGN(header, read_model_table(model, *table, file));
  const std::uint64_t bytes = places_of(plan.table.shape, plan.table.probabilities).bytes;
  if (header->array_hash != plan.array_hash || header->array_bytes != bytes) {
    return with_path(
        kCortexKind, model,
        make_error(Status::kCorruptFile, "cortex model: it changed while it was read"));
  }
  if (const Expected<void> read = read_arrays(plan.table, model, *header, plan.learn, file, to);
      !read)
    return with_path(kCortexKind, model, read.error());
  return {};
}

Expected<void> make_plan(const CortexConfig& config, CortexPlan& plan) noexcept {
  OCELLUS_TRY(plan_patches(config, plan));
  plan.rate = fixed_rate(config.learn_rate);
  OCELLUS_TRY(read_cortex_table(config.model.c_str(), plan.table, plan.array_hash));
  if (plan.learn && plan.table.rule != CortexRule::kHebb) {
    return invalid_argument(
        "learn is true, but the features of the model '%s' were learned by the rule bcpnn; an "
        "operator learns by the rule hebb",
        config.model.c_str());
  }
  return {};
}

OperatorInfo info_of(const CortexPlan& plan) noexcept {
  const CortexShape& shape = plan.table.shape;
  OperatorInfo info = patch_info(plan, kRecord, shape.hierarchy, shape.classes);
  info.planes[0] = {"evidence", {shape.classes, kMaxCortexPatches}, PixelFormat::kFloat32, false};
  return info;
}

OperatorInstance::Learned learned_of(const CortexPlan& plan) noexcept {
  if (!plan.learn) return {};
  const CortexShape& shape = plan.table.shape;
  const CortexParameters& p = shape.parameters;
  return {places_of(shape, true).bytes,
          arrangement_of({p.width, p.height, p.level_count, p.fields,
                          p.fields > 0 ? p.field_inputs : 0, shape.classes},
                         p.levels)};
}

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
